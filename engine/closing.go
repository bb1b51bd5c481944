package engine

import (
	"slices"

	"zerodag/engine/param"
)

// Closing is the part of a task's cleanup that has begun: the tasks of its `_cancel` or of its `_finally`. A first kill
// leaves these running, since they clean up after it; a second one ends them.
type Closing string

// Parts of a task's cleanup.
const (
	ClosingCancel  Closing = "cancel"
	ClosingFinally Closing = "finally"
	ClosingFailed  Closing = "failed" // its `_finally` failed, and so did the task, which had otherwise succeeded
)

// closingTime is the default time limit for the cleanup tasks of a canceled task: a hanging cleanup must not keep the
// attempt from ending.
const closingTime = "10m"

// hasClosing reports whether the task has a `_cancel` or `_finally`.
func (t *Task) hasClosing() bool {
	return t.Level > 0 && (t.Config.Map("_cancel").Len() > 0 || t.Config.Map("_finally").Len() > 0)
}

// finish ends a task after its `_cancel` and `_finally`, if it has them; edit, unless nil, may set more of its
// progress.
func (d *decision) finish(t *Task, to TaskState, out *Outcome, edit func(*Progress)) {
	if t.hasClosing() && !d.forced && (to != Canceled || d.hasBegun(t)) {
		if to == Canceled && t.Closing == "" && d.close(t, ClosingCancel, to, out, edit) {
			return
		}
		if d.close(t, ClosingFinally, to, out, edit) {
			return
		}
	}
	d.move(t, to, out, edit)
}

// hasBegun reports whether a canceled task had begun. If not, there is nothing to clean up.
func (d *decision) hasBegun(t *Task) bool {
	switch {
	case t.Closing != "":
		return true
	case d.Waits():
		return false
	case t.notBegun():
		return false
	case t.Group && t.Pool != nil:
		return true
	case t.Group:
		return t.State == Planned || t.State == GroupRetryWaiting || t.Ends
	}
	return !t.StartedAt.IsZero()
}

// close adds the cleanup tasks of a task, whose final state waits for them. It returns false if there are none to add.
// They may exceed the task limit of an attempt, up to HardLimit.
func (d *decision) close(t *Task, which Closing, to TaskState, out *Outcome, edit func(*Progress)) bool {
	body := t.Config.Map("_" + string(which))
	if to == Canceled && body.Len() > 0 && !isBounded(body) {
		limits := param.Merge(body.Map("_timeout"), param.New("total", closingTime))
		body = param.Merge(body, param.New("_timeout", limits))
	}
	nodes, err := compile(t, "^"+string(which), withExport(body, func(export *param.Map) *param.Map {
		return d.closingExport(export, t, which, to, out)
	}))
	if err != nil || len(nodes) == 0 || len(d.tasks)+len(nodes) > max(d.limit, HardLimit) {
		return false
	}
	d.move(t, Planned, out, func(p *Progress) {
		if edit != nil {
			edit(p)
		}
		p.Ending, p.Closing = to, which
	})
	d.addTasks(t, nodes, nil, false)
	return true
}

// isBounded reports whether a `_timeout` ends tasks that take too long, instead of only warning about them.
func isBounded(body *param.Map) bool {
	limits := body.Map("_timeout")
	return body.Has("_timeout") && (limits == nil || limits.Has("try") || limits.Has("total"))
}

// closingExport adds to an export what all tasks below t stored, and the outcome of t.
func (d *decision) closingExport(export *param.Map, t *Task, which Closing, to TaskState, out *Outcome) *param.Map {
	export = d.layStoresBelow(export, t)
	if out == nil {
		out = t.Outcome
	}
	failure, failed, inHandlers := param.New(), []failedTask(nil), []failedTask(nil)
	if to.Error() {
		failure, failed, inHandlers = d.failureOf(t), d.failedBelow(t, nil, false), d.failedBelow(t, nil, true)
	}
	if out != nil {
		failure = param.Merge(failure, out.Error)
		if out.Error.Len() > 0 {
			failed = append(failed, failedTask{t.Name, out.Error})
		}
	}
	export = export.Clone()
	export.Set("error", named(failure, failed, inHandlers))
	if which == ClosingFinally {
		export.Set("outcome", outcomeName(to))
	}
	return export
}

// outcomeName returns a task's outcome as its `_finally` sees it.
func outcomeName(end TaskState) string {
	switch {
	case end == Success:
		return "success"
	case end.Error():
		return "error"
	}
	return "canceled"
}

// closed continues with a task once its cleanup has finished.
func (d *decision) closed(t *Task) {
	switch {
	case t.Closing == ClosingCancel:
		d.finish(t, Canceled, nil, nil)
	case t.Closing == ClosingFinally && t.Ending == Success && t.Cancel: // by force
		d.move(t, Canceled, t.withoutOutputs(), nil)
	case t.Closing == ClosingFinally && t.Ending == Success && !t.Ignored:
		d.closedWell(t)
	default:
		d.move(t, t.Ending, nil, nil)
	}
}

// closedWell ends a task as succeeded, unless its `_finally` failed.
func (d *decision) closedWell(t *Task) {
	failure := d.closingFailure(t)
	switch {
	case failure == nil:
		d.move(t, Success, nil, nil)
	case t.ignores(failure):
		d.move(t, Success, t.ignored(failure), func(p *Progress) { p.Ignored = true })
	case t.Parent == 0:
		d.move(t, Planned, t.withoutOutputs(), func(p *Progress) { p.Ending, p.Closing = GroupError, ClosingFailed })
		d.alert(t)
	default:
		d.move(t, GroupError, nil, func(p *Progress) { p.Closing = ClosingFailed })
	}
}

// withoutOutputs returns the outcome for a root that would have succeeded but for its `_finally`: such an attempt has
// no outputs. It returns nil if the outcome does not change.
func (t *Task) withoutOutputs() *Outcome {
	if t.Outcome == nil || t.Outputs == nil {
		return nil
	}
	out := *t.Outcome
	out.Outputs = nil
	return &out
}

// closingFailure merges the errors of tasks below t that failed since its `_finally` began: its own tasks and tasks
// that `sla:` has added in the meantime. It returns nil if none failed.
func (d *decision) closingFailure(t *Task) *param.Map {
	var failure *param.Map
	for _, id := range slices.Backward(t.children) {
		c := d.task(id)
		if c.State.Error() {
			failure = param.Merge(d.failureOf(c), failure)
			if c.Outcome != nil {
				failure = param.Merge(failure, c.Error)
			}
		}
		if c.Name == t.Name+"^"+string(ClosingFinally) {
			break
		}
	}
	return failure
}

// closesTaskOf reports whether a task is `^cancel` or `^finally` of its parent.
func (t *Task) closesTaskOf(parent *Task) bool {
	return parent.Closing != "" && (t.Name == parent.Name+"^"+string(ClosingCancel) || t.Name == parent.Name+"^"+string(ClosingFinally))
}

// Spares reports whether a kill has left cleanup tasks running that a second kill would end.
func (s *State) Spares() bool {
	return s.canceled && !s.forced && !s.ended && slices.ContainsFunc(s.tasks, func(t *Task) bool {
		return t != nil && t.Closing != "" && !t.State.Done()
	})
}

// noKill returns why a kill would change nothing, or "" if it would have an effect.
func (s *State) noKill(e Kill) Refusal {
	switch {
	case e.Force && !s.canceled:
		return NotKilled
	case e.Force && s.Spares():
		return ""
	case e.Force || s.canceled:
		return Again
	}
	return ""
}
