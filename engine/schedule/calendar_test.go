package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// goldenWeek returns a calendar with holidays before and after a weekend, and a working Saturday.
func goldenWeek() *param.Map {
	return param.New("weekend", []param.Value{"sat", "Sunday"}, "holidays", []param.Value{"2026-04-29", "2026-05-01", "2026-05-04", "2026-05-05", "2026-05-06"},
		"workdays", []param.Value{"2026-05-09"})
}

// TestHolidays checks what happens to sessions on days that are not business days.
func TestHolidays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, value, policy, want string }{
		{"daily>", "07:00:00", "skip", "04-28T00:00 04-30T00:00 05-07T00:00 05-08T00:00 05-09T00:00 05-11T00:00"},
		{"daily>", "07:00:00", "next", "04-28T00:00 04-30T00:00 05-07T00:00 05-08T00:00 05-09T00:00 05-11T00:00"}, // all exist already
		{"weekly>", "Wed,07:00:00", "next", "04-30T00:00 05-07T00:00 05-13T00:00"},
		{"weekly>", "Wed,07:00:00", "previous", "04-28T00:00 04-30T00:00 05-13T00:00"},
		{"weekly>", "Wed,07:00:00", "skip", "05-13T00:00 05-20T00:00"},
		{"cron>", "30 9 1,4 * *", "next", "05-07T09:30 06-01T09:30"}, // both are moved to the same day, and merge
		{"cron>", "30 9 1,4 * *", "previous", "04-30T09:30 06-01T09:30"},
		{"cron>", "0 12,18 * * fri", "next", "05-07T12:00 05-07T18:00 05-08T12:00 05-08T18:00"},
		{"crontab>", "0 23 3 * *", "next", "05-07T23:00 06-03T23:00"},
		{"monthly>", "3,00:00:00", "previous", "04-30T00:00 06-03T00:00"},
		{"once>", "2026-05-02T10:00:00", "previous", "04-30T10:00"},
		{"hourly>", "00:00", "skip", "04-28T00:00 04-28T01:00"},
		{"seconds_interval>", "43200", "skip", "04-28T00:00 04-28T12:00 04-30T00:00 04-30T12:00 05-07T00:00"},
	} {
		s := parsed(t, "Asia/Tokyo", c.kind, param.Value(c.value), "calendar", goldenWeek(), "on_holiday", c.policy)
		if c.kind == "seconds_interval>" { // its multiples are counted in UTC
			s = parsed(t, "UTC", c.kind, int64(43200), "calendar", goldenWeek())
		}
		from := at(t, "2026-04-27T15:00:00Z")
		if c.kind == "seconds_interval>" {
			from = at(t, "2026-04-28T00:00:00Z")
		}
		want := strings.Fields(c.want)
		got := strings.ReplaceAll(walked(s, from, len(want)), "2026-", "")
		if got != c.want {
			t.Errorf("%s %s, %s: %s, want %s", c.kind, c.value, c.policy, got, c.want)
		}
	}
}

// TestHolidaysExactly checks that a walk yields exactly the sessions of the individual days, once each and in order,
// from any starting point, even on nights of clock changes.
func TestHolidaysExactly(t *testing.T) {
	t.Parallel()
	calendar := param.New("weekend", []param.Value{"sun"}, "holidays", []param.Value{"2026-03-28", "2026-03-30", "2026-10-24", "2026-10-26"})
	holiday := func(day time.Time) bool {
		return day.Weekday() == time.Sunday || slices.Contains([]string{"2026-03-28", "2026-03-30", "2026-10-24", "2026-10-26"}, day.Format(time.DateOnly))
	}
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York"} {
		for _, cron := range []string{"30 2 * * *", "0 0 * * *", "15 1,2,3 * * sat,sun,mon", "*/45 * * * *", "0 12 28,29,30 * *"} {
			base := parsed(t, zone, "cron>", cron)
			for _, policy := range []string{"skip", "next", "previous"} {
				s := parsed(t, zone, "cron>", cron, "calendar", calendar, "on_holiday", policy)
				for _, begin := range []string{"2026-03-26T00:00:00Z", "2026-10-22T00:00:00Z"} {
					from, until := at(t, begin), at(t, begin).AddDate(0, 0, 7)
					var want []string
					for next := base.First(from.AddDate(0, 0, -7)); next.Time.Before(until.AddDate(0, 0, 7)); next = base.Next(next.Time) {
						step := map[string]int{"skip": 0, "next": 1, "previous": -1}[policy]
						day := next.Time
						for n := 0; holiday(day) && step != 0; n++ {
							year, month, d := next.Time.Date()
							day = schedule.Local(time.Date(year, month, d+step*(n+1), next.Time.Hour(), next.Time.Minute(), 0, 0, time.UTC), next.Time.Location())
						}
						if !holiday(day) && !day.Before(from) && day.Before(until) {
							want = append(want, day.UTC().Format(time.RFC3339))
						}
					}
					slices.Sort(want)
					want = slices.Compact(want)
					var got []string
					for next := s.First(from); next.Time.Before(until); next = s.Next(next.Time) {
						got = append(got, next.Time.UTC().Format(time.RFC3339))
						if !s.Has(next.Time) {
							t.Errorf("%s in %s, %s: it does not know %v", cron, zone, policy, next.Time)
						}
						if before := s.Last(next.Time); !s.Next(before.Time).Time.Equal(next.Time) {
							t.Errorf("%s in %s, %s: before %v is %v", cron, zone, policy, next.Time, before.Time)
						}
					}
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s in %s, %s:\n%v\nwant\n%v", cron, zone, policy, got, want)
					}
				}
			}
		}
	}
}

