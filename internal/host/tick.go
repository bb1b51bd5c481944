package host

import (
	"context"
	"time"
)

// Timer is a message together with its queue's name.
type Timer struct {
	Queue   string
	Message Message
}

// Timers stores messages that are due later than their queue can delay them.
type Timers interface {
	// Later stores messages for a queue. A repeated call changes nothing.
	Later(ctx context.Context, queue string, messages ...Message) error
	// Due lists up to n messages due at or before a given time, the earliest first. They stay until they are deleted:
	// after a crash between sending and deleting, a message is sent twice.
	Due(ctx context.Context, until time.Time, n int) ([]Timer, error)
	// Delete removes messages that were sent.
	Delete(ctx context.Context, list []Timer) error
}

// Mark names a record of how far one part of the ticks has progressed.
type Mark string

// The marks. Times are microseconds since 1970.
const (
	Handed   Mark = "to" // schedules that are due until then were sent
	Overdue  Mark = "ov" // the round in which overdue schedules were searched for
	Sweeping Mark = "sw" // the last attempt that the current sweep over all attempts has checked
	Swept    Mark = "sd" // the round in which all attempts were checked
	// Forgetting is the attempt up to which old attempts were removed, Forgot the day on which all of them were.
	Forgetting Mark = "fg"
	Forgot     Mark = "fd"
	// ForgettingArchives is the project up to which old archives were removed, and ForgotArchives the day on which all of
	// them were. ForgotRecords is the day on which the old part of the audit log was removed; ForgettingRecords is always
	// 0.
	ForgettingArchives Mark = "ag"
	ForgotArchives     Mark = "ad"
	ForgettingRecords  Mark = "ug"
	ForgotRecords      Mark = "ud"
	Redriven           Mark = "rd" // the round in which dead letters were sent back
)

// Horizon stores the progress of each part of the ticks.
type Horizon interface {
	// Marks reads all recorded marks at once; a mark that was never set is 0.
	Marks(ctx context.Context) (map[Mark]int64, error)
	// Move sets a mark that still equals from (0: it was never set), and does nothing if it has changed in the meantime:
	// only one of two concurrent ticks counts.
	Move(ctx context.Context, m Mark, from, to int64) error
}

// DeadLetters holds the messages of a queue that were received too often and were set aside.
type DeadLetters interface {
	// Redrive sends them back and returns how many there were. For each message it calls turn, with the number of earlier
	// redrives, to decide whether to send it now.
	Redrive(ctx context.Context, turn func(times int) bool) (int, error)
	// Look passes each dead letter to f until f returns false, in no particular order, and leaves it in the queue.
	// Meanwhile, other callers cannot see them. Some may be missed: from each group, f gets only as many as the service
	// returns together.
	Look(ctx context.Context, f func(DeadLetter) bool) error
	// Return sends the dead letter with an ID back. It returns ErrNotFound if it does not see the letter: see Look.
	Return(ctx context.Context, id string) error
}
