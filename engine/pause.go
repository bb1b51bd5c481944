package engine

import (
	"strings"
	"time"
)

// Paused says who has paused an attempt.
type Paused struct {
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Paused returns who has paused the attempt, nil when nobody has.
func (s *State) Paused() *Paused { return s.paused }

// noPause says why a pause changes nothing.
func (s *State) noPause() Refusal {
	switch {
	case s.canceled:
		return Killed
	case s.paused != nil:
		return Again
	}
	return ""
}

// pauses says whether a pause keeps a task from beginning. What `sla:` has added, and the notice of a failure, are no work.
func (s *State) pauses(t *Task) bool {
	return s.paused != nil && !t.Cancel && !t.Ends && !s.isSLA(t) && t.Name != s.def.Nodes[0].Name+FailureAlert
}

// isSLA says whether a task is one that `sla:` has added, or below that.
func (s *State) isSLA(t *Task) bool { return strings.HasPrefix(t.Name, s.def.Nodes[0].Name+"^sla") }

// opensSLA says whether a task is the root of a file that waits for slots, or to ask for them. What `sla:` adds is about that wait, too, and does
// not take part in it.
func (s *State) opensSLA(t *Task) bool {
	return t.Parent == 0 && t.Group && t.Pool != nil && t.rule().stops
}

// atWork says that the next run of a task is no new work, and so is not held by a pause: it finds out what keys of the task
// come to, or it looks at a try that something else makes, a command or a job.
func (t *Task) atWork() bool {
	return t.Preparing || t.State != GroupRetryWaiting && t.Progress.Params.Has(jobState)
}

// pause lets nothing begin. What waits for slots of a pool, or for the turn of the attempt, gives up its place in the line.
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

// unpause lets everything begin that was held, but for what is to end. An attempt that waits for its turn stands in the line again, where it stood.
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

// goOnWith lets a task begin, or try again, that was held.
func (d *decision) goOnWith(t *Task) {
	if t.Group {
		d.due(t)
		return
	}
	d.again(t)
}
