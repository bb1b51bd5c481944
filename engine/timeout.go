package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
)

// TimeoutClaim is what `_timeout` of a task came to. Zero is no bound.
type TimeoutClaim struct {
	Try   time.Duration `json:"try,omitempty"`
	Total time.Duration `json:"total,omitempty"`
	Warn  time.Duration `json:"warn,omitempty"`
	Grace time.Duration `json:"grace,omitempty"` // between the request to end and the force, for commands
}

// Timeout is how a task stands with its `_timeout`, and with the `wait` of its `_pool`. It is replaced as a whole, never changed.
//
// Who runs an operator bounds the run, and a run that is taken over by its first one's deadline. A poll or a retry is
// never due later than a deadline. So it needs a timer of its own only where nothing runs: for the tasks below, and for
// the slots of a pool.
type Timeout struct {
	TimeoutClaim
	TotalEnds time.Time `json:"totalEnds,omitzero"` // zero: no bound
	TryEnds   time.Time `json:"tryEnds,omitzero"`   // zero: no bound, or between two tries
	// WarnAt is when people are told that the try is slow, and Warned that they were; zero as TryEnds.
	WarnAt time.Time `json:"warnAt,omitzero"`
	Warned bool      `json:"warned,omitempty"`
	// Fresh says that the try was sent and nobody is known to have begun with it: it has its whole time from then on.
	Fresh   bool        `json:"fresh,omitempty"`
	Timer   int         `json:"timer,omitempty"` // number of the last timer
	At      time.Time   `json:"at,omitzero"`     // of that timer; zero: it is not owed
	Guard   string      `json:"guard,omitempty"` // who owes it
	Expired TimeoutKind `json:"expired,omitempty"`
}

// TimeoutKind says which bound is meant.
type TimeoutKind string

// The bounds.
const (
	ByTry   TimeoutKind = "try"
	ByTotal TimeoutKind = "total"
	ByWait  TimeoutKind = "wait" // of `_pool`
)

// Deadline is when a run must be over that begins now, and by which bound; zero: never.
func (t *Timeout) Deadline(now time.Time) (time.Time, TimeoutKind) {
	if t == nil {
		return time.Time{}, ""
	}
	end := t.TryEnds
	if t.Fresh && !end.IsZero() {
		end = now.Add(t.Try)
	}
	if end.IsZero() || !t.TotalEnds.IsZero() && !t.TotalEnds.After(end) {
		return t.TotalEnds, ByTotal
	}
	return end, ByTry
}

// Error is what is said of a task whose time is over.
func (c TimeoutClaim) Error(kind TimeoutKind) *param.Map {
	limit := c.Try
	if kind == ByTotal {
		limit = c.Total
	}
	return param.New("message", "timed out after "+written(limit), "timeout", string(kind))
}

// written is a duration as the language writes it.
func written(d time.Duration) string {
	var b strings.Builder
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.length; n > 0 {
			fmt.Fprintf(&b, " %d%s", n, u.name)
			d -= n * u.length
		}
	}
	return strings.TrimSpace(b.String())
}

