package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// outage is a time in which the store cannot work. It is told when it begins, now and then, and
// when it is over: with a thousand messages that wait, one line for each try would be a flood.
type outage struct {
	mu     sync.Mutex
	since  time.Time // zero: the store works
	told   time.Time // when one was told of for the last time
	known  bool      // this one was told of
	failed int       // tries, since it was told
}

// tellEvery is how often an outage that lasts is told again.
const tellEvery = time.Minute

// away notes that the store could not do something, which is kept and tried again.
func (h *Host) away(what string, err error) {
	h.stats.errors.Add(1)
	o := &h.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	now := h.Now()
	if o.since.IsZero() {
		o.since = now
	}
	o.failed++
	if since := now.Sub(o.told); since >= 0 && since < tellEvery {
		return
	}
	h.Logger.Error("the store is not available: what is under way is kept and tried again", "doing", what, "tries", o.failed, "since", o.since.UTC().Format(time.RFC3339), "error", err)
	o.told, o.known, o.failed = now, true, 0
}

// back notes that the store has done something.
func (h *Host) back() {
	o := &h.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return
	}
	if o.known {
		h.Logger.Info("the store is available again", "after", h.Now().Sub(o.since).Round(time.Millisecond))
	}
	o.since, o.known, o.failed = time.Time{}, false, 0
}

// insist does something again and again while the store is not available.
func (h *Host) insist(ctx context.Context, what string, do func() error) error {
	for tries := 0; ; tries++ {
		err := do()
		if err == nil && tries > 0 {
			h.back()
		}
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return err // with the end of ctx it is for the next process to try
		}
		h.away(what, err)
		h.pause(ctx, h.patience(tries))
	}
}

// patience is how long to wait before the next try of what the store could not do.
func (h *Host) patience(tries int) time.Duration { return min(backOff(tries), h.Limits.StoreRetry) }

// backOff is how long to wait before the next try: 1 s, 2 s ... 1 min.
func backOff(tries int) time.Duration { return min(time.Second<<min(tries, 6), time.Minute) }
