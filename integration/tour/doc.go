// Package tour types the tour of the README as it stands, into a shell with the real program:
// a tour that does not work is the first thing that a stranger meets.
package tour
