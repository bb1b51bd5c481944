package engine

import (
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/param"
)

// Event is something that happened to an attempt. Each names its guard: the message
// that brought it, which then owes the effects that it causes.
type Event interface{ from() string }

// By is the guard of an event.
type By struct {
	Guard string `json:"guard"`
}

func (b By) from() string { return b.Guard }

// Start begins an attempt. It applies to a new State only.
type Start struct {
	By
	Params  *param.Map `json:"params"`
	Limit   int        `json:"limit"` // tasks; 0 is DefaultLimit
	Carried []Carried  `json:"carried,omitempty"`
	RunAt   time.Time  `json:"runAt,omitzero"` // what sla: counts from; zero is now
	NoSLA   bool       `json:"noSLA,omitempty"`
	// Priority is that of the attempt, -2 to 2, where no `_priority` says another one.
	Priority int `json:"priority,omitempty"`
	// Slot is that of a pool which the attempt needs before its first task and has until its end (`concurrency`). nil: none.
	Slot *claim.Pool `json:"slot,omitempty"`
	// At is when the attempt is to begin; zero, or a time that has come, is now.
	At time.Time `json:"startAt,omitzero"`
}

// Run names one run of one task. Only the task's current dispatch counts.
type Run struct {
	Task     TaskID `json:"task"`
	Dispatch int    `json:"d"`
}

// Logged reports whether the log of a run was stored.
type Logged struct {
	LogIncomplete bool `json:"log_incomplete,omitempty"` // some of its text could not be stored
}

// Succeeded is the result of a run.
type Succeeded struct {
	By
	Run
	Logged
	Result Outcome `json:"result"`
}

// Prepared is what the keys of a task evaluated to, for a run that evaluates them (Progress.Preparing). A host
// evaluates them, also of groups, whose other keys nobody evaluates.
type Prepared struct {
	By
	Run
	Skip string      `json:"skip,omitempty"` // why the task and all below it are not to be run
	Pool *claim.Pool `json:"pool,omitempty"` // the slots that the task needs; nil for none

	Timeout *claim.Limits `json:"timeout,omitempty"` // how long the task may take; nil for any time
	Exports *param.Map    `json:"export,omitempty"`  // what `params` of a called file give the tasks below; nil for nothing
	Outputs *param.Map    `json:"outputs,omitempty"` // of a run that ends the attempt, see Progress.Ends
}

// Granted reports that a task, or the Whole attempt, has the slots of a pool that it waited for. One that needs slots of several pools
// is granted them one after the other.
type Granted struct {
	By
	Run
	Project int64 `json:"project,omitempty"` // that the pool belongs to; 0: it is one of the site
}

// Errored reports that a run failed without further retries: `_retry` of the operator's own failures was
// decided by the host that ran it.
type Errored struct {
	By
	Run
	Logged
	Error *param.Map `json:"error"`
}

// Later reports that a run wants to be called again: a poll, or a retry.
type Later struct {
	By
	Run
	Logged
	After time.Duration `json:"after"`
	State *param.Map    `json:"state"`
	Until time.Time     `json:"until,omitzero"` // when the try must be over, as who ran it has bounded it
	// SlowAt is when people are told that the try is slow, as who ran it knows, and Warned that they were.
	SlowAt time.Time `json:"slowAt,omitzero"`
	Warned bool      `json:"warned,omitempty"`
	Retry  bool      `json:"retry,omitempty"` // the try has failed, and the next one is another
}

// Due reports that the time of a waiting task has come. It is never compared with now.
type Due struct {
	By
	Run
}

// Lost reports that the holder of the run is dead or silent. The guard of this event takes
// the task over; three losses fail it. A loss with all else that the host did, when the only
// server was stopped, is nothing that a task may be blamed for and does not count. When that
// server crashed, the loss is counted apart, and Crashes says how many a task may be under
// way at in a row: the last one fails it. 0 is no crash, or one that is not counted.
type Lost struct {
	By
	Run
	Blameless bool `json:"blameless,omitempty"`
	Crashes   int  `json:"crashes,omitempty"`
}

// Fenced reports that no one knows whether the run continues. Nothing ends it and its result counts, but the
// guard of this event answers for it from now on: a host does not begin a run that is fenced, it takes
// it over as Lost.
type Fenced struct {
	By
	Run
}

// Kill requests the end of the attempt: nothing further runs, and no `_error`.
type Kill struct {
	By
	Why string `json:"why,omitempty"` // where nobody asked for it
	// Force, of a second kill, ends the `_cancel` and `_finally` that the first one has left alone, too.
	Force bool `json:"force,omitempty"`
}

// Pause lets nothing new begin until Unpause: what runs ends, and its result counts.
type Pause struct {
	By
	Who    string `json:"who"`
	Reason string `json:"reason,omitempty"`
}

// Unpause resumes a paused attempt.
type Unpause struct{ By }

// GoOn asks to make the next portion of what is being made in portions.
type GoOn struct{ By }

// TimedOut reports that the time of a timer of `_timeout` has come.
type TimedOut struct {
	By
	Expiry
}

// Expiry names a timer of `_timeout`. Only the task's last one counts.
type Expiry struct {
	Task  TaskID `json:"task"`
	Timer int    `json:"timer"`
}

// StartDue reports that the time has come at which the attempt is to begin (see Start.At).
type StartDue struct{ By }

// SLADue reports that the time of `sla:` has come.
type SLADue struct{ By }
