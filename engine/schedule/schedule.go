// Package schedule turns a workflow's `schedule:` and `sla:` mappings into times: which session comes first, next and
// last, when it starts, and when a running attempt is late.
//
// engine/dig parses schedules to reject invalid ones at push; the host calls First and Next when it updates schedules
// and when one fires, Last and Next for a session's variables, and SLA.Due when an attempt starts. The package must
// never read a clock: every instant is an argument.
//
// The rules are language.md 1.10 and 1.12 and the recordings of Digdag in testdata; comments mark the odd ones.
package schedule

import (
	"time"
)

// Time is one firing: the session's time and the instant at which it starts.
type Time struct {
	Time    time.Time // session_time, in the schedule's time zone
	RunTime time.Time // when the session is started, Time plus the delay
}

// endSeconds is 9999-01-01T00:00:00Z, which REST clients interpret as "no more".
const endSeconds = 253370764800

// Ended returns the time of a schedule that has no further sessions: both fields of Time.
func Ended() time.Time { return time.Unix(endSeconds, 0).UTC() }

// IsEnded reports whether there are no more sessions.
func (t Time) IsEnded() bool { return t.Time.Unix() >= endSeconds }

// Schedule is a parsed `schedule:`. It is immutable and safe for concurrent use.
type Schedule struct {
	SkipOnOvertime bool          // skip while an attempt of the workflow is running
	SkipDelayedBy  time.Duration // skip sessions that are later than this after their run time
	HasSkipDelayed bool          // whether skip_delayed_by was given
	// CatchUp and SkipIfSuccessful are added by zerodag. The latter skips a session if a manual run has succeeded since
	// the previous session was due.
	CatchUp          CatchUp
	SkipIfSuccessful bool

	calendar   *Calendar // nil: every day is a business day
	zone       *time.Location
	times      walker        // of session times; unused when seconds is set
	exact      bool          // the previous session is the true one, not Digdag's
	seconds    int64         // seconds_interval: session times are its multiples
	delay      time.Duration // from session time to run time, elapsed time
	start, end time.Time     // limits of run times, the end excluded; zero = none
}

// walker finds session times.
type walker interface {
	// next returns the first session time after an instant, both in Unix seconds, and whether there is one.
	next(after int64, zone *time.Location) (int64, bool)
}

// First returns the first session whose run time is not before now.
func (s *Schedule) First(now time.Time) Time {
	if s.seconds > 0 {
		return s.Next(now.Add(-time.Nanosecond))
	}
	from := now.Truncate(time.Second)
	if from.Equal(now) {
		// Next excludes its argument, and a run time of exactly now counts.
		from = from.Add(-time.Second)
	}
	return s.Next(from.Add(-s.delay))
}

// Next returns the session after the session time last. Run times outside of start and end are skipped; after the end
// it is Ended.
func (s *Schedule) Next(last time.Time) Time {
	if s.seconds > 0 {
		return s.at(floor(last.Unix(), s.seconds) + s.seconds)
	}
	next, ok := s.match(last)
	if ok && !s.start.IsZero() && next.Add(s.delay).Before(s.start) {
		// The session at the start is not checked against the end: the recordings show this, and an end before the
		// start is refused anyway.
		next, ok = s.match(s.start.Add(-time.Second))
	} else if ok && !s.end.IsZero() && !next.Add(s.delay).Before(s.end) {
		ok = false
	}
	if !ok {
		return Time{Time: Ended().In(s.zone), RunTime: Ended()}
	}
	return s.at(next.Unix())
}

// Last returns the session before current, regardless of start and end.
//
// It is computed as in Digdag: from an instant two intervals back, stepping forward. If sessions are not evenly spaced,
// nothing may match in between, and Last returns that instant itself, which is not a session. This only affects the
// variable last_session_time. For `crontab>`, which Digdag does not have, Last returns the true previous session.
func (s *Schedule) Last(current time.Time) Time {
	switch {
	case s.exact:
		return s.before(current)
	case s.seconds > 0:
		return s.at(floor(current.Add(-time.Nanosecond).Unix(), s.seconds))
	}
	current = time.Unix(current.Unix(), int64(current.Nanosecond()))
	next, ok := s.match(current)
	after, ok2 := s.match(next)
	if !ok || !ok2 {
		return Time{Time: Ended().In(s.zone), RunTime: Ended()}
	}
	before := current.Add(-2 * after.Sub(next))
	for {
		n, ok := s.match(before)
		if !ok || !n.Before(current) {
			return s.timed(before)
		}
		before = n
	}
}

func (s *Schedule) at(unix int64) Time { return s.timed(time.Unix(unix, 0)) }

func (s *Schedule) timed(t time.Time) Time {
	return Time{Time: t.In(s.zone), RunTime: t.Add(s.delay).In(s.zone)}
}

// RunTime returns the run time of the session with the given session time, according to the file.
func (s *Schedule) RunTime(session time.Time) time.Time { return s.timed(session).RunTime }

// match returns the first session time after t, without start, end and delay.
func (s *Schedule) match(t time.Time) (time.Time, bool) {
	unix, ok := s.times.next(t.Unix(), s.zone)
	return time.Unix(unix, 0), ok && unix < endSeconds
}

// floor rounds n down to a multiple of step.
func floor(n, step int64) int64 {
	if r := n % step; r != 0 {
		if r < 0 {
			r += step
		}
		return n - r
	}
	return n
}
