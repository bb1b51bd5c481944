package pool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// Runner runs turns on a store.
type Runner struct {
	Semaphore host.Semaphore
	// Wake makes claims try again. Waking a claim twice, or after its end, is harmless; a claim that is not woken may
	// wait forever.
	Wake func(ctx context.Context, pool host.PoolRef, claims []host.Claim) error
	Now  func() time.Time

	pools  host.Pools
	size   int // of an implicit pool; 0: the pool must exist
	resize bool
}

// NewRunner returns a runner that wakes waiting tasks with messages to their attempts.
func NewRunner(s host.Semaphore, p host.Pools, q host.Queue, now func() time.Time) Runner {
	return Runner{Semaphore: s, pools: p, Now: now, Wake: func(ctx context.Context, ref host.PoolRef, claims []host.Claim) error {
		list := make([]host.Message, len(claims))
		for i, c := range claims {
			h, err := host.ParseHolder(c.Holder)
			if err != nil {
				return err
			}
			list[i] = host.SlotsMessage(h.Attempt, rand.Text(), events.SlotsAsk{Task: engine.TaskID(h.Task), Try: h.Try, Pool: ref.Name, Slots: c.Slots,
				Priority: c.Priority, Since: c.Since, Woken: true, Site: ref.Site, Project: ref.Project})
		}
		return q.Send(ctx, list...)
	}}
}

// Sized returns a runner for a pool that exists as soon as it is requested, with the given number of slots. With
// resize, it also changes an existing pool to that size; if several requests name different sizes, the last one to
// begin counts.
func (r Runner) Sized(size int, resize bool) Runner {
	r.size, r.resize = size, resize
	return r
}

// line reads a pool. resized reports whether this call changed its size.
func (r Runner) line(ctx context.Context, ref host.PoolRef) (l host.Line, resized bool, err error) {
	l, err = r.Semaphore.Line(ctx, ref, 0)
	if err != nil || r.size == 0 || l.Slots == r.size || l.Slots > 0 && !r.resize {
		return l, false, err
	}
	if _, err := r.pools.SetPool(ctx, ref, r.size, r.Now()); err != nil {
		return l, false, err
	}
	l, err = r.Semaphore.Line(ctx, ref, 0)
	return l, true, err
}

// Run runs a turn to its end. After an error, it is unknown how much was done: the turn must be run again from its
// beginning, marked as repeated, until it succeeds.
func (r Runner) Run(ctx context.Context, pool host.PoolRef, t Turn) (Outcome, error) {
	for {
		call := t.Next()
		if call.Kind == End {
			return call.Outcome, nil
		}
		next, err := r.call(ctx, pool, t, call)
		if err != nil {
			return 0, fmt.Errorf("pool %s: %w", pool.Name, err)
		}
		t = next
	}
}

func (r Runner) call(ctx context.Context, pool host.PoolRef, t Turn, c Call) (Turn, error) {
	var err error
	switch c.Kind {
	case Read:
		l, resized, err := r.line(ctx, pool)
		if err != nil {
			return t, err
		}
		t.settled = t.settled && !resized
		return t.Saw(l), nil
	case Take:
		err = r.Semaphore.TakeSlots(ctx, pool, t.claim, c.Numbers, c.InLine, r.Now())
		if errors.Is(err, host.ErrConflict) {
			return t.Refused(), nil
		}
	case Join:
		err = r.Semaphore.JoinLine(ctx, pool, t.claim)
	case Leave:
		err = r.Semaphore.LeaveLine(ctx, pool, t.claim)
	case Free:
		err = r.Semaphore.FreeSlots(ctx, pool, t.claim.Holder, c.Numbers)
	case Wake:
		err = r.Wake(ctx, pool, c.Wake)
	}
	return t.Done(), err
}

// Stir wakes the claims at the head of a line that fit, after a pool was made larger or released.
func (r Runner) Stir(ctx context.Context, pool host.PoolRef) error {
	l, err := r.Semaphore.Line(ctx, pool, 0)
	if err == nil {
		if heads := Heads(l, "", maxWakes); len(heads) > 0 {
			err = r.Wake(ctx, pool, heads)
		}
	}
	if err != nil {
		return fmt.Errorf("pool %s: %w", pool.Name, err)
	}
	return nil
}
