package term

import (
	"testing"
	"time"
)

// TestTook checks how the durations of running, ended and future work are shown.
func TestTook(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 1, 0, 1, 0, 0, time.UTC)
	from, to := now.Add(-30*time.Second), now.Add(-28*time.Second)
	for want, got := range map[string]string{"": Took(now, nil, nil), "30s": Took(now, &from, nil), "2s": Took(now, &from, &to), "in 30s": Ago(from, &now), "in 23h 29m": Ago(now, new(now.Add(23*time.Hour+29*time.Minute+55*time.Second))), "28s ago": Ago(now, &to)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
