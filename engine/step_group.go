package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
)

// childrenDone ends a planned task when none of its children can change state any more (engine.md 2.6).
func (d *decision) childrenDone(t *Task) {
	switch {
	case t.Closing != "":
		d.closed(t)
	case t.Cancel:
		d.finish(t, Canceled, nil, nil)
	case t.Ending != Blocked:
		d.finish(t, t.Ending, nil, nil)
	case t.Timeout != nil && t.Timeout.Expired != "":
		d.roundTimedOut(t)
	case t.failed == 0:
		d.succeed(t)
	case d.tryAgain(t):
	default:
		d.groupFailed(t, nil)
	}
}

// check adds `_check` of a group in a file with `zerodag: 1`, as the last task of an iteration that has succeeded. It
// returns false if there is nothing to add, so that the iteration has ended.
func (d *decision) check(t *Task) bool {
	body := t.Config.Map("_check")
	if !t.Group || t.Level == 0 || body.Len() == 0 || d.checkOf(t) != nil {
		return false
	}
	nodes, err := compile(t, CheckName, body)
	if err == nil {
		err = d.checkLimit(0, len(nodes))
	}
	if err != nil {
		d.groupFailed(t, param.DataMap(ErrorObject(err)))
		return true
	}
	d.addTasks(t, nodes, d.lastOf(t), false)
	return true
}

// CheckName is appended to a task's name to form the names of its `_check` tasks.
const CheckName = "^check"

// WrittenIn reports whether a group's child is one of its tasks as written, rather than one added after those tasks had
// ended or because they were late.
func (t *Task) WrittenIn(g *Task) bool { return t.Name[len(g.Name)] == '+' }

// groupFailed ends a task whose children failed without further retries, after its `_error` if it has one. own, unless
// nil, is an error of the task itself.
func (d *decision) groupFailed(t *Task, own *param.Map) {
	end, ignored := GroupError, false
	var out *Outcome
	if own != nil {
		out = t.withError(own)
	}
	if t.Level > 0 {
		if failure := param.Merge(d.failureOf(t), own); t.ignores(failure) {
			end, ignored, out = Success, true, t.ignored(failure)
		}
	}
	if d.handleFailure(t, own, ignored) || t.active > 0 { // tasks that `sla:` has added still run
		d.move(t, Planned, out, func(p *Progress) { p.Ending, p.Ignored = end, ignored })
		return
	}
	d.finish(t, end, out, func(p *Progress) { p.Ignored = ignored })
}

// failureOf merges the errors of all tasks below a task, except errors of the group's `_error` and errors that are
// ignored below it.
func (d *decision) failureOf(t *Task) *param.Map {
	failure := param.New()
	for _, c := range d.Below(t, nil) {
		if c.Outcome != nil && c.State.Error() && !strings.HasPrefix(c.Name, t.Name+"^error") && !d.apart(c) && !d.IgnoredBelow(c, t.ID) {
			failure = param.Merge(failure, c.Error)
		}
	}
	return failure
}

// tryAgain starts the next iteration of a task whose children failed, if `_retry` allows one. Like Digdag, it ignores
// an unreadable `_retry`.
func (d *decision) tryAgain(t *Task) bool {
	v, ok := t.Config.Get("_retry")
	if t.Export.Has("_retry") {
		v, ok = param.Merge(t.Export, t.Config).Get("_retry")
	}
	if !ok {
		return false
	}
	policy, err := ParseRetry(v, t.Level)
	if err != nil || !policy.Repeats(nil) { // a task below it failed, not a command of the task itself
		return false
	}
	if slices.ContainsFunc(d.failedBelow(t, nil, false), func(f failedTask) bool { return f.error.Has(SecretKey) }) {
		return false
	}
	next, wait, ok := policy.Next(t.Progress.Params, fmt.Sprintf("%d/%d", d.startAt.UnixNano(), t.ID))
	if !ok || t.Group && d.tooManyCopies(t) {
		return false
	}
	at := d.now.Add(wait)
	if t.Timeout != nil && !t.Timeout.TotalEnds.IsZero() && t.Timeout.TotalEnds.Before(at) {
		at = t.Timeout.TotalEnds
	}
	d.move(t, GroupRetryWaiting, nil, func(p *Progress) {
		p.Dispatch++
		p.RetryCount++
		p.Guard, p.Params, p.RetryAt = d.guard, next, at
	})
	if wait <= 0 {
		d.due(t)
	}
	return true
}

