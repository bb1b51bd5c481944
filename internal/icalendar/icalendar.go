// Package icalendar reads the days of the events of an iCalendar file (RFC 5545), the format in which calendars of
// public holidays are published.
package icalendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Day is a day on which there is an event.
type Day struct {
	Date time.Time // midnight UTC
	Name string    // the name of the event; the names of several events are joined
}

// mostDays is how many days one event may last: longer than any holiday, but short enough to detect mistakes.
const mostDays = 366

// MaxText is the maximum size of a file in bytes: published holiday calendars have a few thousand.
const MaxText = 1 << 20

// Days lists the days of all events in order, each day once. For an event with times, it uses the dates as written,
// whatever their zone. It omits canceled events. A repeating event is an error, because it may have no end.
func Days(text string) ([]Day, error) {
	byDate := map[time.Time]*Day{}
	var dates []time.Time
	if len(text) > MaxText {
		return nil, fmt.Errorf("the file is %d bytes, but at most %d are read", len(text), MaxText)
	}
	r := reader{}
	for _, l := range unfolded(text) {
		done, err := r.line(l)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.number, err)
		}
		for _, d := range done {
			if known := byDate[d.Date]; known == nil {
				byDate[d.Date] = &d
				dates = append(dates, d.Date)
			} else if !slices.Contains(strings.Split(known.Name, ", "), d.Name) {
				known.Name += ", " + d.Name
			}
		}
	}
	switch {
	case !r.calendar:
		return nil, fmt.Errorf("not an iCalendar file: BEGIN:VCALENDAR is missing")
	case len(r.within) > 0:
		return nil, fmt.Errorf("the file is truncated: it ends within %s", r.within[len(r.within)-1])
	}
	slices.SortFunc(dates, time.Time.Compare)
	days := make([]Day, len(dates))
	for i, date := range dates {
		days[i] = *byDate[date]
	}
	return days, nil
}

// line is a logical line, which may be folded into several physical lines.
type line struct {
	number int // the number of its first physical line, from 1
	text   string
}

func unfolded(text string) (lines []line) {
	var folded strings.Builder // the last line
	end := func() {
		if len(lines) > 0 {
			lines[len(lines)-1].text = folded.String()
		}
		folded.Reset()
	}
	for i, part := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		part = strings.TrimSuffix(part, "\r")
		switch {
		case (strings.HasPrefix(part, " ") || strings.HasPrefix(part, "\t")) && len(lines) > 0:
			folded.WriteString(part[1:])
		case strings.TrimSpace(part) != "":
			end()
			lines = append(lines, line{number: i + 1})
			folded.WriteString(part)
		}
	}
	end()
	return lines
}

// reader is the state of the parser.
type reader struct {
	calendar bool
	within   []string // open components, the innermost last
	event    event
}

type event struct {
	name              string
	start, end        time.Time
	timed             bool // the end is a time on a day, which then counts unless the time is midnight
	length            int  // in days, instead of an end; 0: not given
	cancelled, exists bool
}

// line processes a line, and returns the days of an event if the line ends one.
func (r *reader) line(l line) ([]Day, error) {
	head, value, ok := strings.Cut(l.text, ":")
	if quoted := strings.Count(head, `"`); ok && quoted%2 == 1 { // the colon is within a quoted parameter
		if i := strings.Index(l.text, `":`); i >= 0 {
			head, value = l.text[:i+1], l.text[i+2:]
		}
	}
	if !ok {
		return nil, fmt.Errorf("expected NAME:VALUE")
	}
	name, _, _ := strings.Cut(strings.ToUpper(head), ";")
	component := strings.ToUpper(strings.TrimSpace(value))
	switch name {
	case "BEGIN":
		r.within = append(r.within, component)
		r.calendar = r.calendar || component == "VCALENDAR"
		if component == "VEVENT" {
			r.event = event{exists: true}
		}
		return nil, nil
	case "END":
		if len(r.within) == 0 || r.within[len(r.within)-1] != component {
			return nil, fmt.Errorf("END:%s has no matching BEGIN", component)
		}
		r.within = r.within[:len(r.within)-1]
		if component != "VEVENT" {
			return nil, nil
		}
		return r.event.days()
	}
	if len(r.within) == 0 || r.within[len(r.within)-1] != "VEVENT" {
		return nil, nil // the property belongs to a time zone, an alarm ...
	}
	return nil, r.event.property(name, value)
}

// property processes a property of an event.
func (e *event) property(name, value string) (err error) {
	switch name {
	case "SUMMARY":
		e.name = unescaped(value)
	case "STATUS":
		e.cancelled = strings.EqualFold(strings.TrimSpace(value), "CANCELLED")
	case "DTSTART":
		e.start, _, err = dateOf(value)
	case "DTEND":
		e.end, e.timed, err = dateOf(value)
	case "DURATION":
		e.length, err = daysOf(value)
	case "RRULE", "RDATE":
		err = fmt.Errorf("recurring events (%s) are not supported: export the calendar with each occurrence as a separate event", name)
	}
	return err
}

// days returns the days of an event; its end is excluded.
func (e *event) days() (days []Day, err error) {
	switch {
	case e.cancelled:
		return nil, nil
	case e.start.IsZero():
		return nil, fmt.Errorf("the event %q has no DTSTART", e.name)
	case e.end.IsZero():
		e.end = e.start.AddDate(0, 0, max(1, e.length))
	case e.timed || !e.end.After(e.start):
		e.end = e.end.AddDate(0, 0, 1)
	}
	for date := e.start; date.Before(e.end); date = date.AddDate(0, 0, 1) {
		if len(days) == mostDays {
			return nil, fmt.Errorf("the event %q is longer than %d days", e.name, mostDays)
		}
		days = append(days, Day{date, e.name})
	}
	if len(days) == 0 {
		return nil, fmt.Errorf("the event %q ends before it begins", e.name)
	}
	return days, nil
}

// dateOf reads 20260101 or 20260101T090000, with or without Z; timed means that it is a time after midnight.
func dateOf(value string) (date time.Time, timed bool, err error) {
	day, clock, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(value), "Z"), "T")
	date, err = time.Parse("20060102", day)
	if err == nil && clock != "" {
		_, err = time.Parse("150405", clock)
	}
	if err != nil {
		return date, false, fmt.Errorf("%q is not a date", value)
	}
	return date, strings.Trim(clock, "0") != "", nil
}

// daysOf reads a duration in days or weeks; hours and smaller units count as part of one day.
func daysOf(value string) (int, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(value), "P")
	number, rest := text, ""
	unit := 1
	if i := strings.IndexAny(text, "DW"); i >= 0 {
		number, rest = text[:i], text[i+1:]
		if text[i] == 'W' {
			unit = 7
		}
	} else if strings.HasPrefix(text, "T") {
		number, rest = "1", text
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil || rest != "" && !strings.HasPrefix(rest, "T") {
		return 0, fmt.Errorf("%q is not a duration", value)
	}
	return int(n) * unit, nil
}

// unescaped returns a string for display on one line, without characters that terminals do not show.
func unescaped(value string) string {
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(value, ""))
	text := strings.NewReplacer(`\\`, `\`, `\n`, " ", `\N`, " ", `\,`, ",", `\;`, ";").Replace(value)
	return strings.Join(strings.Fields(text), " ")
}
