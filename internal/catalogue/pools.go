package catalogue

import (
	"context"
	"errors"
	"regexp"

	"zerodag/internal/host"
)

// pooling keeps the pools of sites and projects.
type pooling struct{ *stores }

// CheckPoolName refuses names that a pool cannot have.
func CheckPoolName(name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`).MatchString(name) {
		return host.Invalidf("Invalid name of a pool: %q: it has 1 to 100 letters, digits, and - _ . which it must not begin with", name)
	}
	return nil
}

// SetPool makes a pool, or changes how many slots it has.
func (c pooling) SetPool(ctx context.Context, ref host.PoolRef, slots int64) (host.Pool, error) {
	if err := CheckPoolName(ref.Name); err != nil {
		return host.Pool{}, err
	}
	if slots < 1 || slots > host.MaxPoolSlots {
		return host.Pool{}, host.Invalidf("A pool has 1 to %d slots, not %d: to grant none of them for a while, hold the pool", host.MaxPoolSlots, slots)
	}
	return c.o.Pools.SetPool(ctx, ref, int(slots), c.o.Now().UTC())
}

// HoldPool sets whether a pool is held: then nobody is given a slot, and who has one keeps it.
func (c pooling) HoldPool(ctx context.Context, ref host.PoolRef, held bool) (host.Pool, error) {
	p, err := c.o.Pools.HoldPool(ctx, ref, held, c.o.Now().UTC())
	return p, namedPool(err, ref)
}

// Pool returns a pool with its slots that are taken, and at least the first n claims that wait.
func (c pooling) Pool(ctx context.Context, ref host.PoolRef, n int) (host.Pool, host.Line, error) {
	p, err := c.o.Pools.Pool(ctx, ref)
	if err != nil {
		return p, host.Line{}, namedPool(err, ref)
	}
	l, err := c.o.Semaphore.Line(ctx, ref, n)
	return p, l, err
}

// Pools lists pools of a site and of its projects, ascending by id.
func (c pooling) Pools(ctx context.Context, q host.PoolQuery) ([]host.Pool, error) {
	return c.o.Pools.Pools(ctx, q)
}

// DeletePool removes a pool that nobody uses, and returns what it was.
func (c pooling) DeletePool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	p, err := c.o.Pools.Pool(ctx, ref)
	if err == nil {
		err = c.o.Pools.DeletePool(ctx, ref)
	}
	if errors.Is(err, host.ErrConflict) {
		return p, host.Conflictf("Tasks have slots of pool %s, or wait for one: `zerodag pool show %s` lists them; delete the pool when they have ended", ref.Name, ref.Name)
	}
	return p, namedPool(err, ref)
}

// namedPool says which pool there is not.
func namedPool(err error, ref host.PoolRef) error {
	if errors.Is(err, host.ErrNotFound) {
		return host.Missingf("pool name=%s", ref.Name)
	}
	return err
}
