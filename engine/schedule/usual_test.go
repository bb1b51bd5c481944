package schedule_test

import (
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

func crontab(t *testing.T, pattern, zone string) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(param.New("crontab>", pattern), mustZone(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCrontab proves what patterns of the usual dialect mean, where it is not what `cron>` means, too.
func TestCrontab(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, zone, from, want string }{
		{"30 7 * * *", "UTC", "2026-03-01T00:00:00Z", "2026-03-01T07:30 2026-03-02T07:30"},
		{"0 0 13 * 5", "UTC", "2026-03-01T00:00:00Z", "2026-03-06T00:00 2026-03-13T00:00 2026-03-20T00:00"}, // either day field
		{"0 0 1,15 * mon", "UTC", "2026-03-01T00:00:00Z", "2026-03-02T00:00 2026-03-09T00:00 2026-03-15T00:00"},
		{"0 0 */10 * *", "UTC", "2026-03-01T00:00:00Z", "2026-03-11T00:00 2026-03-21T00:00 2026-03-31T00:00 2026-04-01T00:00"},
		{"0 9-17/4 * * MON-FRI", "UTC", "2026-03-06T10:00:00Z", "2026-03-06T13:00 2026-03-06T17:00 2026-03-09T09:00"},
		{"0 0 29 2 *", "UTC", "2026-03-01T00:00:00Z", "2028-02-29T00:00 2032-02-29T00:00"},
		{"@daily", "Asia/Tokyo", "2026-03-01T00:00:00Z", "2026-03-02T00:00 2026-03-03T00:00"},
		{"@hourly", "UTC", "2026-03-01T00:00:00Z", "2026-03-01T01:00"},
		{"@weekly", "UTC", "2026-03-02T00:00:00Z", "2026-03-08T00:00"},
		{"CRON_TZ=Asia/Tokyo 0 9 * * *", "UTC", "2026-03-01T00:00:00Z", "2026-03-02T00:00"},
		{"0 9 * * mon | 0 6 * * sat", "UTC", "2026-03-01T00:00:00Z", "2026-03-02T09:00 2026-03-07T06:00 2026-03-09T09:00"},
	} {
		s := crontab(t, c.pattern, c.zone)
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range strings.Fields(c.want) {
			next := s.Next(at)
			if got := next.Time.Format("2006-01-02T15:04"); got != want {
				t.Errorf("%s in %s after %s: %s, want %s", c.pattern, c.zone, at, got, want)
			}
			if last := s.Last(next.Time.Add(time.Second)); !last.Time.Equal(next.Time) {
				t.Errorf("%s: before %s and a second is %s", c.pattern, next.Time, last.Time)
			}
			at = next.Time
		}
	}
}

// TestCrontabRefused proves that what cannot be a schedule is one error.
func TestCrontabRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"": "five fields", "* * * *": "expected exactly 5 fields", "0 0 0 * * *": "expected exactly 5 fields", "61 * * * *": "above maximum",
		"0 0 31 2 *": "never matches", "@every 1h": "minutes_interval", "@reboot": "no time", "@nightly": "unrecognized",
		"CRON_TZ=Nowhere/City 0 0 * * *": "Nowhere/City", "0 0 * * * | ": "five fields", "0 0 CRON_TZ=UTC * *": "zone stands once",
	} {
		_, err := schedule.Parse(param.New("crontab>", pattern), time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// TestCrontabBesideCron proves that both dialects have the same sessions where a pattern means the same, in the nights
// on which clocks change as well, each session is the one before the next, and that the others are told apart.
func TestCrontabBesideCron(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"} {
		for _, pattern := range []string{"30 2 * * *", "0 * * * *", "*/20 1-3 * * *", "15 0 1 * *", "0 3 * * 0", "30 1 29 3 *", "30 2 25 10 *", "0 0 * 4-6 1-5"} {
			if schedule.MeansAnother(pattern) {
				t.Errorf("%s is told to differ", pattern)
			}
			ours, err := schedule.Parse(param.New("cron>", pattern), mustZone(t, zone))
			if err != nil {
				t.Fatal(err)
			}
			theirs := crontab(t, pattern, zone)
			at := start
			for range 400 {
				a, b := ours.Next(at), theirs.Next(at)
				if !a.Time.Equal(b.Time) {
					t.Errorf("%s in %s after %s: cron> %s, crontab> %s", pattern, zone, at, a.Time, b.Time)
					break
				}
				if last := theirs.Last(b.Time); at != start && !last.Time.Equal(at) {
					t.Errorf("%s in %s: before %s is %s, not %s", pattern, zone, b.Time, last.Time, at)
					break
				}
				at = a.Time
			}
		}
	}
	for _, pattern := range []string{"0 0 13 * 5", "0 0 1,15 * 1"} {
		if !schedule.MeansAnother(pattern) {
			t.Errorf("%s is not told to differ", pattern)
		}
	}
}

// FuzzCrontab proves that no text takes the parser down, and that what it accepts has a next and a last session.
func FuzzCrontab(f *testing.F) {
	for _, seed := range []string{"30 7 * * *", "0 0 13 * 5", "@daily", "CRON_TZ=Asia/Tokyo 0 9 * * *", "*/5 1-3,7 L jan-dec sun|0 0 1 1 *", "0 0 29 2 *"} {
		f.Add(seed)
	}
	at := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.Parse(param.New("crontab>", text), at.Location())
		if err != nil {
			return
		}
		next := s.Next(at)
		if last := s.Last(next.Time.Add(time.Second)); !next.Time.After(at) || !last.Time.Equal(next.Time) {
			t.Errorf("%q: next %s, and before a second later %s", text, next.Time, last.Time)
		}
	})
}
