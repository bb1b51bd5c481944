package engine

import (
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Change is one decision of Step. The log stores changes; Apply replays them without deciding anything.
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
	// Slot is the slot that the attempt waits for before its first task; SlotGuard is the message that owes the request
	// for it.
	Slot      *claim.Use `json:"slot,omitempty"`
	SlotGuard string     `json:"slotGuard,omitempty"`
	// StartsAt is the time at which the attempt begins, unless it begins with this entry; StartsGuard is the message
	// that owes the timer.
	StartsAt    time.Time `json:"startsAt,omitzero"`
	StartsGuard string    `json:"startsGuard,omitempty"`
}

// Begun reports that an attempt begins after waiting for its start time. Guard then owes the request for its slot, if
// it needs one.
type Begun struct {
	At    time.Time `json:"at"`
	Guard string    `json:"guard"`
}

// Admitted reports that the attempt has the slot that it waited for.
type Admitted struct {
	Project int64 `json:"project,omitempty"` // owns the pool
}

// TasksAdded adds generated tasks below a parent. Ids count from First; if only a portion of the nodes is created, From
// is the first of them.
type TasksAdded struct {
	Parent  TaskID     `json:"parent"`
	First   TaskID     `json:"first"` // id of node 0, created or not
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

// Skipped marks a task and everything created below it as succeeded without a run.
type Skipped struct {
	Task TaskID    `json:"task"`
	Why  string    `json:"why"`
	At   time.Time `json:"at"`
}

// SubtreeCanceled ends the tasks below a task: tasks that have not started are canceled, and the others are flagged as
// they are by a kill.
type SubtreeCanceled struct {
	Task TaskID    `json:"task"`
	At   time.Time `json:"at"`
}

// GroupRestarted copies a group's initial tasks for its next iteration.
type GroupRestarted struct {
	Group TaskID    `json:"group"`
	First TaskID    `json:"first"` // id of the first copy
	At    time.Time `json:"at"`
}

// Growing records how many of an owner's children have been created; when Next == Total, all of them have.
type Growing struct{ growth }

// growth is a set of nodes that are created in portions.
type growth struct {
	Owner TaskID     `json:"owner"`
	First TaskID     `json:"first"`
	Total int        `json:"total"`
	Next  int        `json:"next"`
	Guard string     `json:"guard,omitempty"`
	nodes []dig.Node // compiled again after a load
}

// KillRequested flags everything that is not done, except `_cancel` and `_finally` blocks that are under way, which
// only a second kill ends.
type KillRequested struct {
	At     time.Time `json:"at"`
	Forced bool      `json:"forced,omitempty"` // a second kill
}

// PauseChanged reports that the attempt is paused or, if Paused is unset, that it continues.
type PauseChanged struct {
	Paused *Paused `json:"paused,omitempty"`
	// Slot is the slot that the attempt waits for. The attempt gives up its place in line or, with SlotGuard, requests
	// the slot again. Slot is nil if the attempt does not wait for its turn.
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
