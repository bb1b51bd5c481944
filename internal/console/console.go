// Package console answers the console's questions about many attempts at once: which sessions match a filter, how the
// tasks of the last thirty sessions ended, and which problems need attention. Each query reads a limited number of
// rows, so that a Lambda function can answer it.
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
