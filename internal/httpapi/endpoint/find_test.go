package endpoint

import (
	"testing"
	"time"
)

// TestPreciseInstant proves that fractions of a second are written in groups of three digits.
func TestPreciseInstant(t *testing.T) {
	t.Parallel()
	base := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for nanos, want := range map[time.Duration]string{0: "2024-01-02T03:04:05Z", 139e6: "2024-01-02T03:04:05.139Z", 100e6: "2024-01-02T03:04:05.100Z",
		1e3: "2024-01-02T03:04:05.000001Z", 1: "2024-01-02T03:04:05.000000001Z"} {
		if got := preciseInstant(base.Add(nanos)); got != want {
			t.Errorf("%d ns: %s, want %s", nanos, got, want)
		}
	}
}
