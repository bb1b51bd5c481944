package sqlite

import (
	"context"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// AddLog keeps a short log of an attempt under the name that its file would have. Adding it again changes nothing.
func (db *DB) AddLog(ctx context.Context, attempt int64, name string, content []byte) error {
	return db.writer.do(ctx, addingLog(attempt, name, content))
}

// AddLogSoon is AddLog without waiting: the log is committed with the next write, usually the run's result, and not
// after a later one. If the store refuses it, it is retried before the next write; when it has been refused several
// times, perhaps because it is too large for the remaining space, later writes may be committed before it. An error
// means that it is not kept; otherwise settled is called with the outcome, at Close at the latest, and must neither
// wait nor use the database. Until then content must not change.
func (db *DB) AddLogSoon(attempt int64, name string, content []byte, settled func(error)) error {
	o := addingLog(attempt, name, content)
	o.lasting, o.ordered, o.settled = true, true, settled
	return db.writer.later(o)
}

func addingLog(attempt int64, name string, content []byte) *write {
	return &write{whole: true, run: func(c *conn) error {
		_, err := c.Exec("INSERT INTO task_logs (attempt_id, name, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", attempt, name, content)
		return err
	}}
}

// LogSizes calls add, in order, with the name and the size in bytes of each short log of an attempt whose name begins
// with prefix.
func (db *DB) LogSizes(ctx context.Context, attempt int64, prefix string, add func(name string, size int64)) error {
	db.writer.catchUp()
	return db.read(ctx, func(c *conn) error {
		return c.Query(func(r *row) {
			if name, size := r.Text(), r.ID(); strings.HasPrefix(name, prefix) {
				add(name, size)
			}
		}, "SELECT name, length(content) FROM task_logs WHERE attempt_id = ? AND name >= ? ORDER BY name", attempt, prefix)
	})
}

// LogContent reads a short log; it returns host.ErrNotFound if no log has that name.
func (db *DB) LogContent(ctx context.Context, attempt int64, name string) ([]byte, error) {
	var content []byte
	db.writer.catchUp()
	err := db.read(ctx, func(c *conn) (err error) {
		var found bool
		content, found, err = sqlstore.One(c, (*row).Blob, "SELECT content FROM task_logs WHERE attempt_id = ? AND name = ?", attempt, name)
		if err == nil && !found {
			err = host.ErrNotFound
		}
		return err
	})
	return content, err
}

// RemoveLogs removes the short logs of some attempts. If there are none, nothing is written.
func (db *DB) RemoveLogs(ctx context.Context, attempts []int64) error {
	db.writer.catchUp()
	var some []int64
	err := db.read(ctx, func(c *conn) error {
		for _, id := range attempts {
			_, found, err := sqlstore.One(c, (*row).ID, "SELECT attempt_id FROM task_logs WHERE attempt_id = ? LIMIT 1", id)
			if err != nil {
				return err
			}
			if found {
				some = append(some, id)
			}
		}
		return nil
	})
	if err != nil || len(some) == 0 {
		return err
	}
	return db.write(ctx, func(c *conn) error {
		for _, id := range some {
			if _, err := c.Exec("DELETE FROM task_logs WHERE attempt_id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
}
