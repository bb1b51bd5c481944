package postgres

import (
	"context"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// port is how package sqlstore uses a database.
type port struct{ db *DB }

// Read implements sqlstore.Driver.
func (p port) Read(ctx context.Context, run func(sqlstore.Conn) error) error {
	return p.db.read(ctx, func(c *conn) error { return run(c) })
}

// Write implements sqlstore.Driver.
func (p port) Write(ctx context.Context, run func(sqlstore.Conn) error) error {
	return p.db.write(ctx, func(c *conn) error { return run(c) })
}

// Acknowledge implements sqlstore.Driver: every commit is as durable as the server makes it.
func (p port) Acknowledge(ctx context.Context, run func(sqlstore.Conn) error) error {
	return p.Write(ctx, run)
}

// Note implements sqlstore.Driver.
func (p port) Note(ctx context.Context, run func(sqlstore.Conn) error) {
	p.db.alone(ctx, func(c *conn) error { return run(c) }) //nolint:errcheck // it may be lost
}

// Send implements sqlstore.Driver.
func (p port) Send(ctx context.Context, run func(sqlstore.Conn, sqlstore.Begin) error) error {
	return p.db.write(ctx, func(c *conn) error {
		return run(c, func(attempt int64, known bool, first host.Entry, m host.Message) error {
			if err := c.first(attempt, first); err != nil {
				return err
			}
			return p.db.Queue("events").send(c, known, m)
		})
	})
}

// EraseLog implements sqlstore.Driver.
func (port) EraseLog(c sqlstore.Conn, attempt int64) error { return eraseLog(c, attempt) }
