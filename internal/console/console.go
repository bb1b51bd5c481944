// Package console answers what a page of pictures asks about many attempts at once: which sessions are like this,
// what became of the tasks of the last thirty, and what needs somebody now. Each answer is bounded in the rows that
// are read for it, so that a function can give it.
//
// The API calls it. It must never change anything, nor decide what happens to an attempt.
package console

import (
	"time"

	"zerodag/internal/catalogue"
)

// Console reads a catalogue. It is safe for concurrent use.
type Console struct {
	Catalogue *catalogue.Catalogue
	Now       func() time.Time
}
