package sqlite

import (
	"context"
	"fmt"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// MessagesOf implements host.Inventory: a single statement sees a consistent state. A message whose deletion is not yet
// committed is still included.
func (db *DB) MessagesOf(ctx context.Context, attempt int64) ([]host.Message, error) {
	return sqlstore.ReadAll(ctx, db.Store, func(r *row) host.Message {
		return host.Message{ID: r.Text(), Group: r.Text(), Body: r.Blob()}
	}, sqlstore.Select("SELECT unique_name, message_group, body FROM queued_messages WHERE unique_name GLOB ?", fmt.Sprint(attempt, "/*")))
}

// HeldOf implements host.Inventory.
func (db *DB) HeldOf(ctx context.Context, attempt int64) ([]host.Held, error) {
	list, err := db.MessagesOf(ctx, attempt)
	if err != nil {
		return nil, err
	}
	return db.queues["tasks"].held(list), nil
}

// held returns which of the given messages are leased.
func (q *Queue) held(list []host.Message) (held []host.Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.surface()
	for _, m := range list {
		if x := q.index.byID[m.ID]; x != nil && x.receipt != 0 && !x.busy { // busy: it is being deleted or released
			held = append(held, host.Held{Message: m, Holder: q.db.server})
		}
	}
	return held
}

// Discard implements host.Inventory.
func (db *DB) Discard(ctx context.Context, attempt int64) error {
	list, err := db.MessagesOf(ctx, attempt)
	if err != nil || len(list) == 0 {
		return err
	}
	q := db.queues["tasks"]
	var taken []*message
	return db.writer.do(ctx, &write{
		run: func(c *conn) error {
			taken = q.withdraw(list)
			for _, m := range taken {
				if _, err := c.Exec("DELETE FROM queued_messages WHERE id = ?", m.row); err != nil {
					return err
				}
			}
			return nil
		},
		after: func() {
			for _, m := range taken {
				q.deleted(m)
			}
		},
		undo: func() { q.putBack(taken) },
	})
}

// withdraw makes the given messages unavailable to receivers, except leased ones.
func (q *Queue) withdraw(list []host.Message) (taken []*message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.surface()
	for _, m := range list {
		if x := q.index.byID[m.ID]; x != nil && q.index.withdraw(x) {
			taken = append(taken, x)
		}
	}
	return taken
}

// putBack reverses withdraw.
func (q *Queue) putBack(list []*message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.look()
	for _, m := range list {
		m.busy = false
		q.index.place(m, now)
	}
	q.wake(now)
}

// Silent implements host.Inventory. Deadline messages (host.IsDeadline) do not count. The messages are read once, not
// for each attempt.
func (db *DB) Silent(ctx context.Context, after int64, n int) ([]int64, error) {
	q := sqlstore.Select("SELECT id FROM session_attempts WHERE finished_at IS NULL AND id > ?"+
		" AND dependent_session_id IS NULL AND state_flags & ? = 0"+
		" AND CAST(id AS TEXT) NOT IN (SELECT substr(unique_name, 1, instr(unique_name, '/') - 1) FROM queued_messages"+
		" WHERE substr(unique_name, instr(unique_name, '/') + 1) <> ? AND substr(unique_name, instr(unique_name, '/') + 1, 1) <> ?)",
		after, sqlstore.Paused, host.SLAGuard, host.TimeoutMark)
	q.Order("id", n)
	return sqlstore.ReadAll(ctx, db.Store, (*row).ID, q)
}
