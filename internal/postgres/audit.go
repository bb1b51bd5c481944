package postgres

import (
	"context"

	"zerodag/internal/host"
)

// Record adds to the audit log.
func (db *DB) Record(ctx context.Context, e host.Record) error {
	return db.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT INTO audits (at, site_id, who, action, target, detail) VALUES ($1, $2, $3, $4, $5, $6)",
			e.At, e.Site, e.Who, e.Action, e.Target, e.Detail)
		return err
	})
}

// Audits lists entries of the audit log, newest first.
func (db *DB) Audits(ctx context.Context, site, before int64, n int) ([]host.Record, error) {
	s := selection("SELECT id, at, site_id, who, action, target, detail FROM audits WHERE site_id = ?", site)
	s.when(before != 0, " AND id < ?", before)
	s.when(true, " ORDER BY id DESC LIMIT ?", limit(n))
	return readAll(ctx, db, func(r *row) host.Record {
		return host.Record{ID: r.id(), At: r.time(), Site: r.id(), Who: r.text(), Action: r.text(), Target: r.text(), Detail: r.text()}
	}, s)
}
