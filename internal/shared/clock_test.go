package shared

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestClock proves that a clock follows the database's clock only while the machine's clock is wrong, and that it logs
// this once.
func TestClock(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	real, wrong, delay := began, time.Duration(0), time.Duration(0)
	var failure error
	c := NewClock(func() time.Time { return real.Add(wrong) })
	ask := func(context.Context) (time.Time, error) {
		at := real.Add(delay / 2)
		real = real.Add(delay)
		return at, failure
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, step := range []struct {
		name         string
		wrong, delay time.Duration
		failure      error
		off          time.Duration // the offset of the result
		says         string
	}{
		{"right", 0, 0, nil, 0, ""},
		{"a little ahead", time.Second, 0, nil, time.Second, ""},
		{"far ahead, but the database does not answer", 90 * time.Second, 0, errors.New("down"), 90 * time.Second, ""},
		{"far ahead, but the answer takes too long", 90 * time.Second, 3 * time.Second, nil, 90 * time.Second, ""},
		{"far ahead", 90 * time.Second, 200 * time.Millisecond, nil, 0, "ahead=1m30s"},
		{"still far ahead", 90*time.Second + 100*time.Millisecond, 0, nil, 100 * time.Millisecond, ""},
		{"further ahead", 2 * time.Minute, 0, nil, 0, "ahead=2m0s"},
		{"behind", -time.Hour, 0, nil, 0, "ahead=-1h0m0s"},
		{"almost right", 1500 * time.Millisecond, 0, nil, 0, "ahead=1.5s"},
		{"right again", 10 * time.Millisecond, 0, nil, 10 * time.Millisecond, "agrees with that of the database again"},
	} {
		wrong, delay, failure = step.wrong, step.delay, step.failure
		log.Reset()
		c.Check(t.Context(), ask, logger)
		if off := (c.Ahead() - wrong).Abs(); off > 0 && step.failure == nil && step.delay <= certain {
			t.Errorf("%s: the clock is %v ahead, want %v", step.name, c.Ahead(), wrong)
		}
		if off := c.Now().Sub(real); off != step.off {
			t.Errorf("%s: off by %v, want %v", step.name, off, step.off)
		}
		if said := log.String(); !strings.Contains(said, step.says) || (step.says == "") != (said == "") {
			t.Errorf("%s: the log says %q, want %q", step.name, said, step.says)
		}
	}
}

// TestClockFollows proves that the clock is compared regularly, and that this ends.
func TestClockFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c, asked, done := NewClock(time.Now), 0, make(chan struct{})
		go func() {
			defer close(done)
			c.Follow(ctx, func(context.Context) (time.Time, error) { asked++; return time.Now().Add(-time.Minute), nil }, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(10*checkClock + time.Second)
		stop()
		<-done
		if off := time.Since(c.Now()); asked != 10 || off < 59*time.Second {
			t.Errorf("asked %d times, want 10; behind by %v, want a minute", asked, off)
		}
	})
}
