package schedule

import (
	"slices"
	"time"

	"zerodag/engine/param"
)

// AddedKeys returns the keys that zerodag adds to all kinds of schedules, for files with `zerodag: 1`.
func AddedKeys() []string {
	return []string{"catch_up", "skip_if_successful", "calendar", "on_holiday"}
}

// CatchUp selects which missed sessions run. A session was missed if its time passed while the server was down or the
// schedule was disabled.
type CatchUp string

// Values of catch_up.
const (
	CatchUpAll    CatchUp = "all"    // all of them, as in Digdag
	CatchUpLatest CatchUp = "latest" // only the last one
	CatchUpNone   CatchUp = "none"   // none, except one that has just become due
)

// JustNow limits how late a session that CatchUpNone still runs may be, unless skip_delayed_by sets a different limit.
// It is longer than a server takes to restart, and longer than an interrupted firing takes to repeat.
const JustNow = 10 * time.Minute

// readAdded reads the keys that zerodag adds.
func (s *Schedule) readAdded(config *param.Map) error {
	s.CatchUp = CatchUpAll
	if v, ok := config.Get("catch_up"); ok {
		text, _ := v.(string)
		if s.CatchUp = CatchUp(text); !slices.Contains([]CatchUp{CatchUpAll, CatchUpLatest, CatchUpNone}, s.CatchUp) {
			return param.Errorf("'catch_up' must be all, latest or none: %s", param.Text(v))
		}
	}
	if v, ok := config.Get("skip_if_successful"); ok {
		yes, err := param.AsYes("skip_if_successful", v)
		if err != nil {
			return param.Errorf("'skip_if_successful' must be true or false: %s", param.Text(v))
		}
		s.SkipIfSuccessful = yes
	}
	return nil
}

// mostSkipped limits the sessions that CaughtUp skips at once: the next call continues from there.
const mostSkipped = 10_000

// CaughtUp returns the session to continue with instead of a due one, according to catch_up: the session itself if it
// should run. run is when it starts, which may be later than its own run time.
func (s *Schedule) CaughtUp(session, run, now time.Time) Time {
	at := Time{Time: session, RunTime: run}
	if s.CatchUp == CatchUpAll {
		return at
	}
	for range mostSkipped {
		next := s.Next(at.Time)
		if next.RunTime.After(now) {
			break
		}
		at = next
	}
	late := JustNow
	if s.HasSkipDelayed {
		late = s.SkipDelayedBy
	}
	if s.CatchUp == CatchUpNone && now.After(at.RunTime.Add(late)) {
		return s.Next(at.Time)
	}
	return at
}

// Has reports whether the schedule has a session at that time, regardless of start and end.
func (s *Schedule) Has(t time.Time) bool {
	if s.seconds > 0 {
		return t.Unix()%s.seconds == 0
	}
	next, ok := s.match(t.Add(-time.Second))
	return ok && next.Equal(t)
}

// Before returns the session before current, regardless of start and end; it is Ended if there is none. Unlike Last, it
// always returns a session of the schedule.
func (s *Schedule) Before(current time.Time) Time {
	if s.seconds > 0 {
		return s.Last(current)
	}
	return s.before(current)
}
