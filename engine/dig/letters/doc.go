// Package letters knows the characters that look like those of YAML and are others, such as full-width colons and no-break
// spaces, and the ones that take no room at all.
package letters
