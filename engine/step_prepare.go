package engine

import (
	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// toPrepare says that keys of the task must be evaluated before it may start.
func (t *Task) toPrepare() bool { return !t.Cancel && t.hasGateKeys() }

func (t *Task) hasGateKeys() bool {
	return t.Level > 0 && (keys.Prepares(t.Config) || t.takesParams())
}

// takesParams says whether a task is a file that another one calls, and says which parameters it takes. Those of the attempt's
// own file were looked at before it started.
func (t *Task) takesParams() bool { return t.Group && t.Parent != 0 && t.Config.Has("params") }

// Runs is how often the task was sent to be run so far: first, again, to poll, and after a loss. To have its keys evaluated, to
// ask for slots and to wait for a place are no runs of it.
func (t *Task) Runs() int { return t.Dispatch - t.Idle }

// idles says whether the number that a task has is of no run: it finds out what its keys come to, or waits for slots, a place or the end of a
// pause.
func (p *Progress) idles() bool {
	return p.rule().idle
}

// idle is how many of the numbers of a task are of no run, now that its progress is to be next. That under which its next try was sent
// already is of none any more where the try has to wait.
func (t *Task) idle(next *Progress) int {
	if next.Dispatch == t.Dispatch || !next.idles() {
		return t.Idle
	}
	return t.Idle + 1 + asInt(t.Dispatch > 0 && !t.Group && !t.idles())
}

// prepare sends a task to have its gate keys evaluated. That is a run as any other: who has it owes it, and it is
// taken over when that one is lost. It is none that people count, so the task has not started.
func (d *decision) prepare(t *Task) {
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Preparing = d.guard, true
	})
}

// undecided says whether a group around a task may still be left out, or waits for slots. Only what is below a group that was
// taken over could start before that is known.
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

// prepared starts a task whose gate keys are known, or leaves it out.
func (d *decision) prepared(t *Task, e Prepared) {
	switch {
	case t.Cancel:
		d.finish(t, Canceled, nil, nil)
	case t.Ends && t.active > 0: // `sla:` has made tasks meanwhile
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

// needs has a task that is prepared ask for slots, or do so later: after a pause, and the root once the attempt has its turn, so that no
// attempt has slots of pools while it waits for another one.
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
			p.Pool = &claim.Use{Pool: *e.Pool} // for which it has not asked yet
		})
	default:
		d.acquire(t, *e.Pool, bounded)
	}
}

// bounded gives a task that starts the time that it may take.
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

// succeed ends a group below which all has succeeded, after its `_check`. The root of a file with `outputs` has them evaluated
// first, in a run as that which prepares a task.
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

// failsFast says whether the first error among the children of a task ends the others. That of a loop is said at its task,
// whose rounds are below another one that the loop made.
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

// EndsTasks says whether any task of the attempt may end others that run.
func (s *State) EndsTasks() bool {
	for _, t := range s.tasks {
		if t != nil && t.Level > 0 && (t.Config.Has("_fail_fast") || t.Config.Has("_timeout")) {
			return true
		}
	}
	return false
}

// skip leaves out a task and all below it, also what is not made yet.
func (d *decision) skip(t *Task, why string) {
	for _, g := range append([]growth(nil), d.growing...) {
		if g.First == t.ID {
			d.stopGrowing(g)
		}
	}
	d.apply(Skipped{Task: t.ID, Why: why, At: d.now})
	d.look = append(d.look, t.ID)
}
