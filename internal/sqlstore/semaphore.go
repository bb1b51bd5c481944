package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"zerodag/internal/host"
)

// The kinds of rows of readLine.
const (
	theSlots = iota
	aTaken
	aClaim
)

// readLine reads a consistent state of a pool in one round trip: the pool, its taken slots by number, and its claims in
// order.
const readLine = "WITH p AS (SELECT id, slots, held FROM @pools" + byPoolName + ")," +
	" c AS (SELECT rank, since, holder, slots FROM @pool_claims WHERE pool_id = (SELECT id FROM p)" +
	" ORDER BY rank, since, holder LIMIT coalesce((SELECT CASE WHEN slots > ? THEN slots ELSE ? END FROM p), 0))" +
	" SELECT 0 AS kind, slots AS a, CASE WHEN held THEN 1 ELSE 0 END AS b, '' AS holder, 0 AS n FROM p" +
	" UNION ALL SELECT 1, number, taken_at, holder, 0 FROM @pool_slots WHERE pool_id = (SELECT id FROM p)" +
	" UNION ALL SELECT 2, rank, since, holder, slots FROM c ORDER BY kind, a, b, holder"

// Line reads a pool: see host.Semaphore.
func (s *Store) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	err = s.driver.Read(ctx, func(c Conn) error {
		l = host.Line{}
		return c.Query(func(r *Row) {
			kind, a, b, holder, slots := r.Int(), r.ID(), r.ID(), r.Text(), r.Int()
			switch kind {
			case theSlots:
				l.Slots, l.Held = int(a), b != 0
			case aTaken:
				l.Taken = append(l.Taken, host.TakenSlot{Number: int(a), Holder: holder, At: time.UnixMicro(b).UTC()})
			case aClaim:
				l.Waiting = append(l.Waiting, host.Claim{Holder: holder, Slots: slots, Priority: -int(a), Since: b})
			}
		}, readLine, ref.Site, ref.Project, ref.Name, n, n)
	})
	return l, err
}

// TakeSlots gives slots to a holder: see host.Semaphore. The entry that names them in the holder's log survives a power
// loss, and so does every earlier write. Slots are taken in numerical order so that two transactions that take several
// slots cannot wait for each other.
func (s *Store) TakeSlots(ctx context.Context, ref host.PoolRef, claim host.Claim, numbers []int,
	inLine bool, at time.Time) error {
	return s.write(ctx, func(t tx) error {
		id, found, err := t.hold(ref, "FOR SHARE")
		if err != nil {
			return err
		}
		if !found {
			return host.ErrConflict // it was deleted, as the next read shows
		}
		for _, number := range slices.Sorted(slices.Values(numbers)) {
			n, err := t.Exec("INSERT INTO @pool_slots (pool_id, number, holder, taken_at) VALUES (?, ?, ?, ?)"+
				" ON CONFLICT DO NOTHING", id, number, claim.Holder, at)
			if err != nil {
				return err
			}
			if n == 0 {
				return host.ErrConflict
			}
		}
		if inLine {
			_, err = t.Exec("DELETE FROM @pool_claims WHERE pool_id = ? AND rank = ? AND since = ? AND holder = ?",
				id, -claim.Priority, claim.Since, claim.Holder)
		}
		return err
	})
}

// JoinLine puts a claim into the line.
func (s *Store) JoinLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return s.write(ctx, func(t tx) error {
		join := t.locking("INSERT INTO @pool_claims (pool_id, rank, since, holder, slots) SELECT id, ?, ?, ?, ?"+
			" FROM @pools"+byPoolName, "FOR SHARE") + " ON CONFLICT DO NOTHING"
		_, err := t.Exec(join, -claim.Priority, claim.Since, claim.Holder, claim.Slots, ref.Site, ref.Project, ref.Name)
		return err
	})
}

// thisPool finds a pool's id by the pool's name.
const thisPool = "(SELECT id FROM @pools" + byPoolName + ")"

// LeaveLine takes a claim out of the line.
func (s *Store) LeaveLine(ctx context.Context, ref host.PoolRef, claim host.Claim) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM @pool_claims WHERE pool_id = "+thisPool+" AND rank = ? AND since = ? AND holder = ?",
			ref.Site, ref.Project, ref.Name, -claim.Priority, claim.Since, claim.Holder)
		return err
	})
}

// FreeSlots frees slots of a holder.
func (s *Store) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	if len(numbers) == 0 {
		return nil
	}
	q := Select("DELETE FROM @pool_slots WHERE pool_id = "+thisPool+" AND holder = ?",
		ref.Site, ref.Project, ref.Name, holder)
	q.When(true, " AND number IN (?"+strings.Repeat(", ?", len(numbers)-1)+")")
	for _, n := range numbers {
		q.Args = append(q.Args, n)
	}
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec(q.SQL, q.Args...)
		return err
	})
}
