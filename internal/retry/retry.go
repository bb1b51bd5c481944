// Package retry repeats calls that failed because a store is temporarily unavailable, with a growing delay, and logs an
// outage once when it begins, once a minute while it lasts and once when it ends: with a thousand waiting messages, a
// line for each retry would flood the log.
//
// Delivery, catalogue and node share one Retrier. It must never decide which errors are worth a retry: only
// host.ErrUnavailable is.
package retry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
)

// Retrier repeats calls. It is safe for concurrent use.
type Retrier struct {
	// Most is the longest delay between two attempts at a call.
	Most   time.Duration
	Now    func() time.Time
	Logger *slog.Logger
	// Pause waits for a time or the end of a context; nil means a timer.
	Pause func(context.Context, time.Duration)

	failures atomic.Int64

	mu     sync.Mutex
	since  time.Time // zero: the store works
	told   time.Time // when an outage was last logged
	known  bool      // the current outage was logged
	failed int       // failed calls since then
}

// tellEvery is the interval at which a lasting outage is logged again.
const tellEvery = time.Minute

// Failures returns how many retried failures were counted here.
func (r *Retrier) Failures() int64 { return r.failures.Load() }

// Failed counts a failure that the caller logs and retries.
func (r *Retrier) Failed() { r.failures.Add(1) }

// Do repeats do while the store is unavailable, until ctx ends: in that case, the work is left for the next process. Any
// other error is returned at once.
func (r *Retrier) Do(ctx context.Context, what string, do func() error) error {
	for tries := 0; ; tries++ {
		err := do()
		if err == nil && tries > 0 {
			r.Available()
		}
		if !errors.Is(err, host.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		r.Unavailable(what, err)
		r.Wait(ctx, r.Delay(tries))
	}
}

// Wait waits for a time or the end of ctx.
func (r *Retrier) Wait(ctx context.Context, d time.Duration) {
	if r.Pause != nil {
		r.Pause(ctx, d)
		return
	}
	_ = Sleep(ctx, d)
}

// Sleep waits for d, or returns ctx's error if ctx ends earlier.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cool logs why a loop failed and waits a second, so that an outage does not cause a flood of retries.
func (r *Retrier) Cool(ctx context.Context, what string, err error) {
	if errors.Is(err, host.ErrUnavailable) {
		r.Unavailable(what, err)
	} else {
		r.Failed()
		r.Logger.Error(what, "error", err)
	}
	r.Wait(ctx, time.Second)
}

// Unavailable records that the store could not do something, which will be retried.
func (r *Retrier) Unavailable(what string, err error) {
	r.Failed()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if r.since.IsZero() {
		r.since = now
	}
	r.failed++
	if since := now.Sub(r.told); since >= 0 && since < tellEvery {
		return
	}
	r.Logger.Error("the store is unavailable: pending operations are kept and retried", "doing", what, "tries", r.failed, "since", r.since.UTC().Format(time.RFC3339), "error", err)
	r.told, r.known, r.failed = now, true, 0
}

// Available records that a call to the store succeeded.
func (r *Retrier) Available() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		return
	}
	if r.known {
		r.Logger.Info("the store is available again", "after", r.Now().Sub(r.since).Round(time.Millisecond))
	}
	r.since, r.known, r.failed = time.Time{}, false, 0
}

// Delay returns how long to wait before the next retry of a call that the store could not serve.
func (r *Retrier) Delay(tries int) time.Duration { return min(BackOff(tries), r.Most) }

// BackOff returns how long to wait before the next retry of anything: 1 s, 2 s ... 1 min.
func BackOff(tries int) time.Duration { return min(time.Second<<min(tries, 6), time.Minute) }
