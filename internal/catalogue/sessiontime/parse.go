package sessiontime

import (
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// localTime is the layout of a time without a zone, which is in the workflow's zone.
const localTime = "2006-01-02T15:04:05"

// Text returns an instant as the API shows it: in UTC, without fractions of a second.
func Text(t time.Time) string { return t.UTC().Format(localTime + "Z") }

// Parse reads an instant, or a local time in a zone.
func Parse(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(localTime, text); err == nil {
		return schedule.Local(t, zone), nil
	}
	return time.Time{}, host.Invalidf("Invalid timestamp format: %s", text)
}
