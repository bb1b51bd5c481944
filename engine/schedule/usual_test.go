package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
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

// TestCrontab checks the meaning of patterns in the usual dialect, including patterns that differ in `cron>`.
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

// TestCrontabRefused checks that an invalid schedule causes a single error.
func TestCrontabRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"": "five fields", "* * * *": "it has 4 fields", "0 0 0 * * *": "it has 6 fields", "0 0 0 * * ? 2027": "it has 7 fields", "61 * * * *": "61 is out of range: write 0 to 59",
		"0 0 31 2 *": "never matches", "@every 1h": "minutes_interval", "@reboot": "no time", "@nightly": "@nightly is unknown",
		"CRON_TZ=Nowhere/City 0 0 * * *": "Nowhere/City", "0 0 * * * | ": "five fields", "0 0 CRON_TZ=UTC * *": "write the time zone once",
		"0 3 L * *": "L, the last day of the month, is not supported: cron> supports it", "0 3 15W * *": "W, the nearest working day", "0 3 LW * *": "W, the nearest working day",
		"0 3 * * 5#3": "# for the week of the month", "0 3 * * 5L": "L for the last such weekday", "0 3 * * friL": "L for the last such weekday", "H 3 * * *": "H, a value chosen by Jenkins",
		"H(0-29) 3 * * *": "H, a value chosen by Jenkins", "0 3 ? * mon": "? is not supported: write *", "0 3 * * Monday": "use three-letter names: write mon", "0 3 * sept *": "use three-letter names: write sep",
		"0 22-2 * * *": "22-2 runs backwards: write 22-23,0-2", "0 3 * * sat-mon": "sat-mon runs backwards: write sat,sun-mon", "0 3 * nov-feb *": "nov-feb runs backwards: write nov-dec,jan-feb",
		"0 3 * * 7-1": "7-1 runs backwards: write 0-1", "0 3 * * 5-0": "5-0 runs backwards: write 5-6,0", "0 3 * * 8": "8 is out of range: write 0 to 7", "0 3 0 * *": "0 is out of range: write 1 to 31", "0 3 * 13 *": "13 is out of range: write 1 to 12",
		"*/0 * * * *": "must be a number, 1 or more", "*/x * * * *": "must be a number, 1 or more", "1,,2 * * * *": "a value is missing", "1- * * * *": "a value is missing", "-5 * * * *": "a value is missing",
		"+5 * * * *": "is not a number from 0 to 59", "*-5 * * * *": "* must be alone", "0 3 * * mo": "neither a number from 0 to 7 nor a name such as sun", "1-2-3 * * * *": "is not a number",
	} {
		_, err := schedule.Parse(param.New("crontab>", pattern), time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// TestCrontabBesideCron checks that both dialects have the same sessions if a pattern means the same in both, even on
// nights of clock changes, that each session is the one before the next, and that differing patterns are recognized.
func TestCrontabBesideCron(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"} {
		for _, pattern := range []string{"30 2 * * *", "0 * * * *", "*/20 1-3 * * *", "15 0 1 * *", "0 3 * * 0", "30 1 29 3 *", "30 2 25 10 *", "0 0 * 4-6 1-5"} {
			if schedule.MeansAnother(pattern) {
				t.Errorf("%s is reported as different", pattern)
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
			t.Errorf("%s is not reported as different", pattern)
		}
	}
}

// TestCrontabAgainstMinutes checks that sessions are the matching minutes, found by testing every minute of weeks with
// a field reader that shares no code with the package's.
func TestCrontabAgainstMinutes(t *testing.T) {
	t.Parallel()
	weekdays := []string{"7", "0", "sun", "1-7", "5-7", "0-7", "6,7", "6-7", "7,1", "fri-sun", "mon-sun", "sun-tue", "Sat-Sun", "sun-sun", "*/7", "*/2", "*/3", "*/4", "1-7/2", "0-7/3", "2-7/5", "7-7", "fri-7", "mon,wed-fri", "1/2", "*", "*,3"}
	days := []string{"*", "1", "13", "*/10", "1-7", "31", "10-20/5", "1,15", "28/2"}
	for _, weekday := range weekdays {
		for _, day := range days {
			pattern := "30 6,18 " + day + " * " + weekday
			s := crontab(t, pattern, "UTC")
			start := time.Date(2027, 1, 27, 0, 0, 0, 0, time.UTC)
			next := s.Next(start.Add(-time.Second)).Time
			for at := start; at.Before(start.AddDate(0, 0, 50)); at = at.Add(30 * time.Minute) {
				if match := matches(pattern, at); match != next.Equal(at) {
					t.Errorf("%s: %s matches: %t, next is %s", pattern, at, match, next)
					break
				} else if match {
					next = s.Next(at).Time
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		pattern := fmt.Sprintf("*/%d %d-%d/%d %s %d-%d %s", r.IntN(59)+1, r.IntN(12), 12+r.IntN(12), r.IntN(5)+1, days[r.IntN(len(days))], r.IntN(6)+1, r.IntN(6)+7, weekdays[r.IntN(len(weekdays))])
		s, err := schedule.Parse(param.New("crontab>", pattern), time.UTC)
		if err != nil {
			continue // it never matches
		}
		at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(500000)) * time.Minute)
		want := at.Add(time.Minute)
		for !matches(pattern, want) {
			want = want.Add(time.Minute)
		}
		if got := s.Next(at).Time; !got.Equal(want) {
			t.Errorf("%s after %s: %s, want %s", pattern, at, got, want)
		}
	}
}

// matches reads a pattern as crontab(5) describes it.
func matches(pattern string, at time.Time) bool {
	f := strings.Fields(strings.ToLower(pattern))
	if !holds(f[0], at.Minute(), 0, 59) || !holds(f[1], at.Hour(), 0, 23) || !holds(f[3], int(at.Month()), 1, 12) {
		return false
	}
	day := holds(f[2], at.Day(), 1, 31)
	weekday := holds(f[4], int(at.Weekday()), 0, 6) || at.Weekday() == 0 && holds(f[4], 7, 0, 6)
	if f[2][0] == '*' || f[4][0] == '*' {
		return day && weekday
	}
	return day || weekday
}

// holds reports whether one of a field's elements matches a value.
func holds(field string, v, low, high int) bool {
	number := func(text string, isEnd bool) int {
		for i, name := range []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} {
			if text == name {
				if isEnd && i == 0 && !strings.HasPrefix(field, "sun") {
					return 7
				}
				return i
			}
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		return n
	}
	for _, element := range strings.Split(field, ",") {
		values, step, stepped := strings.Cut(element, "/")
		from, to, by := low, high, 1
		if stepped {
			by = number(step, false)
		}
		if a, b, isRange := strings.Cut(values, "-"); values != "*" {
			from = number(a, false)
			if to = from; isRange {
				to = number(b, true)
			} else if stepped {
				to = high
			}
		}
		if v >= from && v <= to && (v-from)%by == 0 {
			return true
		}
	}
	return false
}

// TestLargeStep checks which steps cannot be intended.
func TestLargeStep(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{"*/90 * * * *": "*/90 of the minute", "0 */48 * * *": "*/48 of the hour", "0 0 */31 * *": "*/31 of the day of month", "*/59 * * * *": "", "*/30 */23 * * *": "", "@daily": "",
		"CRON_TZ=UTC */60 * * * *": "*/60 of the minute", "0 * * * * | */75 * * * *": "*/75 of the minute"} {
		if got := schedule.LargeStep(pattern); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// FuzzCrontab checks that no text crashes the parser, and that accepted text has a next and a last session.
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
