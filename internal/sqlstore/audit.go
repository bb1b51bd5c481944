package sqlstore

import (
	"context"

	"zerodag/internal/host"
)

// Record adds to the audit log.
func (s *Store) Record(ctx context.Context, e host.Record) error {
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("INSERT INTO @audits (at, site_id, who, action, target, detail, refused, address, credential, request)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			e.At, e.Site, e.Who, e.Action, e.Target, e.Detail, e.Refused, e.Address, e.With, e.Request)
		return err
	})
}

func scanRecord(r *Row) host.Record {
	return host.Record{ID: r.ID(), At: r.Time(), Site: r.ID(), Who: r.Text(), Action: r.Text(), Target: r.Text(), Detail: r.Text(),
		Refused: r.Bool(), Origin: host.Origin{Address: r.Text(), With: r.Text(), Request: r.Text()}}
}

// Audits lists entries of the audit log, newest first.
func (s *Store) Audits(ctx context.Context, q host.AuditQuery) ([]host.Record, error) {
	list := Select("SELECT id, at, site_id, who, action, target, detail, refused, address, credential, request"+
		" FROM @audits WHERE site_id = ?", q.Site)
	list.When(q.Before != 0, " AND id < ?", q.Before)
	list.When(q.Who != "", " AND who = ?", q.Who)
	list.When(q.Action != "", " AND action = ?", q.Action)
	list.When(q.Target != "", " AND "+s.contains("target"), q.Target)
	list.When(!q.From.IsZero(), " AND at >= ?", q.From)
	list.When(!q.Until.IsZero(), " AND at < ?", q.Until)
	list.When(q.Refused, " AND refused = ?", true)
	list.Order("id DESC", q.Count)
	return ReadAll(ctx, s, scanRecord, list)
}
