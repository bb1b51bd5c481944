package engine

import (
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/param"
)

// Event is something that happened to an attempt. Each event names its guard: the message that delivered it, which then
// owes the effects that the event causes.
type Event interface{ from() string }

// By is the guard of an event.
type By struct {
	Guard string `json:"guard"`
}

func (b By) from() string { return b.Guard }

// Start begins an attempt. It applies only to a new State.
type Start struct {
	By
	Params  *param.Map `json:"params"`
	Limit   int        `json:"limit"` // number of tasks; 0 is DefaultLimit
	Carried []Carried  `json:"carried,omitempty"`
	RunAt   time.Time  `json:"runAt,omitzero"` // the time from which sla: counts; zero is now
	NoSLA   bool       `json:"noSLA,omitempty"`
	// Priority is the attempt's priority, -2 to 2, used unless a `_priority` overrides it.
	Priority int `json:"priority,omitempty"`
	// Slot is the pool slot that the attempt needs before its first task and keeps until its end (`concurrency`); nil if
	// it needs none.
	Slot *claim.Pool `json:"slot,omitempty"`
	// At is when the attempt begins; zero or a time in the past is now.
	At time.Time `json:"startAt,omitzero"`
}

// Run names one run of one task. Only the task's current dispatch counts.
type Run struct {
	Task     TaskID `json:"task"`
	Dispatch int    `json:"d"`
}

// Logged reports whether a run's log was stored.
type Logged struct {
	LogIncomplete bool `json:"log_incomplete,omitempty"` // some of its text could not be stored
}

// Succeeded is a run's result.
type Succeeded struct {
	By
	Run
	Logged
	Result Outcome `json:"result"`
}

// Prepared holds the evaluated keys of a task, for a run that evaluates them (Progress.Preparing). A host also
// evaluates them for groups, whose other keys are not evaluated.
type Prepared struct {
	By
	Run
	Skip string      `json:"skip,omitempty"` // why the task and everything below it must be skipped
	Pool *claim.Pool `json:"pool,omitempty"` // slots that the task needs; nil for none

	Timeout *claim.Limits `json:"timeout,omitempty"` // time limits of the task; nil for none
	Exports *param.Map    `json:"export,omitempty"`  // exports of the called file's `params` to the tasks below; nil for none
	Outputs *param.Map    `json:"outputs,omitempty"` // of a run that ends the attempt, see Progress.Ends
}

// Granted reports that a task, or the Whole attempt, has the pool slots that it waited for. A task that needs slots in
// several pools gets them from one pool after another.
type Granted struct {
	By
	Run
	Project int64 `json:"project,omitempty"` // owns the pool; 0 if the site does
}

// Errored reports that a run failed without further retries: the host that ran it has already decided about `_retry`
// for the operator's own failures.
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
	Until time.Time     `json:"until,omitzero"` // when the try must be over, as limited by the host that ran it
	// SlowAt is when the host that ran the try warns that it is slow, and Warned reports that it did.
	SlowAt time.Time `json:"slowAt,omitzero"`
	Warned bool      `json:"warned,omitempty"`
	Retry  bool      `json:"retry,omitempty"` // the try has failed, and the next run is a new one
}

// Due reports that a waiting task is due. It is never compared with now.
type Due struct {
	By
	Run
}

// Lost reports that the holder of the run has died or gone silent. The guard of this event takes the task over; after
// three losses, the task fails. A loss does not count if the whole host was stopped (Blameless), since the task is not
// to blame. If the only server crashed, the loss is counted separately: Crashes is the number of consecutive crashes
// through which a task may be running; the last of them fails it. Crashes is 0 if there was no crash, or if the crash
// does not count.
type Lost struct {
	By
	Run
	Blameless bool `json:"blameless,omitempty"`
	Crashes   int  `json:"crashes,omitempty"`
}

// Fenced reports that it is unknown whether the run continues. Nothing ends it and its result counts, but the guard of
// this event is now responsible for it: a host does not begin a fenced run but takes it over as Lost.
type Fenced struct {
	By
	Run
}

// Kill ends the attempt: nothing further runs, not even `_error`.
type Kill struct {
	By
	Why string `json:"why,omitempty"` // if no user requested it
	// Force, for a second kill, also ends the `_cancel` and `_finally` blocks that the first one spared.
	Force bool `json:"force,omitempty"`
}

// Pause prevents anything new from beginning until Unpause. Running tasks finish, and their results count.
type Pause struct {
	By
	Who    string `json:"who"`
	Reason string `json:"reason,omitempty"`
}

// Unpause resumes a paused attempt.
type Unpause struct{ By }

// GoOn requests the next portion of tasks that are created in portions.
type GoOn struct{ By }

// TimedOut reports that a `_timeout` timer has expired.
type TimedOut struct {
	By
	Expiry
}

// Expiry names a `_timeout` timer. Only the task's latest timer counts.
type Expiry struct {
	Task  TaskID `json:"task"`
	Timer int    `json:"timer"`
}

// StartDue reports that the start time of the attempt has been reached (see Start.At).
type StartDue struct{ By }

// SLADue reports that the time of `sla:` has been reached.
type SLADue struct{ By }
