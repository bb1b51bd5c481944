package host

import (
	"context"
	"time"
)

// Timer is a message and the name of the queue that it is for.
type Timer struct {
	Queue   string
	Message Message
}

// Timers keeps messages that are due later than their queue can delay them.
type Timers interface {
	// Later keeps messages for a queue. Repeated it changes nothing.
	Later(ctx context.Context, queue string, messages ...Message) error
	// Due lists up to n messages due at or before a time, the earliest first. They stay until
	// they are deleted: a crash between sending and deleting one sends it twice.
	Due(ctx context.Context, until time.Time, n int) ([]Timer, error)
	// Delete removes messages that were sent.
	Delete(ctx context.Context, list []Timer) error
}

// Mark names how far one part of ticks has come.
type Mark string

// The marks. Times are microseconds since 1970.
const (
	Handed   Mark = "to" // schedules due until then were handed over
	Overdue  Mark = "ov" // the round in which those were looked for that are overdue nevertheless
	Sweeping Mark = "sw" // the attempt up to which a round of looking after all of them has come
	Swept    Mark = "sd" // the round in which all were looked after
	// Forgetting is the attempt up to which old ones were removed, Forgot the day on which all were.
	Forgetting Mark = "fg"
	Forgot     Mark = "fd"
	// ForgettingArchives is the project up to which old archives were removed, ForgotArchives and ForgotRecords
	// the days on which all were, and the old part of the audit log, of which ForgettingRecords is always 0.
	ForgettingArchives Mark = "ag"
	ForgotArchives     Mark = "ad"
	ForgettingRecords  Mark = "ug"
	ForgotRecords      Mark = "ud"
	Redriven           Mark = "rd" // the round in which dead letters were sent back
)

// Horizon notes how far the parts of ticks have come.
type Horizon interface {
	// Marks are the recorded marks, all in one read; a mark that was never set is 0.
	Marks(ctx context.Context) (map[Mark]int64, error)
	// Move sets a mark that still is from (0: it was never set) and does nothing if it has changed meanwhile: of two
	// concurrent ticks one counts.
	Move(ctx context.Context, m Mark, from, to int64) error
}

// DeadLetters are the messages of a queue that were received too often and put aside.
type DeadLetters interface {
	// Redrive sends them back and returns how many. It calls turn for each to decide whether it should go now, given
	// how often it went before.
	Redrive(ctx context.Context, turn func(times int) bool) (int, error)
	// Look passes each dead letter to f until f returns false, in no order, and leaves it in the queue. Meanwhile no
	// one else sees them, and some may be missed: of one group, only as many as the service hands out together.
	Look(ctx context.Context, f func(DeadLetter) bool) error
	// Return sends the dead letter of an ID back. ErrNotFound if it is not seen: see Look.
	Return(ctx context.Context, id string) error
}
