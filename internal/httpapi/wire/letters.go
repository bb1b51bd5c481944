package wire

import (
	"encoding/json"

	"zerodag/internal/console"
	"zerodag/internal/host"
)

// Letter is a message that could not be handled.
type Letter struct {
	ID         string  `json:"id"`
	Queue      string  `json:"queue"`
	Name       string  `json:"name"`
	Sent       int64   `json:"sent"`
	Deliveries int     `json:"deliveries"`
	Returned   int     `json:"returned"` // how many times it was sent back
	Size       int     `json:"size"`
	Broken     *string `json:"broken"`
	Subject
}

// Letters holds the dead letters of all queues.
type Letters struct {
	At      int64    `json:"at"`
	Letters []Letter `json:"letters"`
	All     bool     `json:"all"` // the list is complete
}

// LetterBody is a letter with its body.
type LetterBody struct {
	Letter
	Body json.RawMessage `json:"body"` // null: it cannot be read
}

// Looked is a letter that was read, without its body.
type Looked struct {
	host.DeadLetter
	console.Subject
}

// Look reads a dead letter as far as it can be read.
func Look(l host.DeadLetter) Looked {
	x := Looked{l, console.SubjectOf(l.Queue, l.Message)}
	x.Body = nil
	return x
}
