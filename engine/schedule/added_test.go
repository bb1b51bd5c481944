package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

func parsed(t *testing.T, zone string, pairs ...any) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(param.New(pairs...), mustZone(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	x, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// walked returns up to n sessions, starting at a time.
func walked(s *schedule.Schedule, from time.Time, n int) string {
	var list []string
	for next := s.First(from); len(list) < n && !next.IsEnded(); next = s.Next(next.Time) {
		list = append(list, next.Time.Format("2006-01-02T15:04"))
	}
	return strings.Join(list, " ")
}

// TestOnce checks that single times occur in order and once each, in the workflow's zone, and which values are refused.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := parsed(t, "Europe/Berlin", "once>", []param.Value{"2026-10-25T02:30:00", "2026-03-29T02:30:00", "2026-03-29 03:30:00", "2026-05-01T09:00:00"})
	if got, want := walked(s, at(t, "2026-01-01T00:00:00Z"), 9), "2026-03-29T03:30 2026-05-01T09:00 2026-10-25T02:30"; got != want {
		t.Errorf("sessions %s, want %s: a time that the clocks leave out is the one an hour later", got, want)
	}
	cron := parsed(t, "Europe/Berlin", "cron>", "30 2 25 10 *")
	if once, usual := s.Next(at(t, "2026-10-01T00:00:00Z")), cron.Next(at(t, "2026-10-01T00:00:00Z")); !once.Time.Equal(usual.Time) {
		t.Errorf("of a time that comes twice once> takes %v, and cron> %v", once.Time, usual.Time)
	}
	may := at(t, "2026-05-01T07:00:00Z")
	if last := s.Last(may); !last.Time.Equal(at(t, "2026-03-29T01:30:00Z")) || !s.Last(last.Time).IsEnded() {
		t.Errorf("before May is %v, and before that %v", last.Time, s.Last(last.Time).Time)
	}
	late := parsed(t, "UTC", "once>", "2026-05-01T09:00:00", "delay", int64(60), "start", "2026-05-02")
	if first := late.First(at(t, "2026-01-01T00:00:00Z")); !first.IsEnded() {
		t.Errorf("a time before start: %v", first)
	}
	for _, v := range []param.Value{"tomorrow", "2026-05-01", "2026-02-30T09:00:00", "2026-05-01T09:00:00Z", int64(5), nil, []param.Value{}, make([]param.Value, 1001)} {
		if _, err := schedule.Parse(param.New("once>", v), time.UTC); err == nil {
			t.Errorf("once>: %.40v is taken", v)
		}
	}
}

// TestCaughtUp checks which of the due sessions runs, at every moment of an hour, and that a second call for the
// returned session returns the same one: otherwise a server that crashes in between would skip one.
func TestCaughtUp(t *testing.T) {
	t.Parallel()
	session := at(t, "2026-03-01T00:00:00Z")
	for _, c := range []struct {
		catchUp, skip string
		minutes       int // after midnight, of sessions every 20 minutes
		want          string
	}{
		{"all", "", 50, "00:00"},
		{"latest", "", 19, "00:00"}, {"latest", "", 20, "00:20"}, {"latest", "", 59, "00:40"},
		{"none", "", 10, "00:00"}, {"none", "", 11, "00:20"}, {"none", "", 45, "00:40"}, {"none", "", 55, "01:00"},
		{"none", "15m", 55, "00:40"}, {"none", "1m", 45, "01:00"},
	} {
		config := param.New("cron>", "*/20 * * * *", "catch_up", c.catchUp)
		if c.skip != "" {
			config.Set("skip_delayed_by", c.skip)
		}
		s, err := schedule.Parse(config, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		now := session.Add(time.Duration(c.minutes) * time.Minute)
		got := s.CaughtUp(session, session, now)
		if got.Time.Format("15:04") != c.want {
			t.Errorf("%s after %d minutes: %s, want %s", c.catchUp, c.minutes, got.Time.Format("15:04"), c.want)
		}
		if again := s.CaughtUp(got.Time, got.RunTime, now); !again.Time.Equal(got.Time) {
			t.Errorf("%s after %d minutes: %v, then %v on a second call", c.catchUp, c.minutes, got.Time, again.Time)
		}
	}
	s := parsed(t, "UTC", "cron>", "* * * * *", "catch_up", "latest")
	const year = 365 * 24 * time.Hour
	moves, next := 0, schedule.Time{Time: session, RunTime: session}
	for now := session.Add(year); ; moves++ {
		to := s.CaughtUp(next.Time, next.RunTime, now)
		if to.Time.Equal(next.Time) {
			break
		}
		next = to
	}
	if !next.Time.Equal(session.Add(year)) || moves > 60 {
		t.Errorf("a year of minutes ends at %v after %d moves", next.Time, moves)
	}
}

// TestHas checks that a schedule recognizes its own sessions, even on nights of clock changes.
func TestHas(t *testing.T) {
	t.Parallel()
	for _, s := range []*schedule.Schedule{
		parsed(t, "Europe/Berlin", "cron>", "*/30 * * * *"), parsed(t, "Europe/Berlin", "crontab>", "0 2 * * *"), parsed(t, "UTC", "seconds_interval>", int64(90)),
		parsed(t, "UTC", "daily>", "07:00:00", "end", "2026-01-01"), parsed(t, "UTC", "once>", "2026-03-29T07:00:00"),
	} {
		for next := s.First(at(t, "2026-03-28T00:00:00Z")); !next.IsEnded() && next.Time.Before(at(t, "2026-03-30T00:00:00Z")); next = s.Next(next.Time) {
			if !s.Has(next.Time) || s.Has(next.Time.Add(time.Second)) {
				t.Errorf("it does not know %v", next.Time)
			}
			if before := s.Before(next.Time); !before.IsEnded() && !s.Next(before.Time).Time.Equal(next.Time) {
				t.Errorf("before %v is %v", next.Time, before.Time)
			}
		}
	}
}

// TestAddedRefused checks that values without a meaning are refused.
func TestAddedRefused(t *testing.T) {
	t.Parallel()
	for key, values := range map[string][]param.Value{"catch_up": {"newest", nil, true, "${x}"}, "skip_if_successful": {"perhaps", nil, "${x}"}} {
		for _, v := range values {
			if _, err := schedule.Parse(param.New("daily>", "07:00:00", key, v), time.UTC); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("'%s' must be", key)) {
				t.Errorf("%s: %v: %v", key, v, err)
			}
		}
	}
}
