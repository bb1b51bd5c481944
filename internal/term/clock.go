package term

import (
	"fmt"
	"strings"
	"time"
)

// Took returns how long something took or has taken so far, or "" if it has not begun.
func Took(now time.Time, from, to *time.Time) string {
	if from == nil {
		return ""
	}
	if to != nil {
		now = *to
	}
	return WholeDuration(max(0, now.Sub(*from)))
}

// listForm is short enough for a list of attempts to fit in 80 columns.
const listForm = "2006-01-02 15:04:05Z07:00"

// ShortTime formats a time for a list, in the machine's time zone, with its offset; nil gives "".
func ShortTime(t *time.Time) string { return ShortTimeIn(time.Local, t) }

// ShortTimeIn formats a time for a list, in the time zone of another time in the same row; nil gives "".
func ShortTimeIn(zone *time.Location, t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.In(zone).Format(listForm)
}

// Ago returns how far a time is from now, as "2m 5s ago" or "in 2m 5s", without seconds if it is an hour or more; nil
// gives "".
func Ago(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	away := t.Sub(now).Abs()
	text := WholeDuration(away)
	if away >= time.Hour {
		text = strings.TrimSuffix(WholeDuration(away.Truncate(time.Minute)), " 0s")
	}
	if t.After(now) {
		return "in " + text
	}
	return text + " ago"
}

// WholeDuration formats a duration between server times, which are whole seconds.
func WholeDuration(d time.Duration) string {
	if d < time.Second {
		return "<1s"
	}
	return Duration(d)
}

// Time formats a time as all output except lists shows it.
func Time(t time.Time) string { return t.Format("2006-01-02 15:04:05 -0700") }

// TimeFrom formats a time and its distance from now.
func TimeFrom(now, t time.Time) string {
	if d := t.Sub(now); d >= 0 {
		return fmt.Sprintf("%s (in %s)", Time(t), Duration(d))
	}
	return fmt.Sprintf("%s (%s ago)", Time(t), Duration(now.Sub(t)))
}

// Duration formats a duration as "2h 3m 4s", from the first part that is not 0.
func Duration(d time.Duration) string {
	n := int64(d / time.Second)
	h, m, s := n/3600, n/60%60, n%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh %dm %ds", h, m, s)
	case m > 0:
		return fmt.Sprintf("%dm %ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// ShortDuration formats a duration that may be below a second: 12ms, 3.4s, 2m 5s, 1h 2m 3s.
func ShortDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Duration(d)
}

// Away formats a time in the machine's time zone and its distance from now; nil gives "".
func Away(now time.Time, t *time.Time) string {
	if t == nil {
		return ""
	}
	return TimeFrom(now, t.Local())
}

// OffsetText formats a time with its offset in the form that Digdag's messages use, which omits seconds if they are 0.
func OffsetText(t time.Time) string {
	form := "2006-01-02T15:04"
	if t.Second() != 0 {
		form += ":05"
	}
	return t.Format(form + "Z07:00")
}
