// Package tour types the tour (docs/tour.md), and every command of the tutorial and of the pages about the language,
// unchanged into a shell with the real program, because these pages are the first that new users see. A block whose
// first line is a comment with a file name is saved as that file.
package tour