// timed is how a task stands with its `_timeout` once its progress is p. It begins tries and rounds and sets the timer. The
// first round of the root begins when the attempt has its turn.
func (d *decision) timed(p *Progress, of *Task) *Timeout {
	if p.Timeout == nil {
		return nil
	}
	t := *p.Timeout
	below := p.State == Planned && p.Ending == Blocked && t.Expired == ""
	waits := p.rule().stops || below && of.Parent == 0 && d.Waits()
	switch {
	case waits, p.State == GroupRetryWaiting, p.State.Done():
		t.noTry()
		t.Expired = ""
	case p.Preparing || p.Cancel || t.Try == 0 && t.Warn == 0:
	case below && (of.State != Planned || !t.tryBegan()):
		t.beginTry(d.now, false)
	case p.State == Running && !t.tryBegan():
		t.beginTry(d.now, true)
	}
	at := time.Time{}
	if below || waits {
		at, _ = t.Deadline(d.now)
	}
	if end := p.Pool.waitEnds(); !end.IsZero() && (at.IsZero() || end.Before(at)) {
		at = end
	}
	if below && t.warns() && (at.IsZero() || t.WarnAt.Before(at)) {
		at = t.WarnAt
	}
	if !at.Equal(t.At) {
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

// beginTry has a try begin now, or when whoever it is sent to begins with it.
func (t *Timeout) beginTry(now time.Time, fresh bool) {
	t.noTry()
	if t.Fresh = fresh; t.Try > 0 {
		t.TryEnds = now.Add(t.Try)
	}
	if t.Warn > 0 {
		t.WarnAt = now.Add(t.Warn)
	}
}

func (t *Timeout) noTry() {
	t.TryEnds, t.WarnAt, t.Fresh, t.Warned = time.Time{}, time.Time{}, false, false
}

func (t *Timeout) tryBegan() bool { return !t.TryEnds.IsZero() || !t.WarnAt.IsZero() }

// warns says whether people are yet to be told when the try is slow.
func (t *Timeout) warns() bool { return !t.WarnAt.IsZero() && !t.Warned }

// SlowAt is when people are to be told that a run is slow which begins now; zero: never, or they were told.
func (t *Timeout) SlowAt(now time.Time) time.Time {
	switch {
	case t == nil || !t.warns():
		return time.Time{}
	case t.Fresh:
		return now.Add(t.Warn)
	}
	return t.WarnAt
}

// Slow is what people are told of a task that takes longer than it should.
func (c TimeoutClaim) Slow(task string) string {
	return fmt.Sprintf("Task %s is slow: it takes longer than %s", task, written(c.Warn))
}

// heard is what is left of the bounds of a run that asks for another one.
func (t *Timeout) heard(e Later) *Timeout {
	if t == nil {
		return nil
	}
	next := *t
	next.Fresh = false
	switch {
	case e.Retry:
		next.noTry()
	case !e.Until.IsZero() && !next.TryEnds.IsZero():
		next.TryEnds = e.Until
	}
	if !e.Retry && next.warns() {
		next.Warned = e.Warned
		if !e.SlowAt.IsZero() {
			next.WarnAt = e.SlowAt
		}
	}
	return &next
}

// begun says that somebody may have begun with the try: who takes it over has what is left of its time.
func (t *Timeout) begun() *Timeout {
	if t == nil || !t.Fresh {
		return t
	}
	next := *t
	next.Fresh = false
	return &next
}

// overdue is how soon a task is looked at again whose deadline has passed when its run asks for another one: the run may
// have ended just before it, and knows nothing of it, or has begun to clean up.
const overdue = 5 * time.Second

// within is the time at which a task that waits until then is looked at: not later than its next deadline, and soon where
// that has passed.
func (t *Timeout) within(at, now time.Time) time.Time {
	end, _ := t.Deadline(now)
	if !end.IsZero() && !end.After(now) {
		end = now.Add(overdue)
	}
	if !end.IsZero() && end.Before(at) {
		at = end
	}
	if t.warns() && t.WarnAt.After(now) && t.WarnAt.Before(at) {
		at = t.WarnAt
	}
	return at
}

// totalOver says whether all the time that the task has is over.
func (t *Task) totalOver(now time.Time) bool {
	return t.Timeout != nil && !t.Timeout.TotalEnds.IsZero() && !t.Timeout.TotalEnds.After(now)
}

// timedOut ends what a task's timer was set for.
func (d *decision) timedOut(t *Task) {
	if t.Waits() && !t.Timeout.At.Equal(t.Timeout.TotalEnds) {
		d.errored(t, t.Pool.Asked().waited())
		return
	}
	if t.Waits() || t.Held && !t.Group && t.failed == 0 {
		d.errored(t, t.Timeout.Error(ByTotal))
		return
	}
	if t.Held && t.notBegun() {
		d.neverBegins(t, t.Timeout.Error(ByTotal))
		return
	}
	if t.Held {
		d.groupFailed(t, t.Timeout.Error(ByTotal))
		return
	}
	if t.State == Planned && t.Timeout.onlySlow(d.now) {
		slow := *t.Timeout
		slow.Warned = true
		d.move(t, Planned, nil, func(p *Progress) { p.Timeout = &slow })
		return
	}
	over := *t.Timeout
	if _, over.Expired = over.Deadline(d.now); t.totalOver(d.now) {
		over.Expired = ByTotal
	}
	d.move(t, Planned, nil, func(p *Progress) { p.Timeout = &over })
	d.cancelBelow(t)
}

// onlySlow says that the timer was set to tell people, and no bound has been reached since.
func (t *Timeout) onlySlow(now time.Time) bool {
	end, _ := t.Deadline(now)
	return t.warns() && t.At.Equal(t.WarnAt) && (end.IsZero() || end.After(now))
}

// Slow is the task of which a timer, whose time has come, has found that it is slow, and what people are told; "" for none.
func (s *State) Slow(x Expiry) (task, message string) {
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
	if kind == ByTry && d.tryAgain(t) {
		return
	}
	d.groupFailed(t, t.Timeout.Error(kind))
}

// noTimeout says why a timer of `_timeout` means nothing any more.
func (s *State) noTimeout(x Expiry) Refusal {
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
