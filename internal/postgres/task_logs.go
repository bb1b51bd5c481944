package postgres

import (
	"context"
	"strings"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// AddLog keeps a short log of an attempt, whole, under the name that its file would have. Adding it again changes
// nothing.
func (db *DB) AddLog(ctx context.Context, attempt int64, name string, content []byte) error {
	return db.alone(ctx, func(c *conn) error {
		_, err := c.Exec("INSERT INTO @task_logs (attempt_id, name, part, content) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING", attempt, name, content)
		return err
	})
}

// AddLogSoon is like AddLog, for callers that do not have to wait. Here it waits anyway, because other processes may
// read the log at once, and settled gets nothing beyond the returned error.
func (db *DB) AddLogSoon(attempt int64, name string, content []byte, settled func(error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	if err := db.AddLog(ctx, attempt, name, content); err != nil {
		return err
	}
	settled(nil)
	return nil
}

// LogSizes calls add, in order, with the name and the size in bytes of each log of an attempt whose name begins with
// prefix.
func (db *DB) LogSizes(ctx context.Context, attempt int64, prefix string, add func(name string, size int64)) error {
	type file struct {
		name string
		size int64
	}
	list, err := sqlstore.ReadAll(ctx, db.Store, func(r *row) file { return file{r.Text(), r.ID()} },
		sqlstore.Select("SELECT name, sum(length(content))::bigint FROM @task_logs WHERE attempt_id = ? AND name >= ? GROUP BY name ORDER BY name", attempt, prefix))
	for _, f := range list {
		if strings.HasPrefix(f.name, prefix) {
			add(f.name, f.size)
		}
	}
	return err
}

// LogContent reads a log; it returns host.ErrNotFound if no log has that name.
func (db *DB) LogContent(ctx context.Context, attempt int64, name string) ([]byte, error) {
	content, err := sqlstore.ReadOne(ctx, db.Store, (*row).Blob, sqlstore.Select("SELECT string_agg(content, ''::bytea ORDER BY part) FROM @task_logs WHERE attempt_id = ? AND name = ? HAVING count(*) > 0", attempt, name))
	return content, err
}

// RemoveLogs removes the logs of some attempts; missing ones are not an error.
func (db *DB) RemoveLogs(ctx context.Context, attempts []int64) error {
	return db.alone(ctx, func(c *conn) error {
		_, err := c.Exec("DELETE FROM @task_logs WHERE attempt_id = ANY($1)", attempts)
		return err
	})
}

// addPart adds a part to a log, once: if the part already exists, it reports whether it is the same.
func (db *DB) addPart(ctx context.Context, attempt int64, name string, part int64, content []byte) (own bool, err error) {
	err = db.alone(ctx, func(c *conn) error {
		n, err := c.Exec("INSERT INTO @task_logs (attempt_id, name, part, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", attempt, name, part, content)
		if own = n > 0; err != nil || own {
			return err
		}
		own, _, err = sqlstore.One(c, (*row).Bool, "SELECT content = $4 FROM @task_logs WHERE attempt_id = $1 AND name = $2 AND part = $3", attempt, name, part, content)
		return err
	})
	return own, err
}

// openLog opens a log up to its current end.
func (db *DB) openLog(ctx context.Context, attempt int64, name string) (*parts, int64, error) {
	p := &parts{ctx: ctx, db: db, what: "log " + name, args: []any{attempt, name},
		sql: "SELECT part, content FROM @task_logs WHERE part > $1 AND part <= $2 AND attempt_id = $4 AND name = $5 ORDER BY part"}
	size, err := sqlstore.ReadOne(ctx, db.Store, func(r *row) int64 {
		p.last = r.ID()
		return r.ID()
	}, sqlstore.Select("SELECT max(part), sum(length(content))::bigint FROM @task_logs WHERE attempt_id = ? AND name = ? HAVING count(*) > 0", attempt, name))
	if err != nil {
		return nil, 0, err
	}
	return p, size, nil
}

var _ host.Logs = (*Logs)(nil)
