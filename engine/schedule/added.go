package schedule

import (
	"slices"
	"time"

	"zerodag/engine/param"
)

// AddedKeys are the keys of a schedule of any kind that zerodag adds, for files with `zerodag: 1`.
func AddedKeys() []string {
	return []string{"catch_up", "skip_if_successful", "calendar", "on_holiday"}
}

// CatchUp says which of the sessions run whose times passed while nothing ran them, since the server was down or
// the schedule was disabled.
type CatchUp string

// What may be said.
const (
	CatchUpAll    CatchUp = "all"    // each of them, as in the original
	CatchUpLatest CatchUp = "latest" // the last one
	CatchUpNone   CatchUp = "none"   // none, but for one whose time has just come
)

// JustNow is how late a session may be that CatchUpNone does not leave out, unless skip_delayed_by says something else:
// longer than a server takes to start again, and than a firing that was cut off takes to come again.
const JustNow = 10 * time.Minute

// readAdded reads what zerodag adds.
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

// mostSkipped bounds the sessions that CaughtUp leaves out at once: who asks again goes on from there.
const mostSkipped = 10_000

// CaughtUp returns the session to go on with in the place of one that is due, by what catch_up says: the session itself
// if it is to run. run is when it is to start, which may be later than its own run time.
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

// Has says whether the schedule has a session of that time, whatever start and end say.
func (s *Schedule) Has(t time.Time) bool {
	if s.seconds > 0 {
		return t.Unix()%s.seconds == 0
	}
	next, ok := s.match(t.Add(-time.Second))
	return ok && next.Equal(t)
}

// Before returns the session before current, whatever start and end say; it is Ended where there is none. Unlike what
// Last returns, it is a session of the schedule in every case.
func (s *Schedule) Before(current time.Time) Time {
	if s.seconds > 0 {
		return s.Last(current)
	}
	return s.before(current)
}
