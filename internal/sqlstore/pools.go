package sqlstore

import (
	"context"
	"time"

	"zerodag/internal/host"
)

const (
	poolColumns = "id, site_id, project_id, name, slots, held, created_at, updated_at"
	byPoolName  = " WHERE site_id = ? AND project_id = ? AND name = ?"
)

func scanPool(r *Row) host.Pool {
	return host.Pool{ID: r.ID(), PoolRef: host.PoolRef{Site: r.ID(), Project: r.ID(), Name: r.Text()},
		Slots: r.Int(), Held: r.Bool(), CreatedAt: r.Time(), UpdatedAt: r.Time()}
}

// SetPool creates or changes a pool: see host.Pools.
func (s *Store) SetPool(ctx context.Context, ref host.PoolRef, slots int, at time.Time) (p host.Pool, err error) {
	err = s.acknowledge(ctx, func(t tx) (err error) {
		p, _, err = One(t, scanPool, "INSERT INTO @pools (site_id, project_id, name, slots, created_at, updated_at)"+
			" VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (site_id, project_id, name) DO UPDATE"+
			" SET slots = excluded.slots, updated_at = excluded.updated_at RETURNING "+poolColumns,
			ref.Site, ref.Project, ref.Name, slots, at, at)
		return err
	})
	return p, err
}

// HoldPool sets whether a pool is held.
func (s *Store) HoldPool(ctx context.Context, ref host.PoolRef, held bool, at time.Time) (p host.Pool, err error) {
	err = s.acknowledge(ctx, func(t tx) (err error) {
		var found bool
		p, found, err = One(t, scanPool, "UPDATE @pools SET held = ?, updated_at = ?"+byPoolName+" RETURNING "+poolColumns,
			held, at, ref.Site, ref.Project, ref.Name)
		if err != nil || !found {
			return OrNotFound(err, "hold pool %s", ref.Name)
		}
		return nil
	})
	return p, err
}

// Pool returns a pool.
func (s *Store) Pool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	return ReadOne(ctx, s, scanPool,
		Select("SELECT "+poolColumns+" FROM @pools"+byPoolName, ref.Site, ref.Project, ref.Name))
}

// Pools lists pools of a site.
func (s *Store) Pools(ctx context.Context, q host.PoolQuery) ([]host.Pool, error) {
	list := Select("SELECT "+poolColumns+" FROM @pools WHERE id > ?", q.After).ofSite("site_id", q.Site)
	list.Order("id", q.Count)
	return ReadAll(ctx, s, scanPool, list)
}

// hold finds a pool and locks its row until the end of the transaction.
func (t tx) hold(ref host.PoolRef, clause string) (id int64, found bool, err error) {
	return One(t, (*Row).ID, t.locking("SELECT id FROM @pools"+byPoolName, clause), ref.Site, ref.Project, ref.Name)
}

// DeletePool removes an unused pool. It locks the row, so that no task takes a slot or joins the line in the meantime.
func (s *Store) DeletePool(ctx context.Context, ref host.PoolRef) error {
	return s.acknowledge(ctx, func(t tx) error {
		id, found, err := t.hold(ref, "FOR UPDATE")
		if err != nil || !found {
			return OrNotFound(err, "delete pool %s", ref.Name)
		}
		_, used, err := One(t, (*Row).ID, "SELECT pool_id FROM @pool_slots WHERE pool_id = ?"+
			" UNION ALL SELECT pool_id FROM @pool_claims WHERE pool_id = ? LIMIT 1", id, id)
		if err != nil {
			return err
		}
		if used {
			return host.ErrConflict
		}
		_, err = t.Exec("DELETE FROM @pools WHERE id = ?", id)
		return err
	})
}
