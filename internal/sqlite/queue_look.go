package sqlite

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Depths implements host.Database; its numbers are exact.
func (db *DB) Depths(context.Context) ([]host.Depth, error) {
	var list []host.Depth
	for _, name := range queueNames() {
		list = append(list, db.queues[name].depth())
	}
	return list, nil
}

func (q *Queue) depth() host.Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.surface()
	d := host.Depth{Queue: q.name, Ready: len(q.index.ready.list), Later: len(q.index.later.list)}
	for _, m := range q.index.ready.list {
		if since := q.since(m); d.Oldest.IsZero() || since.Before(d.Oldest) {
			d.Oldest = since
		}
	}
	for _, m := range q.index.byRow {
		switch {
		case m.receipt != 0:
			d.Leased++
		case m.heap == nil:
			d.Behind++
		}
	}
	return d
}

// since returns the time from which a message can be received, by the wall clock. The lock must be held.
func (q *Queue) since(m *message) time.Time {
	since := m.sent
	if m.free.After(since) {
		since = m.free
	}
	return since.Add(q.offset).UTC()
}

// Queued implements host.Database: it shows the messages as of approximately one moment.
func (db *DB) Queued(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error) {
	q := db.queues[queue]
	if q == nil {
		return nil, fmt.Errorf("inspect queue %s: %w", queue, host.ErrNotFound)
	}
	list := sqlstore.Select("SELECT id, length(body), CASE WHEN length(body) <= ? THEN body END FROM queued_messages"+
		" WHERE queue = ? AND id > ?", host.MostQueuedBody, queue, after)
	list.Order("id", n)
	rows, err := sqlstore.ReadAll(ctx, db.Store, func(r *row) host.Queued {
		return host.Queued{Place: r.ID(), Size: r.Int(), Message: host.Message{Body: r.Blob()}}
	}, list)
	if err != nil {
		return nil, err
	}
	return q.describe(rows), nil
}

// describe adds the in-memory state to messages; it omits messages that have been removed since they were read.
func (q *Queue) describe(rows []host.Queued) []host.Queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.surface()
	list := make([]host.Queued, 0, len(rows))
	for _, x := range rows {
		m := q.index.byRow[x.Place]
		if m == nil {
			continue
		}
		x.ID, x.Group, x.Due, x.Count, x.Since = m.id, m.group, m.due, m.count, q.since(m)
		if m.receipt != 0 {
			x.Until, x.Holder = m.until.Add(q.offset).UTC(), q.db.server
		}
		x.Behind = m.receipt == 0 && m.heap == nil
		list = append(list, x)
	}
	return list
}
