package sqlite

import (
	"context"
	"strings"

	"zerodag/internal/host"
)

// AddLog keeps a short log of an attempt under the name that its file would have. To add it
// again changes nothing.
func (db *DB) AddLog(ctx context.Context, attempt int64, name string, content []byte) error {
	return db.writer.do(ctx, &write{whole: true, run: func(c *conn) error {
		_, err := c.exec("INSERT INTO task_logs (attempt_id, name, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", attempt, name, content)
		return err
	}})
}

// LogSizes are the names of an attempt's short logs that begin with prefix, in order, and how
// many bytes each has.
func (db *DB) LogSizes(ctx context.Context, attempt int64, prefix string, add func(name string, size int64)) error {
	return db.read(ctx, func(c *conn) error {
		return c.query(func(r *row) {
			if name, size := r.text(), r.id(); strings.HasPrefix(name, prefix) {
				add(name, size)
			}
		}, "SELECT name, length(content) FROM task_logs WHERE attempt_id = ? AND name >= ? ORDER BY name", attempt, prefix)
	})
}

// LogContent reads one; host.ErrNotFound when there is none of that name.
func (db *DB) LogContent(ctx context.Context, attempt int64, name string) ([]byte, error) {
	var content []byte
	err := db.read(ctx, func(c *conn) (err error) {
		var found bool
		content, found, err = one(c, (*row).blob, "SELECT content FROM task_logs WHERE attempt_id = ? AND name = ?", attempt, name)
		if err == nil && !found {
			err = host.ErrNotFound
		}
		return err
	})
	return content, err
}
