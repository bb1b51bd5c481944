package claim

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Limits is the evaluated `_timeout` of a task. Zero means no limit.
type Limits struct {
	Try   time.Duration `json:"try,omitempty"`
	Total time.Duration `json:"total,omitempty"`
	Warn  time.Duration `json:"warn,omitempty"`
	Grace time.Duration `json:"grace,omitempty"` // between the request to end and the kill, for commands
}

// Timeout is the state of a task's `_timeout` and of `wait` in its `_pool`. It is replaced as a whole, never changed.
//
// The host that runs an operator limits the run; a run that is taken over keeps its first deadline. A poll or a retry
// is never due later than a deadline. A separate timer is therefore needed only while nothing runs, because the task
// waits for the tasks below it or for a pool's slots.
type Timeout struct {
	Limits
	TotalEnds time.Time `json:"totalEnds,omitzero"` // zero: no limit
	TryEnds   time.Time `json:"tryEnds,omitzero"`   // zero: no limit, or between two tries
	// WarnAt is when users are warned that the try is slow, and Warned reports that they have been; both are zero under
	// the same conditions as TryEnds.
	WarnAt time.Time `json:"warnAt,omitzero"`
	Warned bool      `json:"warned,omitempty"`
	// Fresh reports that the try was sent and is not known to have begun: its time starts when it does.
	Fresh   bool        `json:"fresh,omitempty"`
	Timer   int         `json:"timer,omitempty"` // number of the last timer
	At      time.Time   `json:"at,omitzero"`     // when that timer is due; zero if it is not owed
	Guard   string      `json:"guard,omitempty"` // the message that owes it
	Expired TimeoutKind `json:"expired,omitempty"`
}

// TimeoutKind names a limit.
type TimeoutKind string

// The limits.
const (
	ByTry   TimeoutKind = "try"
	ByTotal TimeoutKind = "total"
	ByWait  TimeoutKind = "wait" // of `_pool`
)

// Deadline returns when a run that begins now must have ended, and which limit requires that; zero means never.
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

// Error returns the error for a task that timed out.
func (c Limits) Error(kind TimeoutKind) *param.Map {
	limit := c.Try
	if kind == ByTotal {
		limit = c.Total
	}
	return param.New("message", "timed out after "+written(limit), "timeout", string(kind))
}

// written formats a duration the way the language writes it.
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

// BeginTry begins a try now or, if it is fresh, when its receiver starts it.
func (t *Timeout) BeginTry(now time.Time, fresh bool) {
	t.NoTry()
	if t.Fresh = fresh; t.Try > 0 {
		t.TryEnds = now.Add(t.Try)
	}
	if t.Warn > 0 {
		t.WarnAt = now.Add(t.Warn)
	}
}

// NoTry ends the current try.
func (t *Timeout) NoTry() {
	t.TryEnds, t.WarnAt, t.Fresh, t.Warned = time.Time{}, time.Time{}, false, false
}

// TryBegan reports whether a try's clock is running.
func (t *Timeout) TryBegan() bool { return !t.TryEnds.IsZero() || !t.WarnAt.IsZero() }

// Warns reports whether a warning about a slow try is still pending.
func (t *Timeout) Warns() bool { return !t.WarnAt.IsZero() && !t.Warned }

// SlowAt returns when to warn that a run that begins now is slow; zero if never, or if the warning was already sent.
func (t *Timeout) SlowAt(now time.Time) time.Time {
	switch {
	case t == nil || !t.Warns():
		return time.Time{}
	case t.Fresh:
		return now.Add(t.Warn)
	}
	return t.WarnAt
}

// Slow returns the warning about a task that takes longer than it should.
func (c Limits) Slow(task string) string {
	return fmt.Sprintf("Task %s is slow: it has run longer than %s", task, written(c.Warn))
}

// Begun returns the timeout of a try that may have begun: a host that takes the try over has only the rest of the try's
// time.
func (t *Timeout) Begun() *Timeout {
	if t == nil || !t.Fresh {
		return t
	}
	next := *t
	next.Fresh = false
	return &next
}

// overdue is how soon a task is checked again if its deadline has passed by the time its run asks to be called again:
// the run may have ended just before the deadline, unaware of it, or may have begun to clean up.
const overdue = 5 * time.Second

// Within returns when to check a task that waits until `at`: no later than its next deadline, and soon if that has
// passed.
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

// OnlySlow reports whether the timer was set for a warning and no limit has been reached since.
func (t *Timeout) OnlySlow(now time.Time) bool {
	end, _ := t.Deadline(now)
	return t.Warns() && t.At.Equal(t.WarnAt) && (end.IsZero() || end.After(t.At) && end.After(now))
}
