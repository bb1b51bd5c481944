package uptime_test

import (
	"runtime"
	"testing"
	"time"

	"zerodag/internal/uptime"
)

// TestClock proves that the clock begins at the machine's time and runs as fast as the process's clock.
func TestClock(t *testing.T) {
	t.Parallel()
	before := time.Now()
	clock := uptime.Clock()
	after := time.Now()
	if clock == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("there is no clock")
		}
		t.Skip("NOT TESTED: this system has no clock that counts sleep")
	}
	const slew = time.Second // the machine's clock may be corrected in the meantime
	first := clock()
	if first.Before(before.Round(0).Add(-slew)) || first.After(time.Now().Add(slew)) {
		t.Errorf("it shows %v between %v and %v", first, before, after)
	}
	began := time.Now()
	for time.Since(began) < 20*time.Millisecond {
		if next := clock(); next.Before(first) {
			t.Fatalf("it goes back from %v to %v", first, next)
		}
	}
	if passed := clock().Sub(first); passed < 20*time.Millisecond {
		t.Errorf("%v have passed, want 20 ms at least", passed)
	}
}
