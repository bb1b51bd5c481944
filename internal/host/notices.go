package host

import (
	"context"

	"zerodag/events"
)

// Bus tells other programs what becomes of attempts.
type Bus interface {
	// Announce puts a on the bus, at least once; told again a has the same ID.
	Announce(ctx context.Context, a events.Announcement) error
}

// Notices tells people.
type Notices interface {
	// Notify delivers a notice; an implementation tries again by itself, for minutes if need be.
	Notify(ctx context.Context, n Notice) error
}

// Notice is one thing to tell; a task's name is empty when it is about an attempt.
type Notice struct {
	Message  string
	Attempt  Attempt
	Revision string
	Task     string
}

// NoBus is a Bus without listeners.
type NoBus struct{}

// Announce implements Bus.
func (NoBus) Announce(context.Context, events.Announcement) error { return nil }

// NoNotices is Notices without readers.
type NoNotices struct{}

// Notify implements Notices.
func (NoNotices) Notify(context.Context, Notice) error { return nil }
