package icalendar_test

import (
	"strings"
	"testing"
	"time"

	"zerodag/internal/icalendar"
)

// ics returns a calendar of events, each given by its lines.
func ics(events ...string) string {
	text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTIMEZONE\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
	for _, e := range events {
		text += "BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n"
	}
	return text + "END:VCALENDAR\r\n"
}

// TestDays checks which days events have, and their names.
func TestDays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a day":             {ics("DTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:20260102\nSUMMARY:New Year"), "2026-01-01 New Year"},
		"no end":            {ics("DTSTART;VALUE=DATE:20260101"), "2026-01-01 "},
		"an end that is it": {ics("DTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:20260101"), "2026-01-01 "},
		"several days":      {ics("DTSTART:20261231\nDTEND:20270102\nSUMMARY:x"), "2026-12-31 x|2027-01-01 x"},
		"a duration":        {ics("DTSTART:20260101\nDURATION:P2D"), "2026-01-01 |2026-01-02 "},
		"a week":            {ics("DTSTART:20260101\nDURATION:P1W"), "2026-01-01 |2026-01-02 |2026-01-03 |2026-01-04 |2026-01-05 |2026-01-06 |2026-01-07 "},
		"hours":             {ics("DTSTART:20260101T090000Z\nDURATION:PT2H"), "2026-01-01 "},
		"times":             {ics("DTSTART;TZID=\"a:b\":20260101T000000\nDTEND;TZID=x:20260102T000000"), "2026-01-01 "},
		"until noon":        {ics("DTSTART:20260101T000000\nDTEND:20260102T120000"), "2026-01-01 |2026-01-02 "},
		"order":             {ics("DTSTART:20260201\nSUMMARY:b", "DTSTART:20260101\nSUMMARY:a"), "2026-01-01 a|2026-02-01 b"},
		"two of a day":      {ics("DTSTART:20260101\nSUMMARY:a", "DTSTART:20260101\nSUMMARY:b", "DTSTART:20260101\nSUMMARY:a"), "2026-01-01 a, b"},
		"folded and marked": {ics("DTSTART:2026\n 0101\nSUMMARY:Saint\\, and\\n more\\;\n  of it"), "2026-01-01 Saint, and more; of it"},
		"cancelled":         {ics("DTSTART:20260101\nSTATUS:CANCELLED", "DTSTART:20260102"), "2026-01-02 "},
		"an alarm":          {ics("DTSTART:20260101\nBEGIN:VALARM\nDURATION:PT15M\nEND:VALARM"), "2026-01-01 "},
		"lines of Unix":     {strings.ReplaceAll(ics("DTSTART:20260101"), "\r", ""), "2026-01-01 "},
		"nothing":           {ics(), ""},
	} {
		days, err := icalendar.Days(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, d := range days {
			got = append(got, d.Date.Format(time.DateOnly)+" "+d.Name)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "|"), c.want)
		}
	}
}

// TestFaults proves that an unreadable part causes an error that names its line.
func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                        "not an iCalendar file",
		"<html>\n</html>":                         "line 1: expected NAME:VALUE",
		ics("DTSTART:tomorrow"):                   `line 10: "tomorrow" is not a date`,
		ics("DTSTART:20260230"):                   "is not a date",
		ics("DTSTART:20260101T250000"):            "is not a date",
		ics("SUMMARY:x"):                          `line 11: the event "x" has no DTSTART`,
		ics("DTSTART:20260101\nRRULE:x"):          "line 11: recurring events",
		ics("DTSTART:20260105\nDTEND:20260101"):   "ends before it begins",
		ics("DTSTART:20260101\nDTEND:20290101"):   "longer than 366 days",
		ics("DTSTART:20260101\nDURATION:2 days"):  "is not a duration",
		ics("DTSTART:20260101\nDURATION:P99999D"): "is not a duration",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT":           "ends within VEVENT",
		"BEGIN:VCALENDAR\nEND:VEVENT":             "END:VEVENT has no matching BEGIN",
	} {
		if _, err := icalendar.Days(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzDays proves that any text yields either an error or days in order, each once.
func FuzzDays(f *testing.F) {
	f.Add(ics("DTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:20260103\nSUMMARY:New\\, Year", "DTSTART:20260101\nDURATION:P1W"))
	f.Add("BEGIN:VCALENDAR\n BEGIN\n:\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, text string) {
		days, err := icalendar.Days(text)
		for i, d := range days {
			if err != nil || i > 0 && !days[i-1].Date.Before(d.Date) || strings.ContainsAny(d.Name, "\r\n") {
				t.Fatalf("%v: %v, %v", d, days, err)
			}
		}
	})
}
