package schedule

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"zerodag/engine/param"
)

// usual is a pattern of `crontab>`: the dialect of most cron programs, walked by robfig/cron.
//
// The walk treats local time as if it were UTC, which has no clock changes, and the result is converted to an instant
// by the rule of `cron>`. All kinds of schedules therefore treat the nights of clock changes alike, and a daily session
// is neither skipped nor repeated on them.
type usual struct {
	spec *cron.SpecSchedule
	zone *time.Location // of CRON_TZ=; nil is the workflow's zone
}

// usualPatterns are patterns joined by "|": a time must match any of them.
type usualPatterns []usual

func readCrontab(s *Schedule, v param.Value) error {
	text, err := param.AsString("_command", v)
	if err != nil {
		return err
	}
	s.times, err = parseUsual(text)
	s.exact = true
	return err
}

// parseUsual reads patterns of the usual dialect joined by "|".
func parseUsual(text string) (usualPatterns, error) {
	var list usualPatterns
	for part := range strings.SplitSeq(text, "|") {
		u, err := parseOneUsual(strings.TrimSpace(part))
		if err != nil {
			return nil, param.Errorf("invalid pattern of crontab>: %q: %v", strings.TrimSpace(part), err)
		}
		list = append(list, u)
	}
	return list, nil
}

func parseOneUsual(text string) (usual, error) {
	var u usual
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		rest, ok := strings.CutPrefix(text, prefix)
		if !ok {
			continue
		}
		name, pattern, _ := strings.Cut(rest, " ")
		zone, err := Zone(name) // not the library's, which uses the machine's zones
		if err != nil {
			return u, err
		}
		u.zone, text = zone, strings.TrimSpace(pattern)
		break
	}
	switch {
	case text == "":
		return u, errors.New("five fields are needed: minute hour day month weekday")
	case strings.HasPrefix(text, "@every"):
		return u, errors.New("@every counts from the start of a process: use minutes_interval> or seconds_interval>")
	case strings.HasPrefix(text, "@reboot"):
		return u, errors.New("@reboot has no time, and a server restart does not start sessions")
	case strings.Contains(text, "TZ="):
		return u, errors.New("write the time zone once, before the pattern")
	}
	var err error
	if u.spec, err = readUsual(text); err != nil {
		return u, err
	}
	if _, ok := u.walk(0); !ok {
		return u, errors.New("it never matches: no year has such a day")
	}
	return u, nil
}

// Years between two leap days: the library gives up after five years, and 1900 or 2100 have no leap day.
const (
	libraryYears = 5
	leapYears    = 8
)

// walk returns the first local time after another that matches, both as seconds as if they were in UTC.
func (u usual) walk(wall int64) (int64, bool) {
	from := time.Unix(wall, 0).UTC()
	for range leapYears/libraryYears + 1 {
		if next := u.spec.Next(from); !next.IsZero() {
			return next.Unix(), true
		}
		from = from.AddDate(libraryYears, 0, 0)
	}
	return 0, false
}

// next returns the first match after an instant. Around a clock change, local times are not in the order of their
// instants, so the walk begins early enough and continues until nothing earlier can come.
func (u usual) next(after int64, zone *time.Location) (int64, bool) {
	if u.zone != nil {
		zone = u.zone
	}
	least, _ := offsetsAround(after, zone)
	wall, best, found := after+least, int64(0), false
	for {
		next, ok := u.walk(wall)
		if found {
			_, most := offsetsAround(best, zone)
			if !ok || next-most >= best {
				return best, true
			}
		}
		if !ok || next >= endSeconds {
			return best, found
		}
		if t := resolveWall(next, zone); t > after && (!found || t < best) {
			best, found = t, true
		}
		wall = next
	}
}

// changeWindow is longer than any clock change ever made: a whole day, on an island in the Pacific.
const changeWindow = 36 * 3600

// offsetsAround returns the smallest and the largest offset from UTC near an instant.
func offsetsAround(unix int64, zone *time.Location) (least, most int64) {
	_, before := time.Unix(unix-changeWindow, 0).In(zone).Zone()
	_, after := time.Unix(unix+changeWindow, 0).In(zone).Zone()
	return int64(min(before, after)), int64(max(before, after))
}

func (p usualPatterns) next(after int64, zone *time.Location) (int64, bool) {
	best, found := int64(0), false
	for _, u := range p {
		if t, ok := u.next(after, zone); ok && (!found || t < best) {
			best, found = t, true
		}
	}
	return best, found
}

// MeansAnother reports whether a `cron>` pattern would mean different times in the usual dialect of `crontab>`; false
// if it cannot be read there at all.
func MeansAnother(text string) bool {
	ours, err := parsePattern(text)
	theirs, err2 := parseUsual(text)
	if err != nil || err2 != nil || len(ours) != len(theirs) {
		return false
	}
	for i, f := range ours {
		if !f.sameAs(theirs[i].spec) {
			return true
		}
	}
	return false
}

// sameAs compares the sets of the fields, and whether both day fields must match, which makes no difference if one of
// them is "*" or both hold every day.
func (f fields) sameAs(s *cron.SpecSchedule) bool {
	const star = starBit
	week := (f.weekday | f.weekday>>7) & fullWeek // 7 is also Sunday
	sets := f.minute == s.Minute&^star && f.hour == s.Hour&^star && f.month == s.Month&^star && f.day == s.Dom&^star && week == s.Dow&^star
	both := (s.Dom|s.Dow)&star != 0
	every := f.day == fullDays && week == fullWeek
	return sets && (both || every)
}

const (
	fullDays = 1<<32 - 2 // bits 1 to 31
	fullWeek = 1<<7 - 1  // bits 0 to 6
)
