package sqlite

import (
	"context"
	"os"
	"slices"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// count is how many times a message was received.
type count struct{ row, n int64 }

// note requests a record that a message was received. It is called before the message is handed out, so it is committed
// no later than any write of the receiver: work done for a redelivered message is never mistaken for work done for its
// first delivery.
func (q *Queue) note(m *message) {
	q.counts = append(q.counts, count{m.row, int64(m.count)})
	if q.noting || q.outside {
		return
	}
	q.noting = true
	n := &noting{q: q}
	_ = q.db.writer.later(&write{whole: true, run: n.run, undo: n.undo}) // if it is refused, it is lost with the leases: the database is closed
}

// noted commits the counts before it hands out messages whose receivers do more than write: a command that ends this
// process in its first millisecond had already begun.
func (q *Queue) noted(ctx context.Context, list []leased) error {
	n := &noting{q: q}
	err := q.db.writer.do(ctx, &write{whole: true, run: n.run, undo: n.undo})
	if err != nil {
		q.forget(list)
	}
	return err
}

// forget undoes the counts of messages that no receiver has seen.
func (q *Queue) forget(list []leased) {
	q.giveBack(list)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range list {
		l.m.count--
		q.counts = slices.DeleteFunc(q.counts, func(c count) bool { return c.row == l.m.row })
	}
}

// noting is one write of counts. After a failure, the counts become part of the next write.
type noting struct {
	q     *Queue
	taken []count
}

func (n *noting) run(c *conn) error {
	n.take()
	for _, m := range n.taken {
		if _, err := c.Exec("UPDATE queued_messages SET receive_count = ? WHERE id = ?", m.n, m.row); err != nil {
			return err
		}
	}
	return nil
}

func (n *noting) take() {
	n.q.mu.Lock()
	defer n.q.mu.Unlock()
	n.taken, n.q.counts, n.q.noting = n.q.counts, nil, false
}

func (n *noting) undo() {
	n.q.mu.Lock()
	defer n.q.mu.Unlock()
	n.q.counts = append(n.taken, n.q.counts...)
	n.taken = nil
}

// Counts implements host.Database. The size includes the file and its log; a database in memory has none.
func (db *DB) Counts(ctx context.Context, v *host.Vitals) error {
	if db.path != "" {
		v.Database = 0
		for _, name := range []string{db.path, db.path + "-wal"} {
			if info, err := os.Stat(name); err == nil {
				v.Database += info.Size()
			}
		}
	}
	const due = "(SELECT count(*) FROM queued_messages WHERE queue = ? AND (due IS NULL OR due <= ?))"
	now := sqlstore.Stamp(db.now())
	return db.read(ctx, func(c *conn) error {
		return c.Query(func(r *row) {
			v.Unfinished, v.Events, v.Tasks, v.Waiting, v.GivenUp = r.Int(), r.Int(), r.Int(), r.Int(), r.Int()
		},
			"SELECT (SELECT count(*) FROM session_attempts WHERE finished_at IS NULL), "+due+", "+due+
				", (SELECT count(*) FROM notices WHERE due IS NOT NULL), (SELECT count(*) FROM notices WHERE given_up_at IS NOT NULL)", "events", now, "tasks", now)
	})
}
