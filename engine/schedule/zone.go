package schedule

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
)

// maxOffset is the largest offset from UTC that a zone may have, in seconds.
const maxOffset = 18 * 3600

// Zone returns the time zone with a name in the syntax of Java's ZoneId: a region ("Asia/Tokyo"), an offset ("Z", "+9",
// "+09", "+09:00", "+0900", also with seconds), or UTC, GMT or UT alone or before an offset ("UTC+9"). Names are
// case-sensitive.
func Zone(name string) (*time.Location, error) {
	switch name {
	case "UTC":
		return time.UTC, nil
	case "Z", "GMT", "UT":
		return time.FixedZone(name, 0), nil
	}
	for _, prefix := range []string{"UTC", "GMT", "UT", ""} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || rest == "" || rest[0] != '+' && rest[0] != '-' {
			continue
		}
		if seconds, ok := parseOffset(rest); ok {
			return time.FixedZone(name, seconds), nil
		}
		return nil, zoneError(name)
	}
	if !isRegion(name) {
		return nil, zoneError(name)
	}
	zone, err := region(name)
	if err != nil {
		return nil, zoneError(name)
	}
	return zone, nil
}

// ZoneID returns the name under which Java stores the zone of a valid name: offsets are written out, "+9" is "+09:00"
// and "UTC+9" is "UTC+09:00".
func ZoneID(name string) string {
	for _, prefix := range []string{"UTC", "GMT", "UT", ""} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || rest == "" || rest[0] != '+' && rest[0] != '-' {
			continue
		}
		seconds, ok := parseOffset(rest)
		if !ok {
			return name
		}
		if seconds == 0 {
			return cmp.Or(prefix, "Z")
		}
		return prefix + offsetID(seconds)
	}
	return name
}

func offsetID(seconds int) string {
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	id := fmt.Sprintf("%s%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		id += fmt.Sprintf(":%02d", seconds%60)
	}
	return id
}

func zoneError(name string) error {
	return param.Errorf("timezone %q is unknown: use a region like \"Asia/Tokyo\", \"UTC\", or an offset like \"+09:00\"", name)
}

// isRegion refuses names that are in Go's zone database but not in Java's: the three abbreviations for offsets, and
// names that are not zones at all.
func isRegion(name string) bool {
	switch name {
	case "EST", "MST", "HST", "ROC", "GMT+0", "GMT-0", "Local", "Factory", "":
		return false
	}
	return len(name) > 1
}

// offsetDigits removes the colons of an offset, and pads a one-digit hour.
func offsetDigits(text string) string {
	switch {
	case len(text) == 1:
		return "0" + text
	case len(text) == 5 && text[2] == ':':
		return text[:2] + text[3:]
	case len(text) == 8 && text[2] == ':' && text[5] == ':':
		return text[:2] + text[3:5] + text[6:]
	}
	return text
}

// parseOffset reads "+h", "+hh", "+hh:mm", "+hhmm", "+hh:mm:ss" or "+hhmmss" as
// seconds east of UTC.
func parseOffset(text string) (int, bool) {
	digits := offsetDigits(text[1:])
	if len(digits) != 2 && len(digits) != 4 && len(digits) != 6 {
		return 0, false
	}
	seconds := 0
	for i, unit := 0, 3600; i < len(digits); i, unit = i+2, unit/60 {
		n, err := strconv.ParseUint(digits[i:i+2], 10, 8)
		if err != nil || i > 0 && n > 59 {
			return 0, false
		}
		seconds += int(n) * unit
	}
	if seconds > maxOffset {
		return 0, false
	}
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// resolve converts local calendar fields, which may be out of range, to Unix seconds as Java's calendar does: a time in
// a gap is read with the offset before the gap, and a time that occurs twice is its second occurrence.
func resolve(c clock, zone *time.Location) int64 {
	return resolveWall(wall(c), zone)
}

// wall returns the local time in seconds, as if it were UTC.
func wall(c clock) int64 {
	return time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, 0, 0, time.UTC).Unix()
}

func resolveWall(wall int64, zone *time.Location) int64 {
	// The offset wanted is that of the latest period whose local start is not after the wall time, searched backward
	// from the latest possible instant.
	t := time.Unix(wall+maxOffset, 0).In(zone)
	for {
		_, offset := t.Zone()
		start, _ := t.ZoneBounds()
		if start.IsZero() || start.Unix()+int64(offset) <= wall {
			return wall - int64(offset)
		}
		t = start.Add(-time.Second)
	}
}

// StartOfDay returns the midnight at which a date begins, as in java.time: after a gap, and the first of two midnights.
func StartOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
	second := resolveWall(midnight, zone)
	_, before := time.Unix(second-maxOffset, 0).In(zone).Zone()
	first := midnight - int64(before)
	if first < second && clockWall(first, zone) == midnight {
		second = first
	}
	return time.Unix(second, 0).In(zone)
}

// Local returns the instant that has t's date and time of day in a zone, whatever t's own zone is. It agrees with the
// sessions of schedules: a time in a gap is read with the offset before the gap, and a time that occurs twice is its
// second occurrence.
func Local(t time.Time, zone *time.Location) time.Time {
	_, shown := t.Zone()
	return time.Unix(resolveWall(t.Unix()+int64(shown), zone), int64(t.Nanosecond())).In(zone)
}

func clockWall(unix int64, zone *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return unix + int64(offset)
}
