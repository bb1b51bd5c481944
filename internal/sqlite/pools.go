package sqlite

import (
	"context"
	"errors"
	"time"

	"zerodag/internal/host"
)

const selectPool = "SELECT id, site_id, project_id, name, slots, held, created_at, updated_at FROM pools "

// thisPool finds a pool by its name.
const thisPool = "(SELECT id FROM pools WHERE site_id = ? AND project_id = ? AND name = ?)"

func scanPool(r *row) host.Pool {
	return host.Pool{ID: r.id(), PoolRef: host.PoolRef{Site: r.id(), Project: r.id(), Name: r.text()}, Slots: r.int(), Held: r.id() != 0, CreatedAt: r.time(), UpdatedAt: r.time()}
}

func (c *conn) pool(ref host.PoolRef) (host.Pool, error) {
	p, found, err := one(c, scanPool, selectPool+"WHERE site_id = ? AND project_id = ? AND name = ?", ref.Site, ref.Project, ref.Name)
	if err != nil || !found {
		return p, orNotFound(err, "read pool %s", ref.Name)
	}
	return p, nil
}

// SetPool makes or changes a pool: see host.Pools.
func (db *DB) SetPool(ctx context.Context, ref host.PoolRef, slots int, at time.Time) (p host.Pool, err error) {
	err = db.acknowledge(ctx, func(c *conn) (err error) {
		if _, err = c.exec("INSERT INTO pools (site_id, project_id, name, slots, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"+
			" ON CONFLICT (site_id, project_id, name) DO UPDATE SET slots = excluded.slots, updated_at = excluded.updated_at",
			ref.Site, ref.Project, ref.Name, slots, at, at); err != nil {
			return err
		}
		p, err = c.pool(ref)
		return err
	})
	return p, err
}

// HoldPool sets whether a pool is held.
func (db *DB) HoldPool(ctx context.Context, ref host.PoolRef, held bool, at time.Time) (p host.Pool, err error) {
	err = db.acknowledge(ctx, func(c *conn) (err error) {
		if _, err = c.exec("UPDATE pools SET held = ?, updated_at = ? WHERE site_id = ? AND project_id = ? AND name = ?", held, at, ref.Site, ref.Project, ref.Name); err != nil {
			return err
		}
		p, err = c.pool(ref)
		return err
	})
	return p, err
}

// Pool returns a pool.
func (db *DB) Pool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	return readOne(ctx, db, scanPool, selectPool+"WHERE site_id = ? AND project_id = ? AND name = ?", ref.Site, ref.Project, ref.Name)
}

// Pools lists pools of a site.
func (db *DB) Pools(ctx context.Context, q host.PoolQuery) ([]host.Pool, error) {
	return readAll(ctx, db, scanPool, selection(selectPool+"WHERE ? IN (-1, site_id) AND id > ? ORDER BY id LIMIT ?", q.Site, q.After, limit(q.Count)))
}

// DeletePool removes a pool that nobody uses.
func (db *DB) DeletePool(ctx context.Context, ref host.PoolRef) error {
	return db.acknowledge(ctx, func(c *conn) error {
		p, err := c.pool(ref)
		if err != nil {
			return err
		}
		_, used, err := one(c, (*row).int, "SELECT 1 FROM pool_slots WHERE pool_id = ? UNION ALL SELECT 1 FROM pool_claims WHERE pool_id = ? LIMIT 1", p.ID, p.ID)
		if err != nil {
			return err
		}
		if used {
			return host.ErrConflict
		}
		_, err = c.exec("DELETE FROM pools WHERE id = ?", p.ID)
		return err
	})
}

// Line reads a pool: see host.Semaphore. The line is read after the slots.
func (db *DB) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	err = db.read(ctx, func(c *conn) error {
		p, found, err := one(c, scanPool, selectPool+"WHERE site_id = ? AND project_id = ? AND name = ?", ref.Site, ref.Project, ref.Name)
		if err != nil || !found {
			return err
		}
		l = host.Line{Slots: p.Slots, Held: p.Held}
		if l.Taken, err = collect(c, func(r *row) host.TakenSlot {
			return host.TakenSlot{Number: r.int(), Holder: r.text(), At: r.time()}
		}, "SELECT number, holder, taken_at FROM pool_slots WHERE pool_id = ? ORDER BY number", p.ID); err != nil {
			return err
		}
		l.Waiting, err = collect(c, func(r *row) host.Claim {
			return host.Claim{Priority: -r.int(), Since: r.id(), Holder: r.text(), Slots: r.int()}
		}, "SELECT rank, since, holder, slots FROM pool_claims WHERE pool_id = ? ORDER BY rank, since, holder LIMIT ?", p.ID, max(n, p.Slots))
		return err
	})
	return l, err
}

// TakeSlots gives slots to a holder: see host.Semaphore. The entry that says so in the log of the holder survives a
// loss of power, and with it all that was written before.
func (db *DB) TakeSlots(ctx context.Context, ref host.PoolRef, claim host.Claim, numbers []int, inLine bool, at time.Time) error {
	return db.write(ctx, func(c *conn) error {
		p, err := c.pool(ref)
		if err != nil {
			return conflictIfGone(err)
		}
		for _, number := range numbers {
			n, err := c.exec("INSERT INTO pool_slots (pool_id, number, holder, taken_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", p.ID, number, claim.Holder, at)
			if err != nil {
				return err
			}
			if n == 0 {
				return host.ErrConflict
			}
		}
		if inLine {
			_, err = c.exec(leave, ref.Site, ref.Project, ref.Name, -claim.Priority, claim.Since, claim.Holder)
		}
		return err
	})
}

// conflictIfGone says of a pool that was deleted meanwhile that it is to be read again.
func conflictIfGone(err error) error {
	if errors.Is(err, host.ErrNotFound) {
		return host.ErrConflict
	}
	return err
}

// JoinLine puts a claim into the line.
func (db *DB) JoinLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT INTO pool_claims (pool_id, rank, since, holder, slots) SELECT id, ?, ?, ?, ? FROM pools WHERE site_id = ? AND project_id = ? AND name = ? ON CONFLICT DO NOTHING",
			-claim.Priority, claim.Since, claim.Holder, claim.Slots, ref.Site, ref.Project, ref.Name)
		return err
	})
}

const leave = "DELETE FROM pool_claims WHERE pool_id = " + thisPool + " AND rank = ? AND since = ? AND holder = ?"

// LeaveLine takes a claim out of the line.
func (db *DB) LeaveLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec(leave, ref.Site, ref.Project, ref.Name, -claim.Priority, claim.Since, claim.Holder)
		return err
	})
}

// FreeSlots frees slots of a holder.
func (db *DB) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	return db.write(ctx, func(c *conn) error {
		for _, number := range numbers {
			if _, err := c.exec("DELETE FROM pool_slots WHERE pool_id = "+thisPool+" AND number = ? AND holder = ?", ref.Site, ref.Project, ref.Name, number, holder); err != nil {
				return err
			}
		}
		return nil
	})
}
