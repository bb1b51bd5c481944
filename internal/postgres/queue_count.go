package postgres

import (
	"context"

	"zerodag/internal/host"
)

// Counts counts what the queues hold that is due, and attempts that have not ended.
func (db *DB) Counts(ctx context.Context, v *host.Vitals) error {
	return db.read(ctx, func(c *conn) error {
		return c.query(func(r *row) { v.Unfinished, v.Events, v.Tasks = r.int(), r.int(), r.int() },
			"SELECT (SELECT count(*) FROM session_attempts WHERE finished_at IS NULL),"+
				" (SELECT count(*) FROM queued_messages WHERE queue = $1 AND (due IS NULL OR due <= "+clock+")),"+
				" (SELECT count(*) FROM queued_messages WHERE queue = $2 AND (due IS NULL OR due <= "+clock+"))",
			db.queues["events"].number, db.queues["tasks"].number)
	})
}
