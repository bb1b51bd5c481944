// Package security attacks the real program as a red team did: each test is named after a finding, and fails if the
// attack is possible again. It must need nothing but the binary that it builds, and never leave this machine; tests
// that need root report it when they run without.
package security
