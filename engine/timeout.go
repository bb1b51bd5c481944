package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
)

// timed is how a task stands with its `_timeout` once its progress is p. It begins tries and rounds and sets the timer. The
// first round of the root begins when the attempt has its turn.
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

// beginTime begins and ends tries: below says that tasks below one run, waits that it waits for another try or for its turn.
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

// nextTimer is when something of a task's time comes next: an end, also that of its wait for slots, or a warning; zero for nothing.
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

// heard is what is left of the bounds of a run that asks for another one.
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

// totalOver says whether all the time that the task has is over.
func (t *Task) totalOver(now time.Time) bool {
	return t.Timeout != nil && !t.Timeout.TotalEnds.IsZero() && !t.Timeout.TotalEnds.After(now)
}

// outOfTime ends a group that waits when all its time is over.
func (d *decision) outOfTime(t *Task) {
	if t.notBegun() {
		d.neverBegins(t, t.Timeout.Error(claim.ByTotal))
		return
	}
	d.groupFailed(t, t.Timeout.Error(claim.ByTotal))
}

// timedOut ends what a task's timer was set for.
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

// Slow is the task of which a timer, whose time has come, has found that it is slow, and what people are told; "" for none.
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

// roundTimedOut ends a task below which nothing is left, because its time was over.
func (d *decision) roundTimedOut(t *Task) {
	kind := t.Timeout.Expired
	if kind == claim.ByTry && d.tryAgain(t) {
		return
	}
	d.groupFailed(t, t.Timeout.Error(kind))
}

// noTimeout says why a timer of `_timeout` means nothing any more.
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

// timerOwed says whether the timer of `_timeout` is still outstanding.
func (t *Task) timerOwed() bool {
	return t.Timeout != nil && !t.Timeout.At.IsZero() && !t.Cancel && !t.State.Done()
}

// noteTimer keeps the index of who owes which timers of `_timeout`.
func (s *State) noteTimer(t *Task) {
	if !t.timerOwed() {
		return
	}
	if s.timers == nil {
		s.timers = map[string][]TaskID{}
	}
	s.timers[t.Timeout.Guard] = append(s.timers[t.Timeout.Guard], t.ID)
}

// dropTimer takes a timer off the index, before the task changes.
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

// timersOf lists the timers of `_timeout` that a guard owes.
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
