package claim

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Limits is what `_timeout` of a task came to. Zero is no bound.
type Limits struct {
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
	Limits
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
func (c Limits) Error(kind TimeoutKind) *param.Map {
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

// BeginTry has a try begin now, or when whoever it is sent to begins with it.
func (t *Timeout) BeginTry(now time.Time, fresh bool) {
	t.NoTry()
	if t.Fresh = fresh; t.Try > 0 {
		t.TryEnds = now.Add(t.Try)
	}
	if t.Warn > 0 {
		t.WarnAt = now.Add(t.Warn)
	}
}

// NoTry has no try run.
func (t *Timeout) NoTry() {
	t.TryEnds, t.WarnAt, t.Fresh, t.Warned = time.Time{}, time.Time{}, false, false
}

// TryBegan reports whether the clock of a try runs.
func (t *Timeout) TryBegan() bool { return !t.TryEnds.IsZero() || !t.WarnAt.IsZero() }

// Warns says whether people are yet to be told when the try is slow.
func (t *Timeout) Warns() bool { return !t.WarnAt.IsZero() && !t.Warned }

// SlowAt is when people are to be told that a run is slow which begins now; zero: never, or they were told.
func (t *Timeout) SlowAt(now time.Time) time.Time {
	switch {
	case t == nil || !t.Warns():
		return time.Time{}
	case t.Fresh:
		return now.Add(t.Warn)
	}
	return t.WarnAt
}

// Slow is what people are told of a task that takes longer than it should.
func (c Limits) Slow(task string) string {
	return fmt.Sprintf("Task %s is slow: it takes longer than %s", task, written(c.Warn))
}

// Begun says that somebody may have begun with the try: who takes it over has what is left of its time.
func (t *Timeout) Begun() *Timeout {
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

// Within is the time at which a task that waits until then is looked at: not later than its next deadline, and soon where
// that has passed.
func (t *Timeout) Within(at, now time.Time) time.Time {
	end, _ := t.Deadline(now)
	if !end.IsZero() && !end.After(now) {
		end = now.Add(overdue)
	}
	if !end.IsZero() && end.Before(at) {
		at = end
	}
	if t.Warns() && t.WarnAt.After(now) && t.WarnAt.Before(at) {
		at = t.WarnAt
	}
	return at
}

// OnlySlow says that the timer was set to tell people, and no bound has been reached since.
func (t *Timeout) OnlySlow(now time.Time) bool {
	end, _ := t.Deadline(now)
	return t.Warns() && t.At.Equal(t.WarnAt) && (end.IsZero() || end.After(now))
}
