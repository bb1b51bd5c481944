package cost

import (
	"fmt"
	"time"
)

// Month is a month in UTC, as in AWS's bills.
type Month struct {
	Name     string    // 2026-10
	From, To time.Time // To is exclusive
	Partial  bool      // the month has not ended
}

// ReadMonth reads the name of a month, relative to the given time: 2026-10, "now" for the current month, or "" for the
// last complete one.
func ReadMonth(text string, now time.Time) (Month, error) {
	now = now.UTC()
	from := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch text {
	case "now":
	case "":
		from = from.AddDate(0, -1, 0)
	default:
		var err error
		if from, err = time.Parse("2006-01", text); err != nil {
			return Month{}, fmt.Errorf("the month must be now or YYYY-MM, such as 2026-10, but is %q", text)
		}
		if from.After(now) {
			return Month{}, fmt.Errorf("the month %s has not begun", text)
		}
	}
	m := Month{Name: from.Format("2006-01"), From: from, To: from.AddDate(0, 1, 0)}
	if m.To.After(now) {
		m.To, m.Partial = now, true
	}
	return m, nil
}

// Share returns what part of the month has passed, from 0 to 1.
func (m Month) Share() float64 {
	return m.To.Sub(m.From).Hours() / m.From.AddDate(0, 1, 0).Sub(m.From).Hours()
}

// Until returns the end of the last day that has begun, because queries to AWS cover whole days.
func (m Month) Until() time.Time {
	if m.Partial {
		return m.To.Truncate(24*time.Hour).AddDate(0, 0, 1)
	}
	return m.To
}
