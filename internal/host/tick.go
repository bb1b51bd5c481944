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

// Horizon notes up to when a tick has handed over what is due.
type Horizon interface {
	// Horizon is zero before the first tick.
	Horizon(ctx context.Context) (time.Time, error)
	// MoveHorizon never moves it back: of two ticks side by side the later one counts.
	MoveHorizon(ctx context.Context, to time.Time) error
}

// DeadLetters are the messages of a queue that were received too often and put aside.
type DeadLetters interface {
	// Redrive sends them back and says how many. turn is asked for each whether it should go now,
	// given how often it went before.
	Redrive(ctx context.Context, turn func(times int) bool) (int, error)
}
