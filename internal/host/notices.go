package host

import (
	"context"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
)

// Bus announces the progress and outcome of attempts to other programs.
type Bus interface {
	// Announce puts a on the bus and returns when the bus has accepted it. ErrUnavailable means that a later call may
	// succeed. A repeated announcement has the same ID.
	Announce(ctx context.Context, a events.Announcement) error
}

// Notices notifies users (server.md#settings).
type Notices interface {
	// Notify returns when a notice was delivered or cannot be delivered. Implementations retry, for minutes if
	// necessary.
	Notify(ctx context.Context, n Notice) error
}

// Notice is one notice; the name of the task is empty if the notice is about an attempt.
type Notice struct {
	Message  string
	Attempt  Attempt
	Revision string
	Task     string
	Failure  *Failure // why the attempt failed, if it did
}

// Failure is the task that made an attempt fail.
type Failure struct {
	Task    string        // its full name
	Message string        // why it failed
	Lines   []string      // the last lines that it printed
	Tasks   []param.Value // all tasks that failed: mappings with task, message and, for commands, exit_code
}

// Tracer writes a trace of each attempt that has ended.
type Tracer interface {
	// Trace reads the attempt and its final state, nil if it ended without one, and returns a function that delivers
	// the trace. That function retries temporary failures.
	Trace(a Attempt, final *engine.State) (deliver func(context.Context) error)
}

// NoBus is a Bus without listeners.
type NoBus struct{}

// Announce implements Bus.
func (NoBus) Announce(context.Context, events.Announcement) error { return nil }

// NoNotices is Notices without readers.
type NoNotices struct{}

// Notify implements Notices.
func (NoNotices) Notify(context.Context, Notice) error { return nil }
