package engine

import (
	"strings"
	"time"
)

// Paused records who paused an attempt.
type Paused struct {
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Paused returns who paused the attempt, or nil if it is not paused.
func (s *State) Paused() *Paused { return s.paused }

// noPause returns why a pause would change nothing, or "" if it would have an effect.
func (s *State) noPause() Refusal {
	switch {
	case s.canceled:
		return Killed
	case s.paused != nil:
		return Again
	}
	return ""
}

// pauses reports whether a pause keeps a task from beginning. Tasks added by `sla:` and failure alerts are not paused,
// since they do no work.
func (s *State) pauses(t *Task) bool {
	return s.paused != nil && !t.Cancel && !t.Ends && !s.isSLA(t) && t.Name != s.def.Nodes[0].Name+FailureAlert
}

// isSLA reports whether a task was added by `sla:`, or is below such a task.
func (s *State) isSLA(t *Task) bool { return strings.HasPrefix(t.Name, s.def.Nodes[0].Name+"^sla") }

// opensSLA reports whether a task is the root of a file and is waiting for slots, or waiting to request them. Tasks
// that `sla:` adds run during that wait, since the limit includes it.
func (s *State) opensSLA(t *Task) bool {
	return t.Parent == 0 && t.Group && t.Pool != nil && t.rule().stops
}

// atWork reports whether the next run of a task continues work, so that a pause does not delay it: it evaluates keys of
// the task, or polls a command or job that is already running.
func (t *Task) atWork() bool {
	return t.Preparing || t.State != GroupRetryWaiting && t.Progress.Params.Has(jobState)
}

// pause lets nothing new begin. Tasks that wait for slots of a pool, and an attempt that waits for its turn, give up
// their place in line.
func (d *decision) pause(e Pause) {
	c := PauseChanged{Paused: &Paused{By: e.Who, Reason: e.Reason, At: d.now}}
	if d.Waits() {
		c.Slot = d.slot.OutOfLine(d.guard)
	}
	d.apply(c)
	for _, t := range d.tasks {
		if t != nil && t.Waits() && d.pauses(t) {
			d.hold(t, nil)
		}
	}
}

// unpause starts everything that the pause delayed, except tasks that must end. An attempt that waits for its turn
// returns to its old place in the line.
func (d *decision) unpause() {
	var c PauseChanged
	if d.Waits() && !d.canceled {
		again := *d.slot
		again.Try++
		c.Slot, c.SlotGuard = &again, d.guard
	}
	d.apply(c)
	for _, t := range d.tasks {
		switch {
		case t == nil || t.Held && (t.Cancel || t.Parent == 0 && d.Waits()):
		case t.Held && !d.noPlace(t):
			d.goOnWith(t)
		case t.opensChildren():
			d.look = append(d.look, t.ID)
		}
	}
}

// goOnWith lets a delayed task begin, or retry.
func (d *decision) goOnWith(t *Task) {
	if t.Group {
		d.due(t)
		return
	}
	d.again(t)
}
