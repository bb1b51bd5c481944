// Package letters finds characters that resemble those of YAML but differ, such as full-width colons and no-break
// spaces, and characters without width.
package letters
