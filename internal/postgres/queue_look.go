package postgres

import (
	"context"
	"fmt"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Depths implements host.Database; its numbers are exact.
func (db *DB) Depths(ctx context.Context) ([]host.Depth, error) {
	var list []host.Depth
	for _, name := range queueNames() {
		d, err := sqlstore.ReadOne(ctx, db.Store, func(r *row) host.Depth {
			return host.Depth{Queue: name, Ready: r.Int(), Later: r.Int(), Leased: r.Int(), Behind: r.Int(), Oldest: r.Time()}
		}, sqlstore.Select("SELECT count(*) FILTER (WHERE free_at <= "+clock+"), count(*) FILTER (WHERE free_at > "+clock+" AND receipt = 0),"+
			" count(*) FILTER (WHERE free_at > "+clock+" AND receipt <> 0), count(*) FILTER (WHERE free_at IS NULL), min(free_at) FILTER (WHERE free_at <= "+clock+")"+
			" FROM @queued_messages WHERE queue = ?", db.queues[name].number))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// Queued implements host.Database.
func (db *DB) Queued(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error) {
	q := db.queues[queue]
	if q == nil {
		return nil, fmt.Errorf("inspect queue %s: %w", queue, host.ErrNotFound)
	}
	list := sqlstore.Select("SELECT id, unique_name, message_group, share, due, length(body), CASE WHEN length(body) <= ? THEN body END, receive_count,"+
		" greatest(sent_at, due), CASE WHEN receipt <> 0 AND free_at > "+clock+" THEN free_at END, free_at IS NULL, CASE WHEN receipt <> 0 AND free_at > "+clock+" THEN holder END"+
		" FROM @queued_messages WHERE queue = ? AND id > ?", host.MostQueuedBody, q.number, after)
	list.Order("id", n)
	return sqlstore.ReadAll(ctx, db.Store, scanQueued, list)
}

func scanQueued(r *row) host.Queued {
	x := host.Queued{Place: r.ID(), Message: host.Message{ID: r.Text(), Group: r.Text(), Share: r.Text(), Due: r.Time()}, Size: r.Int()}
	x.Body = r.Blob()
	x.Count, x.Since, x.Until, x.Behind = r.Int(), r.Time(), r.Time(), r.Bool()
	x.Holder = r.Text()
	return x
}
