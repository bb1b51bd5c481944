package sqlite

import (
	"context"
	"sync"
)

// reader lends connections that only read. In memory there is one connection for all, the
// writer's.
type reader struct {
	open   func() (*conn, error)
	idle   chan *conn // nil: not opened yet
	writer *writer    // of a database in memory; else nil

	mu     sync.Mutex
	opened []*conn
}

// readers is how many queries run at the same time.
const readers = 4

func newReader(open func() (*conn, error)) *reader {
	r := &reader{open: open, idle: make(chan *conn, readers)}
	for range readers {
		r.idle <- nil
	}
	return r
}

// read calls f with a connection that sees everything that was acknowledged.
func (r *reader) read(ctx context.Context, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.writer != nil {
		r.writer.use.Lock()
		defer r.writer.use.Unlock()
		return f(r.writer.conn)
	}
	var c *conn
	select {
	case c = <-r.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.idle <- c }()
	if c == nil {
		opened, err := r.open()
		if err != nil {
			return err
		}
		c = opened
		r.mu.Lock()
		r.opened = append(r.opened, c)
		r.mu.Unlock()
	}
	return f(c)
}
