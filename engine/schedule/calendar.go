package schedule

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Calendar defines the business days.
type Calendar struct {
	weekend [7]bool        // starting with Sunday
	days    map[int64]bool // the days that it lists, and whether they are business days
	// first and end are the first and the last of these days; 0 if there are none.
	first, end int64
}

// day converts a date to days since 1970-01-01, the unit of all days below.
func day(t time.Time) int64 { return floor(t.Unix(), daySeconds) / daySeconds }

const daySeconds = 86400

func dateText(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly) }

// Limits on a calendar: it holds a few decades of holidays, and every search for a business day is short.
const (
	mostDates   = 5000
	longestHold = 366 // days without a business day
)

// CalendarKeys returns the keys that a calendar may have.
func CalendarKeys() []string { return []string{"weekend", "holidays", "workdays"} }

// CalendarForm describes how to write a calendar.
const CalendarForm = "weekend: [sat, sun], holidays: [2026-01-01] and workdays: [2026-01-10], each optional"

// ReadCalendar reads a calendar; key is the key that an error is about, "" for the whole calendar.
func ReadCalendar(m *param.Map) (c *Calendar, key string, err error) {
	c = &Calendar{days: map[int64]bool{}, weekend: [7]bool{time.Saturday: true, time.Sunday: true}}
	for key, v := range m.All() {
		list, isList := v.([]param.Value)
		switch {
		case !slices.Contains(CalendarKeys(), key):
			return nil, key, param.Errorf("unknown key '%s' of a calendar", key)
		case !isList:
			return nil, key, param.Errorf("'%s' of a calendar must be a list: %s", key, param.Text(v))
		case key == "weekend":
			err = c.readWeekend(list)
		default:
			err = c.readDays(key, list)
		}
		if err != nil {
			return nil, key, err
		}
	}
	key, err = c.check()
	return c, key, err
}

func (c *Calendar) readWeekend(list []param.Value) error {
	c.weekend = [7]bool{}
	for _, v := range list {
		text, _ := v.(string)
		i := slices.IndexFunc(weekdays(), func(d time.Weekday) bool {
			return strings.EqualFold(text, d.String()) || strings.EqualFold(text, d.String()[:3])
		})
		if i < 0 {
			return param.Errorf("'weekend' of a calendar must list days such as sat and sun: %s", param.Text(v))
		}
		c.weekend[i] = true
	}
	return nil
}

func weekdays() []time.Weekday {
	return []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}
}

func (c *Calendar) readDays(key string, list []param.Value) error {
	for _, v := range list {
		text, _ := v.(string)
		t, err := time.Parse(time.DateOnly, text)
		if err != nil || t.Year() < 1970 || t.Year() > 2999 {
			return param.Errorf("'%s' of a calendar must list dates such as 2026-01-01: %s", key, param.Text(v))
		}
		works := key == "workdays"
		if was, there := c.days[day(t)]; there && was != works {
			return param.Errorf("%s is both a holiday and a workday of the calendar", text)
		}
		c.days[day(t)] = works
		if c.end = max(c.end, day(t)); c.first == 0 || day(t) < c.first {
			c.first = day(t)
		}
	}
	if len(c.days) > mostDates {
		return param.Errorf("a calendar has %d dates, but may have at most %d", len(c.days), mostDates)
	}
	return nil
}

// check refuses a calendar that goes too long without a business day.
func (c *Calendar) check() (key string, err error) {
	if !slices.Contains(c.weekend[:], false) {
		return "weekend", param.Errorf("the weekend of the calendar is the whole week, which leaves no business days")
	}
	hold := 0
	for d := c.first; d <= c.end; d++ {
		if hold++; c.works(d) {
			hold = 0
		}
		if hold > longestHold {
			return "holidays", param.Errorf("the calendar has no business day in the %d days before %s", longestHold, dateText(d))
		}
	}
	return "", nil
}

// works reports whether a day is a business day.
func (c *Calendar) works(day int64) bool {
	if works, own := c.days[day]; own {
		return works
	}
	return !c.weekend[(day+int64(time.Thursday))%7] // 1970 began on a Thursday
}

// from returns the first business day, starting with the given day and searching in steps of 1 or -1.
func (c *Calendar) from(day, step int64) int64 {
	for !c.works(day) {
		day += step
	}
	return day
}

// The values of on_holiday.
const (
	holidaySkip     = "skip"
	holidayNext     = "next"
	holidayPrevious = "previous"
)

