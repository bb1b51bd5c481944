package sqlstore

import (
	"context"

	"zerodag/internal/host"
)

// Record adds to the audit log.
func (s *Store) Record(ctx context.Context, e host.Record) error {
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("INSERT INTO @audits (at, site_id, who, action, target, detail) VALUES (?, ?, ?, ?, ?, ?)",
			e.At, e.Site, e.Who, e.Action, e.Target, e.Detail)
		return err
	})
}

// Audits lists entries of the audit log, newest first.
func (s *Store) Audits(ctx context.Context, site, before int64, n int) ([]host.Record, error) {
	q := Select("SELECT id, at, site_id, who, action, target, detail FROM @audits WHERE site_id = ?", site)
	q.When(before != 0, " AND id < ?", before)
	q.Order("id DESC", n)
	return ReadAll(ctx, s, func(r *Row) host.Record {
		return host.Record{ID: r.ID(), At: r.Time(), Site: r.ID(), Who: r.Text(), Action: r.Text(), Target: r.Text(),
			Detail: r.Text()}
	}, q)
}
