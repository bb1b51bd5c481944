package sqlite

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
	return p.db.writer.do(ctx, &write{run: func(c *conn) error { return run(c) }})
}

// Acknowledge implements sqlstore.Driver.
func (p port) Acknowledge(ctx context.Context, run func(sqlstore.Conn) error) error {
	return p.db.writer.do(ctx, &write{power: true, run: func(c *conn) error { return run(c) }})
}

// Note implements sqlstore.Driver: the change is committed with the next change that a caller waits for.
func (p port) Note(_ context.Context, run func(sqlstore.Conn) error) {
	_ = p.db.writer.later(&write{whole: true, run: func(c *conn) error { return run(c) }}) // if it is refused, the database is closed
}

// Send implements sqlstore.Driver.
func (p port) Send(ctx context.Context, run func(sqlstore.Conn, sqlstore.Begin) error) error {
	s := &sentMessages{queue: p.db.Queue("events")}
	return p.db.writer.do(ctx, &write{power: true, after: s.after, undo: s.undo, run: func(c *conn) error {
		s.sent = nil
		return run(c, func(attempt int64, _ bool, first host.Entry, m host.Message) error {
			if err := c.first(attempt, first); err != nil {
				return err
			}
			return s.send(c, m)
		})
	}})
}

// sentMessages holds the messages of one transaction: receivers see them once it is committed.
type sentMessages struct {
	queue *Queue
	sent  []*sending
}

func (s *sentMessages) send(c *conn, m host.Message) error {
	sent := s.queue.sending(m)
	s.sent = append(s.sent, sent)
	return sent.run(c)
}

func (s *sentMessages) after() {
	for _, m := range s.sent {
		m.after()
	}
}

func (s *sentMessages) undo() {
	for _, m := range s.sent {
		m.undo()
	}
	s.sent = nil
}

// EraseLog implements sqlstore.Driver.
func (port) EraseLog(c sqlstore.Conn, attempt int64) error { return eraseLog(c, attempt) }