// tooManyCopies reports whether another iteration would exceed every limit of the attempt.
func (d *decision) tooManyCopies(t *Task) bool {
	return len(d.tasks)+len(d.roundOf(t)) > max(d.limit, HardLimit)
}

// FailureAlert is appended to the name of a workflow's root to name the task that notifies users of a failed attempt.
const FailureAlert = "^failure-alert"

// handleFailure adds `^failure-alert`, unless the failure is ignored, and `^error` below a group that failed; the final
// state waits for them. It returns false if there is nothing to add.
func (d *decision) handleFailure(t *Task, own *param.Map, ignored bool) bool {
	before := len(d.tasks)
	if t.Parent == 0 && !ignored {
		d.alert(t)
	}
	handler := withExport(t.setting("_error"), func(export *param.Map) *param.Map {
		return d.failureExport(export, t, own)
	})
	if nodes, err := compile(t, "^error", handler); err == nil && d.checkLimit(0, len(nodes)) == nil {
		d.addTasks(t, nodes, nil, false)
	}
	return len(d.tasks) > before
}

// alert adds `^failure-alert` below the root.
func (d *decision) alert(root *Task) {
	alert, err := compile(root, FailureAlert, param.New("_type", "notify", "_command", "Workflow session attempt failed"))
	if err == nil {
		d.addTasks(root, alert, nil, false)
	}
}

// failureExport adds to a handler's export what all tasks below the failed group stored, and one `error`: the group's
// own, merged over the tasks' errors that are not ignored.
func (d *decision) failureExport(export *param.Map, t *Task, own *param.Map) *param.Map {
	failure := param.New()
	for _, c := range d.Below(t, nil) {
		if c.Outcome != nil && !d.apart(c) && !d.IgnoredBelow(c, t.ID) {
			failure = param.Merge(failure, c.Error)
		}
	}
	c := d.layStoresBelow(export, t).Clone()
	c.Set("error", named(param.Merge(failure, own), d.failedBelow(t, own, false), d.failedBelow(t, nil, true)))
	return c
}

// layStoresBelow merges the stores of all tasks below t into m.
func (s *tree) layStoresBelow(m *param.Map, t *Task) *param.Map {
	for _, id := range t.children {
		m = s.storesInto(m, s.task(id))
	}
	return m
}

// due continues a task whose waiting time has passed.
func (d *decision) due(t *Task) {
	switch {
	case t.State == GroupRetryWaiting && t.totalOver(d.now):
		d.outOfTime(t)
	case d.pauses(t) && !t.atWork():
		d.hold(t, nil)
	case t.Group && t.State == GroupRetryWaiting && t.Pool != nil:
		d.acquire(t, t.Pool.Pool, nil)
	case t.Group && t.State == GroupRetryWaiting:
		d.apply(GroupRestarted{Group: t.ID, First: TaskID(len(d.tasks) + 1), At: d.now})
		d.move(t, Planned, nil, nil)
	case t.State == Running:
	case t.State == GroupRetryWaiting && d.noPlace(t):
		d.hold(t, nil)
	case t.needsSlots():
		d.acquire(t, t.Pool.Pool, nil)
	default: // its run was sent when it began to wait: it continues under the same dispatch, and the guard that woke it
		d.move(t, Running, nil, func(p *Progress) { p.Guard, p.RetryAt = d.guard, time.Time{} })
	}
}
