package sessiontime

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// Range describes the sessions that a backfill requests.
type Range struct {
	From, To string // the first and the last time, both included; if the last one is a day, all of it is included
	Count    int    // maximum number of sessions, counted from the first; 0: all
	Dates    []string
	Every    string // interval between the sessions: "1d"; "" follows the schedule

	Workflow string // its name
	Zone     *time.Location
	Times    *schedule.Schedule // nil: the workflow has no schedule
	Limit    time.Time          // the schedule itself starts sessions at this time and later
}

// Most is the maximum number of sessions in one backfill.
const Most = 10_000

// errTooMany returns the error for a backfill with more than Most sessions.
func errTooMany() error {
	return host.Invalidf("there are more than %d sessions: choose an earlier end, and start another backfill for the rest", Most)
}

// List returns the session times, ascending.
func (f Range) List(ctx context.Context) ([]time.Time, error) {
	if len(f.Dates) > 0 {
		if f.From != "" || f.To != "" || f.Every != "" {
			return nil, host.Invalidf("dates cannot be combined with from, to and every")
		}
		return f.dates()
	}
	if f.From == "" {
		return nil, host.Invalidf("from or dates is required")
	}
	from, _, err := f.moment(f.From)
	if err != nil {
		return nil, err
	}
	end, err := f.end()
	if err != nil {
		return nil, err
	}
	next := func(t time.Time) time.Time { return f.Times.Next(t).Time }
	first := from
	switch {
	case f.Every != "":
		step, err := parseStep(f.Every)
		if err != nil {
			return nil, err
		}
		n := 0
		next = func(time.Time) time.Time { n++; return step.after(from.In(f.Zone), n) }
	case f.Times == nil:
		return nil, host.Invalidf("Workflow %s has no schedule: set `every` to the interval between sessions (1d, 12h), or list the sessions in `dates`", f.Workflow)
	default:
		first = f.firstFrom(from)
	}
	var list []time.Time
	for t := first; t.Before(end); t = next(t) {
		if len(list) == Most || ctx.Err() != nil {
			return nil, cmp.Or(ctx.Err(), errTooMany())
		}
		if list = append(list, t); len(list) == f.Count {
			break
		}
	}
	return list, f.ahead(list)
}

// end returns the first moment after the range.
func (f Range) end() (time.Time, error) {
	if f.To == "" {
		if f.Times == nil {
			return time.Time{}, host.Invalidf("Workflow %s has no schedule: set `to` to the time of the last session", f.Workflow)
		}
		return f.Limit, nil
	}
	to, isDay, err := f.moment(f.To)
	if err != nil {
		return to, err
	}
	if isDay {
		return f.dayAfter(to), nil
	}
	return to.Add(time.Second), nil
}

// ahead refuses sessions that the schedule itself starts.
func (f Range) ahead(list []time.Time) error {
	if f.Times == nil || len(list) == 0 || list[len(list)-1].Before(f.Limit) {
		return nil
	}
	return host.Invalidf("The schedule itself starts the sessions from %s onward: end before that", f.shown(f.Limit))
}

// dates returns the sessions that the request names: for a day, all sessions of the schedule on that day.
func (f Range) dates() ([]time.Time, error) {
	var list []time.Time
	for _, text := range f.Dates {
		t, isDay, err := f.moment(text)
		if err != nil {
			return nil, err
		}
		of := []time.Time{t}
		if f.Times != nil {
			if of, err = f.scheduled(text, t, isDay); err != nil {
				return nil, err
			}
		}
		if list = append(list, of...); len(list) > Most {
			return nil, errTooMany()
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	list = slices.CompactFunc(list, time.Time.Equal)
	return list, f.ahead(list)
}

// scheduled returns a schedule's sessions at a given time, or on a given day.
func (f Range) scheduled(text string, t time.Time, isDay bool) ([]time.Time, error) {
	end := t.Add(time.Second)
	if isDay {
		end = f.dayAfter(t)
	}
	var list []time.Time
	next := f.firstFrom(t)
	for x := next; x.Before(end) && len(list) <= Most; x = f.Times.Next(x).Time {
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil, host.Invalidf("The schedule has no session %s: the next session is %s", text, f.shown(next))
	}
	return list, nil
}

// firstFrom returns the schedule's first session at or after a given time. It compares session times, not the times at
// which sessions start.
func (f Range) firstFrom(t time.Time) time.Time { return f.Times.Next(t.Add(-time.Second)).Time }

func (f Range) shown(t time.Time) string { return t.In(f.Zone).Format(time.RFC3339) }

func (f Range) dayAfter(t time.Time) time.Time { return step{days: 1}.after(t.In(f.Zone), 1) }

// moment reads an instant, or a local time or day in the workflow's zone.
func (f Range) moment(text string) (t time.Time, isDay bool, err error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return schedule.StartOfDay(t.Year(), t.Month(), t.Day(), f.Zone), true, nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return schedule.Local(t, f.Zone), false, nil
		}
	}
	if t, err = Parse(text, f.Zone); err != nil {
		return t, false, host.Invalidf("%q is not a time: use 2026-01-31, 2026-01-31T07:00:00 or 2026-01-31T07:00:00Z", text)
	}
	return t.Truncate(time.Second), false, nil
}

// step is the interval between sessions: days are calendar days, which may have 23 or 25 hours.
type step struct {
	days int
	time time.Duration
}

func (s step) after(t time.Time, n int) time.Time {
	if s.days == 0 {
		return t.Add(time.Duration(n) * s.time)
	}
	local := time.Date(t.Year(), t.Month(), t.Day()+n*s.days, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	if local.Equal(local.Truncate(24 * time.Hour)) {
		return schedule.StartOfDay(local.Year(), local.Month(), local.Day(), t.Location())
	}
	return schedule.Local(local, t.Location())
}

// parseStep reads an interval such as "1d".
func parseStep(text string) (step, error) {
	m := regexp.MustCompile(`^([1-9][0-9]{0,4})(m|h|d|w)$`).FindStringSubmatch(text)
	if m == nil {
		return step{}, host.Invalidf("every is %q: use a number and m, h, d or w (30m, 12h, 1d, 1w)", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return step{}, fmt.Errorf("read every: %w", err)
	}
	switch m[2] {
	case "w":
		return step{days: 7 * n}, nil
	case "d":
		return step{days: n}, nil
	case "h":
		return step{time: time.Duration(n) * time.Hour}, nil
	}
	return step{time: time.Duration(n) * time.Minute}, nil
}