// readCalendar reads a schedule's calendar, and what happens to sessions on days that are not business days. It comes
// last, when the schedule can already be walked.
func (s *Schedule) readCalendar(config *param.Map, kind string) error {
	v, there := config.Get("calendar")
	on, says := config.Get("on_holiday")
	if !there {
		if says {
			return param.Errorf("'on_holiday' needs a calendar")
		}
		return nil
	}
	m, ok := v.(*param.Map)
	if !ok {
		return param.Errorf("'calendar' must be the name of a file, or a calendar: %s", param.Text(v))
	}
	c, _, err := ReadCalendar(m)
	if err != nil {
		return param.Errorf("'calendar': %v", err)
	}
	policy := holidaySkip
	if says {
		policy, _ = on.(string)
	}
	switch {
	case !slices.Contains([]string{holidaySkip, holidayNext, holidayPrevious}, policy):
		return param.Errorf("'on_holiday' must be skip, next or previous: %s", param.Text(on))
	case policy != holidaySkip && slices.Contains([]string{"hourly", "minutes_interval", "seconds_interval"}, kind):
		return param.Errorf("'on_holiday' of %s> must be skip: every business day already has these sessions", kind)
	}
	if s.seconds > 0 {
		s.times, s.seconds = everySeconds(s.seconds), 0
	}
	s.times, s.calendar, s.exact = businessDays{s.times, c, policy}, c, true
	return nil
}

// everySeconds walks over the multiples of a number of seconds.
type everySeconds int64

func (n everySeconds) next(after int64, _ *time.Location) (int64, bool) {
	return floor(after, int64(n)) + int64(n), true
}

// businessDays walks over a schedule's times, with sessions on other days skipped or moved to a business day at the
// same time of day. A session that is moved onto another merges with it.
//
// A business day gets the times of all days in its group. Each group is walked from its first day, so that the result
// does not depend on where a search began.
type businessDays struct {
	times    walker
	calendar *Calendar
	policy   string
}

func (b businessDays) next(after int64, zone *time.Location) (int64, bool) {
	for business := b.calendar.from(localDay(after, zone), 1); ; {
		first, last := b.group(business)
		from := dayStart(first, zone) - 1
		if b.policy == holidaySkip {
			from = max(from, after)
		}
		best, found := int64(0), false
		t, ok := b.times.next(from, zone)
		for ; ok && localDay(t, zone) <= last; t, ok = b.times.next(t, zone) {
			if m := moved(t, business, zone); m > after && (!found || m < best) {
				best, found = m, true
			}
			if found && b.policy == holidaySkip {
				break // they are in order
			}
		}
		if found || !ok || t >= endSeconds {
			return best, found
		}
		business = b.owner(localDay(t, zone))
	}
}

// group returns the days whose times a business day has.
func (b businessDays) group(business int64) (first, last int64) {
	switch b.policy {
	case holidayNext:
		return b.calendar.from(business-1, -1) + 1, business
	case holidayPrevious:
		return business, b.calendar.from(business+1, 1) - 1
	}
	return business, business
}

// owner returns the business day to which the times of a day are moved; if they are skipped, it is the next business day.
func (b businessDays) owner(day int64) int64 {
	if b.policy == holidayPrevious {
		return b.calendar.from(day, -1)
	}
	return b.calendar.from(day, 1)
}

// moved returns an instant on another day, at the same time of day, by the rule of `cron>`.
func moved(unix, day int64, zone *time.Location) int64 {
	of := localDay(unix, zone)
	if of == day {
		return unix
	}
	return resolveWall(clockWall(unix, zone)+(day-of)*daySeconds, zone)
}

func localDay(unix int64, zone *time.Location) int64 {
	return floor(clockWall(unix, zone), daySeconds) / daySeconds
}

func dayStart(day int64, zone *time.Location) int64 {
	return Local(time.Unix(day*daySeconds, 0).UTC(), zone).Unix()
}

// BusinessVariables returns the variables that a workflow has if its schedule has a calendar.
func BusinessVariables() []string { return []string{"last_business_date", "next_business_date"} }

// BusinessDates returns the values of BusinessVariables: the business days before and after the day of a session. ok is
// false if the schedule has no calendar.
func (s *Schedule) BusinessDates(session time.Time) (last, next string, ok bool) {
	if s.calendar == nil {
		return "", "", false
	}
	d := localDay(session.Unix(), s.zone)
	return dateText(s.calendar.from(d-1, -1)), dateText(s.calendar.from(d+1, 1)), true
}

// CalendarEnd returns the last day that the calendar lists, at midnight UTC; zero if it lists none.
func (s *Schedule) CalendarEnd() time.Time {
	if s.calendar == nil || s.calendar.end == 0 {
		return time.Time{}
	}
	return time.Unix(s.calendar.end*daySeconds, 0).UTC()
}
