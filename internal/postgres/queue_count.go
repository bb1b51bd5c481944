package postgres

import (
	"context"

	"zerodag/internal/host"
)

// Counts implements host.Database, including the size of all tables.
func (db *DB) Counts(ctx context.Context, v *host.Vitals) error {
	p := db.pool.Stat()
	v.Connections = &host.Connections{Most: int(p.MaxConns()), Open: int(p.TotalConns()), Used: int(p.AcquiredConns()), Waits: p.EmptyAcquireCount(), Waited: p.EmptyAcquireWaitTime()}
	return db.read(ctx, func(c *conn) error {
		return c.Query(func(r *row) {
			v.Unfinished, v.Events, v.Tasks, v.Database, v.Waiting, v.GivenUp = r.Int(), r.Int(), r.Int(), r.ID(), r.Int(), r.Int()
		},
			"SELECT (SELECT count(*) FROM @session_attempts WHERE finished_at IS NULL),"+
				" (SELECT count(*) FROM @queued_messages WHERE queue = $1 AND (due IS NULL OR due <= "+clock+")),"+
				" (SELECT count(*) FROM @queued_messages WHERE queue = $2 AND (due IS NULL OR due <= "+clock+")),"+
				" (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = convert_from($3, 'UTF8'))),"+
				" (SELECT count(*) FROM @notices WHERE due IS NOT NULL), (SELECT count(*) FROM @notices WHERE given_up_at IS NOT NULL)",
			db.queues["events"].number, db.queues["tasks"].number, db.schema)
	})
}
