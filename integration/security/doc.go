// Package security attacks the real program as a red team did: each test is named after a finding, and fails if the
// attack is possible again. It must need only the binary that it builds, and never call other machines; tests that need
// root report that when they run without it.
package security
