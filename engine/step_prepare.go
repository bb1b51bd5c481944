package engine

import (
	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// toPrepare reports whether keys of the task must be evaluated before it may start.
func (t *Task) toPrepare() bool { return !t.Cancel && t.hasGateKeys() }

func (t *Task) hasGateKeys() bool {
	return t.Level > 0 && (keys.Prepares(t.Config) || t.takesParams())
}

// takesParams reports whether a task is a called file that declares parameters. Those of the attempt's own file were
// checked before it started.
func (t *Task) takesParams() bool { return t.Group && t.Parent != 0 && t.Config.Has("params") }

// Runs returns how many times the task has been sent to be run so far: the first run, retries, polls, and runs after
// losses. Evaluating its keys, requesting slots and waiting for a place are not runs.
func (t *Task) Runs() int { return t.Dispatch - t.Idle }

// idles reports whether the current dispatch number belongs to no run: the task evaluates its keys, or waits for slots,
// a place or the end of a pause.
func (p *Progress) idles() bool {
	return p.rule().idle
}

// idle returns how many dispatch numbers of a task belong to no run, if next becomes its progress. The number under
// which its next run was already sent also belongs to none if that run has to wait.
func (t *Task) idle(next *Progress) int {
	if next.Dispatch == t.Dispatch || !next.idles() {
		return t.Idle
	}
	return t.Idle + 1 + asInt(t.Dispatch > 0 && !t.Group && !t.idles())
}

// prepare sends a task to have its `zerodag: 1` keys evaluated. That is a run like any other: its guard owes it, and it
// is taken over if its holder is lost. It is not shown to users as a run, so the task has not started.
func (d *decision) prepare(t *Task) {
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Preparing = d.guard, true
	})
}

// undecided reports whether a group around a task may still be skipped, or waits for slots. Only tasks below a group
// that was carried over could start before that is known.
func (s *State) undecided(t *Task) bool {
	if len(s.carried) == 0 {
		return false
	}
	for p := s.Task(t.Parent); p != nil; p = s.Task(p.Parent) {
		if p.Group && (p.Preparing && !p.Ends || p.State == Blocked && p.toPrepare() || p.rule().stops) {
			return true
		}
	}
	return false
}

// prepared starts a task whose `zerodag: 1` keys are evaluated, or skips it.
func (d *decision) prepared(t *Task, e Prepared) {
	switch {
	case t.Cancel:
		d.finish(t, Canceled, nil, nil)
	case t.Ends && t.active > 0: // `sla:` has added tasks in the meantime
		d.move(t, Planned, nil, nil)
	case t.Ends:
		out := &Outcome{}
		if t.Outcome != nil {
			*out = *t.Outcome
		}
		out.Outputs = e.Outputs
		d.finish(t, Success, out, nil)
	case e.Skip != "":
		d.skip(t, e.Skip)
	case e.Pool != nil:
		d.needs(t, e)
	case t.Group && e.Exports != nil:
		d.move(t, Planned, &Outcome{Exports: e.Exports}, d.bounded(e))
		d.lookAtResumed(t.ID)
	case t.Group:
		d.move(t, Planned, nil, d.bounded(e))
		d.lookAtResumed(t.ID)
	case d.pauses(t):
		d.hold(t, d.bounded(e))
	default:
		d.dispatch(t, d.bounded(e))
	}
}

// needs makes a prepared task request slots, or do so later: after a pause, and for the root once the attempt has its
// turn, so that no attempt holds pool slots while it waits for another attempt.
func (d *decision) needs(t *Task, e Prepared) {
	if e.Pool = d.besides(t, *e.Pool); e.Pool == nil {
		d.prepared(t, e)
		return
	}
	bounded := d.bounded(e)
	if e.Exports != nil {
		d.apply(TaskChanged{Task: t.ID, Progress: t.Progress, Outcome: &Outcome{Exports: e.Exports}})
	}
	switch why := d.cannotNeed(t, *e.Pool); {
	case why != "":
		d.neverBegins(t, param.DataMap(ErrorObject(param.Errorf("%s", why))))
	case d.pauses(t), t.Parent == 0 && d.Waits():
		d.hold(t, func(p *Progress) {
			if bounded != nil {
				bounded(p)
			}
			p.Pool = &claim.Use{Pool: *e.Pool} // not requested yet
		})
	default:
		d.acquire(t, *e.Pool, bounded)
	}
}

// bounded gives a starting task its time limits.
func (d *decision) bounded(e Prepared) func(*Progress) {
	if e.Timeout == nil && !e.Pool.Bounded() {
		return nil
	}
	var t claim.Timeout
	if e.Timeout != nil {
		t.Limits = *e.Timeout
	}
	if t.Total > 0 {
		t.TotalEnds = d.now.Add(t.Total)
	}
	return func(p *Progress) { p.Timeout = &t }
}

// succeed ends a group below which everything has succeeded, after its `_check`. If the root's file has `outputs`, they
// are evaluated first, in a run like the one that prepares a task.
func (d *decision) succeed(t *Task) {
	if d.check(t) {
		return
	}
	if t.Parent != 0 || t.Level == 0 || !t.Config.Has(keys.OutputsKey) {
		d.finish(t, Success, nil, nil)
		return
	}
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Preparing, p.Ends = d.guard, true, true
	})
}

// failsFast reports whether the first error among a task's children ends the others. A loop has this key at its own
// task, but its iterations are below a second task that the loop created.
func (s *State) failsFast(t *Task) bool {
	if t.Level == 0 {
		return false
	}
	on := func(t *Task) bool {
		v, _ := t.Config.Get("_fail_fast")
		fast, err := param.AsBool("_fail_fast", v)
		return err == nil && v != nil && fast
	}
	return on(t) || t.Parent != 0 && t.Name == s.task(t.Parent).Name+"^sub" && on(s.task(t.Parent))
}

// EndsTasks reports whether any task of the attempt may end other tasks that run.
func (s *State) EndsTasks() bool {
	for _, t := range s.tasks {
		if t != nil && t.Level > 0 && (t.Config.Has("_fail_fast") || t.Config.Has("_timeout")) {
			return true
		}
	}
	return false
}

// skip skips a task and everything below it, including tasks that have not been created yet.
func (d *decision) skip(t *Task, why string) {
	for _, g := range append([]growth(nil), d.growing...) {
		if g.First == t.ID {
			d.stopGrowing(g)
		}
	}
	d.apply(Skipped{Task: t.ID, Why: why, At: d.now})
	d.look = append(d.look, t.ID)
}
