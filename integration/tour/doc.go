// Package tour types the tour (docs/tour.md), and every command of the tutorial and of the pages about the language,
// unchanged into a shell with the real program: a page that does not work would be the first thing that a newcomer
// meets. A block whose first line is a comment with a name is saved as that file.
package tour
