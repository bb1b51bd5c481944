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
	Grace time.Duration `json:"grace,omitempty"` // between the request to end and the force, for commands
}

// Timeout is how a task stands with its `_timeout`. It is replaced as a whole, never changed.
//
// Who runs an operator bounds the run, and a run that is taken over by its first one's deadline. A poll or a retry is
// never due later than a deadline. So it needs a timer of its own only where nothing runs: for the tasks below, and for
// the slots of a pool.
type Timeout struct {
	TimeoutClaim
	TotalEnds time.Time `json:"totalEnds,omitzero"` // zero: no bound
	TryEnds   time.Time `json:"tryEnds,omitzero"`   // zero: no bound, or between two tries
	// Fresh says that the try was sent and nobody is known to have begun with it: it has its whole time from then on.
	Fresh   bool        `json:"fresh,omitempty"`
	Timer   int         `json:"timer,omitempty"` // number of the last timer
	At      time.Time   `json:"at,omitzero"`     // of that timer; zero: it is not owed
	Guard   string      `json:"guard,omitempty"` // who owes it
	Expired TimeoutKind `json:"expired,omitempty"`
}

// TimeoutKind says which bound of `_timeout` is meant.
type TimeoutKind string

// The bounds.
const (
	ByTry   TimeoutKind = "try"
	ByTotal TimeoutKind = "total"
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
	waits := p.State == Running && p.Pool != nil && p.Pool.Waits || p.Held || below && of.Parent == 0 && d.Waits()
	switch {
	case waits, p.State == GroupRetryWaiting, p.State.Done():
		t.TryEnds, t.Fresh, t.Expired = time.Time{}, false, ""
	case p.Preparing || p.Cancel || t.Try == 0:
	case below && (of.State != Planned || t.TryEnds.IsZero()):
		t.TryEnds, t.Fresh = d.now.Add(t.Try), false
	case p.State == Running && t.TryEnds.IsZero():
		t.TryEnds, t.Fresh = d.now.Add(t.Try), true
	}
	at := time.Time{}
	if below || waits {
		at, _ = t.Deadline(d.now)
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

// heard is what is left of the bounds of a run that asks for another one.
func (t *Timeout) heard(e Later) *Timeout {
	if t == nil {
		return nil
	}
	next := *t
	next.Fresh = false
	switch {
	case e.Retry:
		next.TryEnds = time.Time{}
	case !e.Until.IsZero() && !next.TryEnds.IsZero():
		next.TryEnds = e.Until
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

// within is the time at which a task that waits until then is looked at: not later than its next deadline, unless that
// has passed, when all that is left is to clean up.
func (t *Timeout) within(at, now time.Time) time.Time {
	if end, _ := t.Deadline(now); end.After(now) && end.Before(at) {
		return end
	}
	return at
}

// totalOver says whether all the time that the task has is over.
func (t *Task) totalOver(now time.Time) bool {
	return t.Timeout != nil && !t.Timeout.TotalEnds.IsZero() && !t.Timeout.TotalEnds.After(now)
}

// timedOut ends what a task's timer was set for.
func (d *decision) timedOut(t *Task) {
	if t.Waits() || t.Held && !t.Group && t.failed == 0 {
		d.errored(t, t.Timeout.Error(ByTotal))
		return
	}
	if t.Held {
		d.groupFailed(t, t.Timeout.Error(ByTotal))
		return
	}
	over := *t.Timeout
	if _, over.Expired = over.Deadline(d.now); t.totalOver(d.now) {
		over.Expired = ByTotal
	}
	d.move(t, Planned, nil, func(p *Progress) { p.Timeout = &over })
	d.cancelBelow(t)
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
