package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
	"zerodag/internal/pool"
)

// pooling manages site pools and project pools.
type pooling struct{ *stores }

// SetPool creates a pool, or changes its number of slots.
func (c pooling) SetPool(ctx context.Context, ref host.PoolRef, slots int64) (host.Pool, error) {
	if err := names.Pool(ref.Name); err != nil {
		return host.Pool{}, err
	}
	if slots < 1 || slots > host.MaxPoolSlots {
		return host.Pool{}, host.Invalidf("A pool has 1 to %d slots, not %d: to stop granting slots for a while, hold the pool", host.MaxPoolSlots, slots)
	}
	p, err := c.o.Pools.SetPool(ctx, ref, int(slots), c.o.Now().UTC())
	if err != nil {
		return p, err
	}
	return p, c.slots().Stir(ctx, ref)
}

// slots returns the runner that runs turns on the deployment's pools.
func (c *stores) slots() pool.Runner {
	return pool.NewRunner(c.o.Semaphore, c.o.Pools, c.o.Events, c.o.Now)
}

// HoldPool puts a pool on hold or ends the hold. A held pool grants no slots; current holders keep theirs.
func (c pooling) HoldPool(ctx context.Context, ref host.PoolRef, held bool) (host.Pool, error) {
	p, err := c.o.Pools.HoldPool(ctx, ref, held, c.o.Now().UTC())
	if err != nil || held {
		return p, namedPool(err, ref)
	}
	return p, c.slots().Stir(ctx, ref)
}

// Pool returns a pool with its taken slots and at least its first n waiting claims.
func (c pooling) Pool(ctx context.Context, ref host.PoolRef, n int) (host.Pool, host.Line, error) {
	p, err := c.o.Pools.Pool(ctx, ref)
	if err != nil {
		return p, host.Line{}, namedPool(err, ref)
	}
	l, err := c.o.Semaphore.Line(ctx, ref, n)
	return p, l, err
}

// Pools lists the pools that users created for a site and its projects, ascending by id.
func (c pooling) Pools(ctx context.Context, q host.PoolQuery) (made []host.Pool, err error) {
	for {
		list, err := c.o.Pools.Pools(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if q.After = p.ID; !p.Implicit() {
				made = append(made, p)
			}
			if q.Count > 0 && len(made) == q.Count {
				return made, nil
			}
		}
		if q.Count == 0 || len(list) < q.Count {
			return made, nil
		}
	}
}

// DeletePool removes an unused pool and returns its last state.
func (c pooling) DeletePool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	p, err := c.o.Pools.Pool(ctx, ref)
	if err == nil {
		err = c.o.Pools.DeletePool(ctx, ref)
	}
	if errors.Is(err, host.ErrConflict) {
		return p, host.Conflictf("Tasks occupy slots of pool %s or wait for them: `zerodag pool show %s` lists them; delete the pool when they have ended", ref.Name, ref.Name)
	}
	return p, namedPool(err, ref)
}

// namedPool names the missing pool in an error.
func namedPool(err error, ref host.PoolRef) error {
	if errors.Is(err, host.ErrNotFound) {
		return host.Missingf("pool name=%s", ref.Name)
	}
	return err
}

// settled is how long a slot must have been taken before a check verifies that its holder still needs it.
const settled = time.Minute

// checkPools checks all pools once. A crash can leave a slot taken by a try that has ended, or keep a waiting try from
// being woken. Both are rare, and nothing else finds them. Only the log decides, so a slow task keeps its slots.
func (c *stores) checkPools(ctx context.Context) error {
	if c.o.Pools == nil {
		return nil
	}
	var failed []error
	for after := int64(0); ; {
		list, err := c.o.Pools.Pools(ctx, host.PoolQuery{Site: host.AnySite, After: after, Count: atOnce})
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, p := range list {
			if err := c.checkPool(ctx, p); err != nil {
				failed = append(failed, err)
			}
			after = p.ID
		}
		if len(list) < atOnce {
			return errors.Join(failed...)
		}
	}
}

// idle is how long an unused implicit pool is kept after the last change of its size, because creating it again costs a
// write.
const idle = 24 * time.Hour

func (c *stores) checkPool(ctx context.Context, p host.Pool) error {
	ref := p.PoolRef
	l, err := c.o.Semaphore.Line(ctx, ref, 0)
	if err != nil {
		return fmt.Errorf("update pool %s: %w", ref.Name, err)
	}
	if p.Implicit() && len(l.Taken)+len(l.Waiting) == 0 && c.o.Now().Sub(p.UpdatedAt) > idle {
		if err := c.o.Pools.DeletePool(ctx, ref); err != nil && !errors.Is(err, host.ErrConflict) && !errors.Is(err, host.ErrNotFound) {
			return fmt.Errorf("remove pool %s: %w", ref.Name, err)
		}
		return nil
	}
	r, looked := c.slots(), map[string]bool{}
	for _, s := range l.Taken {
		if looked[s.Holder] || c.o.Now().Sub(s.At) < settled {
			continue
		}
		looked[s.Holder] = true
		if err := c.checkHolder(ctx, r, ref, s.Holder); err != nil {
			return err
		}
	}
	if len(l.Waiting) == 0 {
		return nil
	}
	return r.Stir(ctx, ref)
}

// checkHolder frees the slots of a try that has ended, and wakes a task that has not noticed that it holds slots. It
// reads the log after the slot.
func (c *stores) checkHolder(ctx context.Context, r pool.Runner, ref host.PoolRef, holder string) error {
	h, err := host.ParseHolder(holder)
	if err != nil {
		return err
	}
	stands, held := claim.TryOver, host.Claim{Holder: holder}
	loaded, err := c.o.Reader.Load(ctx, h.Attempt)
	switch {
	case err == nil:
		task := engine.TaskID(h.Task)
		if stands = loaded.State.TryOf(task, h.Try, ref.Name); stands == claim.TryWaits {
			u, _ := loaded.State.UseOf(task)
			asked := u.Asked()
			held.Slots, held.Priority, held.Since = asked.Slots, asked.Priority, u.Since.UnixMilli()
		}
	case !errors.Is(err, host.ErrGone) && !errors.Is(err, host.ErrNotFound):
		return fmt.Errorf("update pool %s: %w", ref.Name, err)
	}
	switch stands {
	case claim.TryOver:
		c.o.Logger.Warn("slots of a pool are freed: their task has ended", "pool", ref.Name, "attempt", h.Attempt, "task", h.Task)
		_, err := r.Run(ctx, ref, pool.Release(held, false))
		return err
	case claim.TryWaits:
		return r.Wake(ctx, ref, []host.Claim{held})
	}
	return nil
}
