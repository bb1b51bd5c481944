package engine

import (
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Change is one thing that Step decided. Changes are what the log stores; Apply
// repeats them without deciding anything.
type Change interface{ change() }

// AttemptStarted sets up the attempt and its tasks, which come from the Definition.
type AttemptStarted struct {
	Params   *param.Map `json:"params"`
	Limit    int        `json:"limit"`
	Carried  []Carried  `json:"carried,omitempty"`
	At       time.Time  `json:"at"`
	SLAAt    time.Time  `json:"slaAt,omitzero"`
	SLAGuard string     `json:"slaGuard,omitempty"`
	Priority int        `json:"priority,omitempty"`
	// Slot is what the attempt waits for before its first task, and SlotGuard who owes that it is asked for.
	Slot      *claim.Use `json:"slot,omitempty"`
	SlotGuard string     `json:"slotGuard,omitempty"`
	// StartsAt is when the attempt begins, unless it has begun with this entry, and StartsGuard who owes the timer.
	StartsAt    time.Time `json:"startsAt,omitzero"`
	StartsGuard string    `json:"startsGuard,omitempty"`
}

// Begun says that an attempt begins which waited for its time, and who asks for its slot if it needs one.
type Begun struct {
	At    time.Time `json:"at"`
	Guard string    `json:"guard"`
}

// Admitted says that the attempt has the slot that it waited for.
type Admitted struct {
	Project int64 `json:"project,omitempty"` // that the pool belongs to
}

// TasksAdded puts generated tasks below a parent. Ids count from First; when only a
// portion of the nodes is made, From says which.
type TasksAdded struct {
	Parent  TaskID     `json:"parent"`
	First   TaskID     `json:"first"` // id of node 0, made or not
	From    int        `json:"from,omitempty"`
	Nodes   []dig.Node `json:"nodes"`
	After   []TaskID   `json:"after,omitempty"` // upstreams of node 0
	Initial bool       `json:"initial,omitempty"`
	At      time.Time  `json:"at"`
}

// TaskChanged replaces a task's progress and, unless nil, its outcome.
type TaskChanged struct {
	Task     TaskID   `json:"task"`
	Progress Progress `json:"to"`
	Outcome  *Outcome `json:"out,omitempty"`
}

// Skipped makes a task and all that was made below it successes that were not run.
type Skipped struct {
	Task TaskID    `json:"task"`
	Why  string    `json:"why"`
	At   time.Time `json:"at"`
}

// SubtreeCanceled ends what is below a task: what has not started is canceled, and what has is flagged as by a kill.
type SubtreeCanceled struct {
	Task TaskID    `json:"task"`
	At   time.Time `json:"at"`
}

// GroupRestarted copies a group's initial tasks for its next try.
type GroupRestarted struct {
	Group TaskID    `json:"group"`
	First TaskID    `json:"first"` // id of the first copy
	At    time.Time `json:"at"`
}

// Growing says how far the children of an owner are made; at Next == Total they all are.
type Growing struct{ growth }

// growth is a set of nodes that is made in portions.
type growth struct {
	Owner TaskID     `json:"owner"`
	First TaskID     `json:"first"`
	Total int        `json:"total"`
	Next  int        `json:"next"`
	Guard string     `json:"guard,omitempty"`
	nodes []dig.Node // compiled again after a load
}

// KillRequested flags everything that is not done, but for the `_cancel` and `_finally` that are under way: these only a
// second kill ends.
type KillRequested struct {
	At     time.Time `json:"at"`
	Forced bool      `json:"forced,omitempty"` // it is a second one
}

// PauseChanged says that the attempt is paused, or, without Paused, that it goes on.
type PauseChanged struct {
	Paused *Paused `json:"paused,omitempty"`
	// Slot is what the attempt waits for, which leaves the line or, under SlotGuard, asks again; nil: it does not wait for its turn.
	Slot      *claim.Use `json:"slot,omitempty"`
	SlotGuard string     `json:"slotGuard,omitempty"`
}

// SLAFired removes the timer of `sla:`.
type SLAFired struct{}

// AttemptEnded ends the attempt.
type AttemptEnded struct {
	At    time.Time `json:"at"`
	Guard string    `json:"guard"`
}

func (AttemptStarted) change()  {}
func (Admitted) change()        {}
func (TasksAdded) change()      {}
func (TaskChanged) change()     {}
func (Skipped) change()         {}
func (SubtreeCanceled) change() {}
func (GroupRestarted) change()  {}
func (Growing) change()         {}
func (KillRequested) change()   {}
func (PauseChanged) change()    {}
func (Begun) change()           {}
func (SLAFired) change()        {}
func (AttemptEnded) change()    {}
