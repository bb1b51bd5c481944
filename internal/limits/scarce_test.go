package limits_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/limits"
	"zerodag/operators"
)

// TestPatiently proves that work that needs disk space waits for it, reports that once in the log of its task and ends
// with its context, that other errors end it at once, and that WhileScarce does not wait for disk space.
func TestPatiently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := &os.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}
		said := &saying{}
		began, tries := time.Now(), 0
		err := limits.Patiently(t.Context(), said, func() error {
			if tries++; time.Since(began) < time.Minute {
				return full
			}
			return nil
		})
		if took := time.Since(began); err != nil || took < time.Minute || took > time.Minute+2*time.Second || tries > 50 {
			t.Errorf("%v after %v and %d tries", err, took, tries)
		}
		if len(said.lines) != 1 || !strings.Contains(said.lines[0], "too little free space") {
			t.Errorf("said %q", said.lines)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := limits.Patiently(ctx, nil, func() error { return full }); !errors.Is(err, context.DeadlineExceeded) || !limits.Full(err) {
			t.Errorf("at the end of its context: %v", err)
		}
		began = time.Now()
		if err := limits.Patiently(t.Context(), nil, func() error { return syscall.EACCES }); err != syscall.EACCES || time.Since(began) > 0 {
			t.Errorf("other trouble: %v after %v", err, time.Since(began))
		}
		if err := limits.WhileScarce(t.Context(), func() error { return full }); err != full || time.Since(began) > 0 {
			t.Errorf("WhileScarce: %v after %v", err, time.Since(began))
		}
	})
}

// saying records a log's messages.
type saying struct {
	operators.Log
	lines []string
}

func (s *saying) Write(p []byte) (int, error) { return len(p), nil }
func (s *saying) Line(_ operators.Level, _, message string) {
	s.lines = append(s.lines, message)
}
