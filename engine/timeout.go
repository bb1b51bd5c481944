package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
)

// timed returns the `_timeout` state of a task once its progress is p. It begins tries and iterations and sets the
// timer. The first iteration of the root begins when the attempt has its turn.
func (d *decision) timed(p *Progress, of *Task) *claim.Timeout {
	if p.Timeout == nil {
		return nil
	}
	t := *p.Timeout
	below := p.State == Planned && p.Ending == Blocked && t.Expired == ""
	waits := p.rule().stops || below && of.Parent == 0 && d.Waits()
	d.beginTime(&t, p, of, below, waits)
	if at := d.nextTimer(&t, p.Pool, below, waits); !at.Equal(t.At) {
		t.At, t.Guard = at, ""
		if !at.IsZero() {
			t.Timer++
			t.Guard = d.guard
		}
	}
	if t == *p.Timeout {
		return p.Timeout
	}
	return &t
}

// beginTime begins and ends tries. below means that tasks below this one run, waits that it waits for its next try or
// its turn.
func (d *decision) beginTime(t *claim.Timeout, p *Progress, of *Task, below, waits bool) {
	switch {
	case waits, p.State == GroupRetryWaiting, p.State.Done():
		t.NoTry()
		t.Expired = ""
	case p.Preparing || p.Cancel || t.Try == 0 && t.Warn == 0:
	case below && (of.State != Planned || !t.TryBegan()):
		t.BeginTry(d.now, false)
	case p.State == Running && !t.TryBegan():
		t.BeginTry(d.now, true)
	}
}

// nextTimer returns when the next time limit of a task is due: an end, including that of its wait for slots, or a
// warning; zero for none.
func (d *decision) nextTimer(t *claim.Timeout, pool *claim.Use, below, waits bool) (at time.Time) {
	if below || waits {
		at, _ = t.Deadline(d.now)
	}
	if end := pool.WaitEnds(); !end.IsZero() && (at.IsZero() || end.Before(at)) {
		at = end
	}
	if below && t.Warns() && (at.IsZero() || t.WarnAt.Before(at)) {
		at = t.WarnAt
	}
	return at
}

// heard returns the remaining limits of a run that asks to be called again.
func heard(t *claim.Timeout, e Later) *claim.Timeout {
	if t == nil {
		return nil
	}
	next := *t
	next.Fresh = false
	switch {
	case e.Retry:
		next.NoTry()
	case !e.Until.IsZero() && !next.TryEnds.IsZero():
		next.TryEnds = e.Until
	}
	if !e.Retry && next.Warns() {
		next.Warned = e.Warned
		if !e.SlowAt.IsZero() {
			next.WarnAt = e.SlowAt
		}
	}
	return &next
}

// totalOver reports whether the task's total time has run out.
func (t *Task) totalOver(now time.Time) bool {
	return t.Timeout != nil && !t.Timeout.TotalEnds.IsZero() && !t.Timeout.TotalEnds.After(now)
}

// outOfTime ends a waiting group when its total time has run out.
func (d *decision) outOfTime(t *Task) {
	if t.notBegun() {
		d.neverBegins(t, t.Timeout.Error(claim.ByTotal))
		return
	}
	d.groupFailed(t, t.Timeout.Error(claim.ByTotal))
}

// timedOut ends a task, or its try, when its timer has expired, or records that users were warned that it is slow.
func (d *decision) timedOut(t *Task) {
	if t.Waits() && !t.Timeout.At.Equal(t.Timeout.TotalEnds) {
		d.errored(t, t.Pool.Asked().Waited())
		return
	}
	if t.Waits() || t.Held && !t.Group && t.failed == 0 {
		d.errored(t, t.Timeout.Error(claim.ByTotal))
		return
	}
	if t.Held {
		d.outOfTime(t)
		return
	}
	if t.State == Planned && t.Timeout.OnlySlow(d.now) {
		slow := *t.Timeout
		slow.Warned = true
		d.move(t, Planned, nil, func(p *Progress) { p.Timeout = &slow })
		return
	}
	over := *t.Timeout
	if _, over.Expired = over.Deadline(d.now); t.totalOver(d.now) {
		over.Expired = claim.ByTotal
	}
	d.move(t, Planned, nil, func(p *Progress) { p.Timeout = &over })
	d.cancelBelow(t)
}

// Slow returns the task that an expired timer has found to be slow, and the warning for users; "" for none.
func (s *tree) Slow(x Expiry) (task, message string) {
	t := s.Task(x.Task)
	if t == nil || t.Timeout == nil || !t.Timeout.Warned || t.Timeout.Expired != "" || t.State != Planned {
		return "", ""
	}
	if next := t.Timeout.Timer == x.Timer+1; next || t.Timeout.Timer == x.Timer && t.Timeout.At.IsZero() {
		return t.Name, t.Timeout.Slow(t.Name)
	}
	return "", ""
}

// roundTimedOut ends a task that timed out, once nothing below it is still running.
func (d *decision) roundTimedOut(t *Task) {
	kind := t.Timeout.Expired
	if kind == claim.ByTry && d.tryAgain(t) {
		return
	}
	d.groupFailed(t, t.Timeout.Error(kind))
}

// noTimeout returns why a `_timeout` timer no longer has a meaning, or "" if it still has one.
func (s *tree) noTimeout(x Expiry) Refusal {
	t := s.Task(x.Task)
	switch {
	case t == nil:
		return NoTask
	case !t.timerOwed() || t.Timeout.Timer != x.Timer:
		return Stale
	}
	return ""
}

// timerOwed reports whether the `_timeout` timer is still outstanding.
func (t *Task) timerOwed() bool {
	return t.Timeout != nil && !t.Timeout.At.IsZero() && !t.Cancel && !t.State.Done()
}

// noteTimer maintains the index of guards and the `_timeout` timers that they owe.
func (s *State) noteTimer(t *Task) {
	if !t.timerOwed() {
		return
	}
	if s.timers == nil {
		s.timers = map[string][]TaskID{}
	}
	s.timers[t.Timeout.Guard] = append(s.timers[t.Timeout.Guard], t.ID)
}

// dropTimer removes a timer from the index, before the task changes.
func (s *State) dropTimer(t *Task) {
	if t.Timeout == nil || t.Timeout.At.IsZero() {
		return
	}
	guard := t.Timeout.Guard
	var rest []TaskID
	for _, id := range s.timers[guard] {
		if id != t.ID {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		delete(s.timers, guard)
		return
	}
	s.timers[guard] = rest
}

// timersOf lists the `_timeout` timers that a guard owes.
func (s *State) timersOf(guard string) []Effect {
	var list []Effect
	for _, id := range slices.Sorted(slices.Values(s.timers[guard])) {
		if t := s.task(id); t.timerOwed() {
			list = append(list, TimeoutTimer{t.expiry(), t.Timeout.At})
		}
	}
	return list
}

func (t *Task) expiry() Expiry { return Expiry{Task: t.ID, Timer: t.Timeout.Timer} }
