package postgres

import (
	"context"
	"time"

	"zerodag/internal/host"
)

const (
	backfillColumns = "id, site_id, project_id, project_name, workflow_definition_id, workflow_name, name, created_at, updated_at, finished_at, version, plan, state"
	selectBackfill  = "SELECT " + backfillColumns + " FROM backfills "
)

func scanBackfill(r *row) host.Backfill {
	b := host.Backfill{ID: r.id(), Site: r.id(), Project: scanRef(r), Workflow: scanRef(r), Name: r.text(), CreatedAt: r.time(), UpdatedAt: r.time(), FinishedAt: r.time(), Version: r.id()}
	if err := b.DecodeBackfill([]byte(r.text()), []byte(r.text())); err != nil {
		r.err = err
	}
	return b
}

// AddBackfill keeps a new backfill: see host.Backfills. One that was removed in between is added at the next try.
func (db *DB) AddBackfill(ctx context.Context, b host.Backfill) (added host.Backfill, err error) {
	plan, state, err := host.EncodeBackfill(b)
	if err != nil {
		return b, err
	}
	err = db.write(ctx, func(c *conn) error {
		made, there, err := one(c, scanBackfill, "INSERT INTO backfills (site_id, project_id, project_name, workflow_definition_id, workflow_name, name, plan, state, created_at, updated_at)"+
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING "+backfillColumns,
			b.Site, b.Project.ID, b.Project.Name, b.Workflow.ID, b.Workflow.Name, b.Name, string(plan), string(state), b.CreatedAt, b.UpdatedAt)
		if err != nil || there {
			added = made
			return err
		}
		added, there, err = one(c, scanBackfill, selectBackfill+"WHERE project_id = $1 AND workflow_name = $2 AND name = $3", b.Project.ID, b.Workflow.Name, b.Name)
		switch {
		case err != nil:
			return err
		case !there:
			return host.ErrUnavailable
		}
		return host.ErrConflict
	})
	return added, err
}

// Backfill returns a backfill.
func (db *DB) Backfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	return readOne(ctx, db, scanBackfill, selection(selectBackfill+"WHERE id = ? AND ?::bigint IN (-1, site_id)", id, site))
}

// Backfills lists backfills, descending by id.
func (db *DB) Backfills(ctx context.Context, q host.BackfillQuery) ([]host.Backfill, error) {
	s := selection(selectBackfill + "WHERE true")
	s.when(q.Site != host.AnySite, " AND site_id = ?", q.Site)
	s.when(q.Open, " AND finished_at IS NULL")
	s.when(q.Project != 0, " AND project_id = ?", q.Project)
	s.when(q.Workflow != "", " AND workflow_name = ?", q.Workflow)
	s.when(q.Before != 0, " AND id < ?", q.Before)
	s.when(true, " ORDER BY id DESC LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanBackfill, s)
}

// UpdateBackfill changes a backfill: see host.Backfills.
func (db *DB) UpdateBackfill(ctx context.Context, b host.Backfill) error {
	_, state, err := host.EncodeBackfill(b)
	if err != nil {
		return err
	}
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE backfills SET state = $1, updated_at = $2, finished_at = $3, version = version + 1 WHERE id = $4 AND version = $5",
			string(state), b.UpdatedAt, b.FinishedAt, b.ID, b.Version)
		if err == nil && n == 0 {
			err = host.ErrConflict
		}
		return err
	})
}

// ForgetBackfills removes backfills that are over: see host.Backfills.
func (db *DB) ForgetBackfills(ctx context.Context, t time.Time, n int) (gone int, err error) {
	err = db.write(ctx, func(c *conn) error {
		deleted, err := c.exec("DELETE FROM backfills WHERE id IN (SELECT id FROM backfills WHERE finished_at IS NOT NULL AND finished_at < $1 ORDER BY finished_at LIMIT $2)", t, n)
		gone = int(deleted)
		return err
	})
	return gone, err
}
