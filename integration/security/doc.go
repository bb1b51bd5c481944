// Package security attacks the real program as a red team did: each test is named after what
// was found, and fails when that is possible again. It must need nothing but the binary that
// it builds, and never leave this machine; what needs root says so when it is not.
package security
