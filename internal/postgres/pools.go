package postgres

import (
	"context"
	"slices"
	"time"

	"zerodag/internal/host"
)

const (
	poolColumns = "id, site_id, project_id, name, slots, held, created_at, updated_at"
	byPoolName  = " WHERE site_id = $1 AND project_id = $2 AND name = $3"
	thisPool    = "(SELECT id FROM pools" + byPoolName + ")"
)

func scanPool(r *row) host.Pool {
	return host.Pool{ID: r.id(), PoolRef: host.PoolRef{Site: r.id(), Project: r.id(), Name: r.text()}, Slots: r.int(), Held: r.bool(), CreatedAt: r.time(), UpdatedAt: r.time()}
}

// SetPool makes or changes a pool: see host.Pools.
func (db *DB) SetPool(ctx context.Context, ref host.PoolRef, slots int, at time.Time) (p host.Pool, err error) {
	err = db.write(ctx, func(c *conn) (err error) {
		p, _, err = one(c, scanPool, "INSERT INTO pools (site_id, project_id, name, slots, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)"+
			" ON CONFLICT (site_id, project_id, name) DO UPDATE SET slots = excluded.slots, updated_at = excluded.updated_at RETURNING "+poolColumns,
			ref.Site, ref.Project, ref.Name, slots, at)
		return err
	})
	return p, err
}

// HoldPool sets whether a pool is held.
func (db *DB) HoldPool(ctx context.Context, ref host.PoolRef, held bool, at time.Time) (p host.Pool, err error) {
	err = db.write(ctx, func(c *conn) error {
		list, err := collect(c, scanPool, "UPDATE pools SET held = $4, updated_at = $5"+byPoolName+" RETURNING "+poolColumns, ref.Site, ref.Project, ref.Name, held, at)
		if err != nil || len(list) == 0 {
			return orNotFound(err, "hold pool %s", ref.Name)
		}
		p = list[0]
		return nil
	})
	return p, err
}

// Pool returns a pool.
func (db *DB) Pool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	return readOne(ctx, db, scanPool, selection("SELECT "+poolColumns+" FROM pools WHERE site_id = ? AND project_id = ? AND name = ?", ref.Site, ref.Project, ref.Name))
}

// Pools lists pools of a site.
func (db *DB) Pools(ctx context.Context, q host.PoolQuery) ([]host.Pool, error) {
	s := selection("SELECT "+poolColumns+" FROM pools WHERE id > ?", q.After)
	s.when(q.Site != host.AnySite, " AND site_id = ?", q.Site)
	s.when(true, " ORDER BY id LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanPool, s)
}

// DeletePool removes a pool that nobody uses. It locks the row, so that nobody takes a slot or joins meanwhile.
func (db *DB) DeletePool(ctx context.Context, ref host.PoolRef) error {
	return db.write(ctx, func(c *conn) error {
		id, found, err := one(c, (*row).id, "SELECT id FROM pools"+byPoolName+" FOR UPDATE", ref.Site, ref.Project, ref.Name)
		if err != nil || !found {
			return orNotFound(err, "delete pool %s", ref.Name)
		}
		_, used, err := one(c, (*row).id, "SELECT pool_id FROM pool_slots WHERE pool_id = $1 UNION ALL SELECT pool_id FROM pool_claims WHERE pool_id = $1 LIMIT 1", id)
		if err != nil {
			return err
		}
		if used {
			return host.ErrConflict
		}
		_, err = c.exec("DELETE FROM pools WHERE id = $1", id)
		return err
	})
}

// What a row of a line is.
const (
	theSlots = iota
	aTaken
	aClaim
)

// readLine reads a pool at one moment, with one journey to the server: the pool, its taken slots by number, its claims in
// order.
const readLine = "WITH p AS (SELECT id, slots, held FROM pools" + byPoolName + ")," +
	" c AS (SELECT rank, since, holder, slots FROM pool_claims WHERE pool_id = (SELECT id FROM p) ORDER BY rank, since, holder LIMIT (SELECT greatest(slots, $4) FROM p))" +
	" SELECT 0 AS kind, slots AS a, held::int::bigint AS b, ''::bytea AS holder, 0::bigint AS n FROM p" +
	" UNION ALL SELECT 1, number, taken_at, holder, 0 FROM pool_slots WHERE pool_id = (SELECT id FROM p)" +
	" UNION ALL SELECT 2, rank, since, holder, slots FROM c" +
	" ORDER BY kind, a, b, holder"

// Line reads a pool: see host.Semaphore.
func (db *DB) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	err = db.read(ctx, func(c *conn) error {
		l = host.Line{}
		return c.query(func(r *row) {
			kind, a, b, holder, slots := r.int(), r.id(), r.id(), r.text(), r.int()
			switch kind {
			case theSlots:
				l.Slots, l.Held = int(a), b != 0
			case aTaken:
				l.Taken = append(l.Taken, host.TakenSlot{Number: int(a), Holder: holder, At: time.UnixMicro(b).UTC()})
			case aClaim:
				l.Waiting = append(l.Waiting, host.Claim{Holder: holder, Slots: slots, Priority: -int(a), Since: b})
			}
		}, readLine, ref.Site, ref.Project, ref.Name, n)
	})
	return l, err
}

// TakeSlots gives slots to a holder: see host.Semaphore. Slots are taken in the order of their numbers: two who take
// several cannot wait for each other.
func (db *DB) TakeSlots(ctx context.Context, ref host.PoolRef, claim host.Claim, numbers []int, inLine bool, at time.Time) error {
	return db.write(ctx, func(c *conn) error {
		id, found, err := one(c, (*row).id, "SELECT id FROM pools"+byPoolName+" FOR SHARE", ref.Site, ref.Project, ref.Name)
		if err != nil {
			return err
		}
		if !found {
			return host.ErrConflict // it was deleted: the next read says so
		}
		for _, number := range slices.Sorted(slices.Values(numbers)) {
			n, err := c.exec("INSERT INTO pool_slots (pool_id, number, holder, taken_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", id, number, claim.Holder, at)
			if err != nil {
				return err
			}
			if n == 0 {
				return host.ErrConflict
			}
		}
		if inLine {
			_, err = c.exec("DELETE FROM pool_claims WHERE pool_id = $1 AND rank = $2 AND since = $3 AND holder = $4", id, -claim.Priority, claim.Since, claim.Holder)
		}
		return err
	})
}

// JoinLine puts a claim into the line.
func (db *DB) JoinLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT INTO pool_claims (pool_id, rank, since, holder, slots) SELECT id, $4::bigint, $5::bigint, $6::bytea, $7::bigint FROM pools"+byPoolName+" FOR SHARE ON CONFLICT DO NOTHING",
			ref.Site, ref.Project, ref.Name, -claim.Priority, claim.Since, claim.Holder, claim.Slots)
		return err
	})
}

// LeaveLine takes a claim out of the line.
func (db *DB) LeaveLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("DELETE FROM pool_claims WHERE pool_id = "+thisPool+" AND rank = $4 AND since = $5 AND holder = $6",
			ref.Site, ref.Project, ref.Name, -claim.Priority, claim.Since, claim.Holder)
		return err
	})
}

// FreeSlots frees slots of a holder.
func (db *DB) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	list := make([]int64, len(numbers))
	for i, n := range numbers {
		list[i] = int64(n)
	}
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("DELETE FROM pool_slots WHERE pool_id = "+thisPool+" AND number = ANY($4) AND holder = $5", ref.Site, ref.Project, ref.Name, list, holder)
		return err
	})
}