// TestBusinessDates checks the calendar variables of a session.
func TestBusinessDates(t *testing.T) {
	t.Parallel()
	s := parsed(t, "Asia/Tokyo", "daily>", "07:00:00", "calendar", goldenWeek())
	for session, want := range map[string]string{
		"2026-05-06T15:00:00Z": "2026-04-30 2026-05-08", // the 7th in Tokyo
		"2026-05-08T15:00:00Z": "2026-05-08 2026-05-11", // the working Saturday
		"2026-05-01T15:00:00Z": "2026-04-30 2026-05-07", // a manual run on a holiday
	} {
		last, next, ok := s.BusinessDates(at(t, session))
		if got := last + " " + next; got != want || !ok {
			t.Errorf("%s: %s, want %s", session, got, want)
		}
	}
	if end := s.CalendarEnd().Format(time.DateOnly); end != "2026-05-09" {
		t.Errorf("the calendar ends %s", end)
	}
	none := parsed(t, "UTC", "daily>", "07:00:00", "calendar", param.New())
	if _, _, ok := none.BusinessDates(time.Unix(0, 0)); !ok || !none.CalendarEnd().IsZero() {
		t.Error("a calendar of weekends alone has business days, and no end")
	}
	if _, _, ok := parsed(t, "UTC", "daily>", "07:00:00").BusinessDates(time.Unix(0, 0)); ok {
		t.Error("a schedule without a calendar has no business days")
	}
}

// TestCalendarRefused checks that a calendar with which no schedule could continue is refused, as are typos.
func TestCalendarRefused(t *testing.T) {
	t.Parallel()
	list := func(v ...param.Value) []param.Value { return v }
	var year, many []param.Value
	for d := range 370 {
		year = append(year, time.Date(2026, 1, 1+d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	for d := range 5001 {
		many = append(many, time.Date(2026, 1, 1+2*d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	for want, m := range map[string]*param.Map{
		"unknown key":                           param.New("holiday", list("2026-01-01")),
		"must be a list":                        param.New("holidays", "2026-01-01"),
		"must list days such as":                param.New("weekend", list("samedi")),
		"must list dates such as":               param.New("holidays", list("2026-02-30")),
		"dates such as 2026-01-01":              param.New("workdays", list(int64(20260101))),
		"both a holiday and":                    param.New("holidays", list("2026-01-01"), "workdays", list("2026-01-01")),
		"leaves no business days":               param.New("weekend", list("mon", "tue", "wed", "thu", "fri", "sat", "sun")),
		"in the 366 days before":                param.New("holidays", year),
		"5001 dates, but may have at most 5000": param.New("holidays", many),
	} {
		_, key, err := schedule.ReadCalendar(m)
		if err == nil || !strings.Contains(err.Error(), want) || !m.Has(key) {
			t.Errorf("%s: %v at %q", want, err, key)
		}
	}
	for want, c := range map[string][]any{
		"needs a calendar":     {"daily>", "07:00:00", "on_holiday", "skip"},
		"skip, next or prev":   {"daily>", "07:00:00", "calendar", param.New(), "on_holiday", "after"},
		"of hourly> must be":   {"hourly>", "00:00", "calendar", param.New(), "on_holiday", "next"},
		"name of a file, or a": {"daily>", "07:00:00", "calendar", int64(5)},
	} {
		if _, err := schedule.Parse(param.New(c...), time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", c, err, want)
		}
	}
}
