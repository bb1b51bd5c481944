package schedule

import "time"

// searchYears limits the search for a match: the calendar repeats after 400 years, so a pattern without a match by then
// ("0 0 31 2 *") never has one.
const searchYears = 400

// next returns the first match after the minute that contains from, in Unix seconds, and whether there is one.
//
// As in Digdag, the following minute is tried as an instant; if it does not match, the local calendar is walked as
// fields, and the fields found are converted to an instant. Thus a local time that does not exist is moved forward by
// the gap, and a repeated local time is found at its second occurrence, except from the minute before the first
// (recordings: hourly over the end of daylight saving).
func (p pattern) next(from int64, zone *time.Location) (int64, bool) {
	from = floor(from, 60) + 60
	if from >= endSeconds {
		return 0, false
	}
	c := clockAt(from, zone)
	for _, f := range p {
		if f.matches(c) {
			return from, true
		}
	}
	best, found := int64(0), false
	for _, f := range p {
		if t, ok := f.walk(c, zone); ok && (!found || t < best) {
			best, found = t, true
		}
	}
	return best, found
}

// clock is a local time as calendar fields.
type clock struct{ year, month, day, hour, minute int }

func clockAt(unix int64, zone *time.Location) clock {
	t := time.Unix(unix, 0).In(zone)
	y, m, d := t.Date()
	return clock{y, int(m), d, t.Hour(), t.Minute()}
}

func (f fields) matches(c clock) bool {
	return f.minute>>c.minute&1 == 1 && f.hour>>c.hour&1 == 1 && f.month>>c.month&1 == 1 &&
		f.matchDay(c.year, c.month, c.day) && f.weekday>>c.weekday()&1 == 1
}

func (c clock) weekday() int {
	return int(time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC).Weekday())
}

// walk moves the fields forward to the first match. A day that a month does not have is carried into the next month,
// and the search continues from there: "0 0 1,30 * *" therefore skips March 1st, as Digdag's calendar does.
func (f fields) walk(c clock, zone *time.Location) (int64, bool) {
	for limit := c.year + searchYears; c.year <= limit; {
		if !f.walkFields(&c, limit) {
			break
		}
		if c.day <= 28 && f.weekday>>c.weekday()&1 == 0 {
			c.skipTo(c.month, c.day+1)
			continue
		}
		unix := resolve(c, zone)
		d := clockAt(unix, zone)
		if d.day != c.day || d.month != c.month || d.year != c.year {
			c.year, c.month, c.day = d.year, d.month, d.day
			continue // the hour and minute stay
		}
		if f.weekday>>d.weekday()&1 == 1 {
			return unix, true
		}
		c.skipTo(c.month, c.day+1)
	}
	return 0, false
}

// walkFields moves to the first fields that match in everything but the day of week. Every month has 31 days here: walk
// then carries days that do not exist into the next month. It returns false if there is no match until the year limit.
func (f fields) walkFields(c *clock, limit int) bool {
	for c.year <= limit {
		f.walkTime(c)
		c.carry()
		switch {
		case f.month>>c.month&1 == 0:
			c.skipTo(c.month+1, 1)
		case !f.matchDay(c.year, c.month, c.day):
			c.skipTo(c.month, c.day+1)
		default:
			return true
		}
	}
	return false
}

// walkTime moves to the first matching hour and minute, perhaps of the next day.
func (f fields) walkTime(c *clock) {
	for {
		for f.minute>>c.minute&1 == 0 {
			if c.minute++; c.minute > 59 {
				c.minute = 0
				c.hour++
			}
		}
		if c.hour > 23 {
			c.hour = 0
			c.day++
		}
		if f.hour>>c.hour&1 == 1 {
			return
		}
		c.hour++
		c.minute = 0
	}
}

// skipTo moves to the start of the given day of the year, which carry brings into range.
func (c *clock) skipTo(month, day int) {
	c.month, c.day, c.hour, c.minute = month, day, 0, 0
	c.carry()
}

func (c *clock) carry() {
	if c.day > 31 {
		c.day = 1
		c.month++
	}
	if c.month > 12 {
		c.month = 1
		c.year++
	}
}
