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
	root := s.def.Nodes[0].Name
	return s.paused != nil && !t.Cancel && !t.Ends && !strings.HasPrefix(t.Name, root+"^sla") && t.Name != root+FailureAlert
}

// atWork says that the next run of a task is no new work, and so is not held by a pause: it finds out what keys of the task
// come to, or it looks at a try that something else makes, a command or a job.
func (t *Task) atWork() bool {
	return t.Preparing || t.State != GroupRetryWaiting && t.Progress.Params.Has(jobState)
}

// pause lets nothing begin. What waits for slots of a pool gives up its place in the line.
func (d *decision) pause(e Pause) {
	d.apply(PauseChanged{Paused: &Paused{By: e.Who, Reason: e.Reason, At: d.now}})
	for _, t := range d.tasks {
		if t != nil && t.Waits() && d.pauses(t) {
			d.hold(t, nil)
		}
	}
}

// unpause lets everything begin that was held, but for what is to end.
func (d *decision) unpause() {
	d.apply(PauseChanged{})
	for _, t := range d.tasks {
		switch {
		case t == nil || t.Held && t.Cancel:
		case t.Held && t.Group:
			d.due(t)
		case t.Held && !d.noPlace(t):
			d.again(t)
		case t.opensChildren():
			d.look = append(d.look, t.ID)
		}
	}
}
