package postgres

import (
	"context"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// ofAttempt finds an attempt's messages by the index on their names: these begin with its id and a slash. In byte
// order, the character after the slash is the digit 0.
const ofAttempt = "m.queue IN (1, 2) AND m.unique_name >= convert_to(a.id || '/', 'UTF8') AND m.unique_name < convert_to(a.id || '0', 'UTF8')"

// MessagesOf implements host.Inventory: a single statement sees a consistent state.
func (db *DB) MessagesOf(ctx context.Context, attempt int64) ([]host.Message, error) {
	return sqlstore.ReadAll(ctx, db.Store, func(r *row) host.Message {
		return host.Message{ID: r.Text(), Group: r.Text(), Body: r.Blob()}
	}, sqlstore.Select("SELECT m.unique_name, m.message_group, m.body FROM (SELECT ?::bigint AS id) AS a, @queued_messages m WHERE "+ofAttempt, attempt))
}

// HeldOf implements host.Inventory.
func (db *DB) HeldOf(ctx context.Context, attempt int64) ([]host.Held, error) {
	return sqlstore.ReadAll(ctx, db.Store, func(r *row) host.Held {
		return host.Held{Message: host.Message{ID: r.Text(), Body: r.Blob()}, Holder: r.Text()}
	}, sqlstore.Select("SELECT m.unique_name, m.body, m.holder FROM (SELECT ?::bigint AS id) AS a, @queued_messages m WHERE "+ofAttempt+
		" AND m.queue = ? AND m.receipt <> 0 AND m.free_at > "+clock, attempt, db.queues["tasks"].number))
}

// Discard implements host.Inventory. Repeating it changes nothing.
func (db *DB) Discard(ctx context.Context, attempt int64) error {
	return db.alone(ctx, func(c *conn) error {
		_, err := c.Exec("DELETE FROM @queued_messages m USING (SELECT $1::bigint AS id) AS a WHERE "+ofAttempt+" AND m.queue = $2 AND (m.receipt = 0 OR m.free_at <= "+clock+")",
			attempt, db.queues["tasks"].number)
		return err
	})
}

// Silent implements host.Inventory. Deadline messages (host.IsDeadline) do not count.
func (db *DB) Silent(ctx context.Context, after int64, n int) ([]int64, error) {
	q := sqlstore.Select("SELECT a.id FROM @session_attempts a WHERE a.finished_at IS NULL AND a.id > ?"+
		" AND a.dependent_session_id IS NULL AND a.state_flags & ? = 0"+
		" AND NOT EXISTS (SELECT 1 FROM @queued_messages m WHERE "+ofAttempt+" AND m.unique_name <> convert_to(a.id || '/' || ?::text, 'UTF8')"+
		" AND NOT (m.unique_name >= convert_to(a.id || '/' || ?::text, 'UTF8') AND m.unique_name < convert_to(a.id || '/' || ?::text, 'UTF8')))",
		after, sqlstore.Paused, host.SLAGuard, host.TimeoutMark, nextMark(host.TimeoutMark))
	q.Order("a.id", n)
	return sqlstore.ReadAll(ctx, db.Store, (*row).ID, q)
}

// nextMark returns a string that sorts after all names that begin with a one-letter mark.
func nextMark(mark string) string { return string(mark[0] + 1) }
