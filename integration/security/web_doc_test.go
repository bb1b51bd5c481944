// Package security attacks real servers as a red team did, one test for each finding of its
// report: each failed before the finding was mended. It must need nothing but the binary
// that it builds, and never leave this machine.
package security
