package node

import (
	"context"
	"time"

	"zerodag/internal/catalogue"
)

// alarm wakes this process's scheduler at a given time or when schedules change.
type alarm chan struct{}

func newAlarm() alarm { return make(alarm, 1) }

// Changed implements catalogue.Timing: the scheduler reads the due schedules itself.
func (a alarm) Changed(context.Context, func() ([]catalogue.Firing, error)) error {
	select {
	case a <- struct{}{}:
	default: // it will check anyway
	}
	return nil
}

// clockCheck is how often the clock is checked in case it was set or the machine was suspended.
const clockCheck = time.Second

// wait waits for a given time (zero: none), a schedule change, or the end of ctx. It reads the clock repeatedly because
// timers do not run while a machine is suspended.
func (a alarm) wait(ctx context.Context, next time.Time, now func() time.Time) {
	for {
		wait := clockCheck
		if !next.IsZero() {
			wait = min(wait, next.Sub(now()))
		}
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-a:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
