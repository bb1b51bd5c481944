package sqlstore

import (
	"context"
	"time"

	"zerodag/internal/host"
)

const (
	backfillColumns = "id, site_id, project_id, project_name, workflow_definition_id, workflow_name, name, created_at," +
		" updated_at, finished_at, version, plan, state"
	selectBackfill = "SELECT " + backfillColumns + " FROM @backfills "
)

func scanBackfill(r *Row) host.Backfill {
	b := host.Backfill{ID: r.ID(), Site: r.ID(), Project: scanRef(r), Workflow: scanRef(r), Name: r.Text(),
		CreatedAt: r.Time(), UpdatedAt: r.Time(), FinishedAt: r.Time(), Version: r.ID()}
	r.fail(b.DecodeBackfill([]byte(r.Text()), []byte(r.Text())))
	return b
}

// AddBackfill stores a new backfill: see host.Backfills. If another backfill with its name is removed in the meantime,
// the next call adds it.
func (s *Store) AddBackfill(ctx context.Context, b host.Backfill) (added host.Backfill, err error) {
	plan, state, err := host.EncodeBackfill(b)
	if err != nil {
		return b, err
	}
	err = s.acknowledge(ctx, func(t tx) error {
		made, isNew, err := One(t, scanBackfill, "INSERT INTO @backfills (site_id, project_id, project_name,"+
			" workflow_definition_id, workflow_name, name, plan, state, created_at, updated_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING "+backfillColumns,
			b.Site, b.Project.ID, b.Project.Name, b.Workflow.ID, b.Workflow.Name, b.Name, string(plan), string(state),
			b.CreatedAt, b.UpdatedAt)
		if err != nil || isNew {
			added = made
			return err
		}
		var there bool
		added, there, err = One(t, scanBackfill, selectBackfill+"WHERE project_id = ? AND workflow_name = ? AND name = ?",
			b.Project.ID, b.Workflow.Name, b.Name)
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
func (s *Store) Backfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	return ReadOne(ctx, s, scanBackfill, Select(selectBackfill+"WHERE id = ?", id).ofSite("site_id", site))
}

// Backfills lists backfills in descending order of id.
func (s *Store) Backfills(ctx context.Context, q host.BackfillQuery) ([]host.Backfill, error) {
	list := Select(selectBackfill+"WHERE true").ofSite("site_id", q.Site)
	list.When(q.Open, " AND finished_at IS NULL")
	list.When(q.Project != 0, " AND project_id = ?", q.Project)
	list.When(q.Workflow != "", " AND workflow_name = ?", q.Workflow)
	list.When(q.Before != 0, " AND id < ?", q.Before)
	list.Order("id DESC", q.Count)
	return ReadAll(ctx, s, scanBackfill, list)
}

// UpdateBackfill changes a backfill: see host.Backfills.
func (s *Store) UpdateBackfill(ctx context.Context, b host.Backfill) error {
	_, state, err := host.EncodeBackfill(b)
	if err != nil {
		return err
	}
	return s.acknowledge(ctx, func(t tx) error {
		n, err := t.Exec("UPDATE @backfills SET state = ?, updated_at = ?, finished_at = ?, version = version + 1"+
			" WHERE id = ? AND version = ?",
			string(state), b.UpdatedAt, b.FinishedAt, b.ID, b.Version)
		if err == nil && n == 0 {
			err = host.ErrConflict
		}
		return err
	})
}

// ForgetBackfills removes backfills that have ended: see host.Backfills.
func (s *Store) ForgetBackfills(ctx context.Context, before time.Time, n int) (gone int, err error) {
	err = s.write(ctx, func(t tx) error {
		deleted, err := t.Exec("DELETE FROM @backfills WHERE id IN (SELECT id FROM @backfills WHERE finished_at IS NOT NULL"+
			" AND finished_at < ? ORDER BY finished_at LIMIT ?)",
			before, n)
		gone = int(deleted)
		return err
	})
	return gone, err
}
