package host

import (
	"context"
	"time"

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
	// Notify returns when a notice has been delivered or cannot be delivered. Implementations retry, for minutes if
	// necessary.
	Notify(ctx context.Context, n Notice) error
}

// Notice is one notice; the task's name is empty if the notice is about an attempt.
type Notice struct {
	Kind     NoticeKind
	Message  string
	Attempt  Attempt // without an ID if no attempt was started
	Revision string
	Tags     []string // of the workflow
	Task     string
	Failure  *Failure // why the attempt failed, if it did
}

// NoticeKind is the subject of a notice; routes select notices by kind (server.md#settings).
type NoticeKind string

// The kinds of notices.
const (
	NoticeFailure     NoticeKind = "failure"      // an attempt failed or was killed because of its age
	NoticeSLA         NoticeKind = "sla"          // an attempt missed its `sla:`
	NoticeSlow        NoticeKind = "slow"         // a task takes longer than `warn` of its `_timeout`
	NoticeMessage     NoticeKind = "message"      // a `notify>` task ran
	NoticeLate        NoticeKind = "late"         // a schedule started an attempt later than LateStart allows
	NoticeStartFailed NoticeKind = "start_failed" // a schedule could not start an attempt
	NoticeRecovered   NoticeKind = "recovered"    // a workflow succeeded after a notice of its failure
)

// NoticeKinds returns all kinds of notices.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{NoticeFailure, NoticeSLA, NoticeSlow, NoticeMessage, NoticeLate, NoticeStartFailed, NoticeRecovered}
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

// Observer counts what a process does, for metrics. Its methods return at once.
type Observer interface {
	// AttemptEnded is called with the row of each attempt that this process has ended.
	AttemptEnded(a Attempt)
	// StartedLate is called with an attempt that a schedule started later than LateStart allows.
	StartedLate(a Attempt)
	// SLAMissed is called with an attempt whose `sla:` tasks now begin.
	SLAMissed(a Attempt)
	// TaskRan is called after each run of a task that took place outside of a step.
	TaskRan(site int64, operator string, result RunResult, took time.Duration)
	// LeaseLost is called when another process has taken over a task because this one did not extend its lease.
	LeaseLost()
	// NoticeLost is called when a notice is given up on.
	NoticeLost(a Attempt)
}

// LateStart is how late a schedule may start an attempt before the start counts as late.
const LateStart = time.Minute

// RunResult describes how a run of a task ended.
type RunResult string

// The results of runs.
const (
	RunSucceeded RunResult = "success"
	RunFailed    RunResult = "error"
	RunAgain     RunResult = "again" // another run of the task follows: it polls, waits or is retried by its operator
)

// Unobserved is an Observer that counts nothing. Observers of some events embed it.
type Unobserved struct{}

// AttemptEnded implements Observer.
func (Unobserved) AttemptEnded(Attempt) {}

// StartedLate implements Observer.
func (Unobserved) StartedLate(Attempt) {}

// SLAMissed implements Observer.
func (Unobserved) SLAMissed(Attempt) {}

// TaskRan implements Observer.
func (Unobserved) TaskRan(int64, string, RunResult, time.Duration) {}

// LeaseLost implements Observer.
func (Unobserved) LeaseLost() {}

// NoticeLost implements Observer.
func (Unobserved) NoticeLost(Attempt) {}

// NoBus is a Bus without listeners.
type NoBus struct{}

// Announce implements Bus.
func (NoBus) Announce(context.Context, events.Announcement) error { return nil }

// NoNotices is Notices without readers.
type NoNotices struct{}

// Notify implements Notices.
func (NoNotices) Notify(context.Context, Notice) error { return nil }
