package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// reader lends read-only connections. A database in memory has only one connection, the writer's.
type reader struct {
	open   func() (*conn, error)
	idle   chan *conn // nil: not opened yet
	closed chan struct{}
	writer *writer // of a database in memory; otherwise nil
}

// readers is how many queries can run at the same time.
const readers = 4

func newReader(open func() (*conn, error)) *reader {
	r := &reader{open: open, idle: make(chan *conn, readers), closed: make(chan struct{})}
	for range readers {
		r.idle <- nil
	}
	return r
}

func errClosed(doing string) error {
	return fmt.Errorf("%s: %w: the database is closed", doing, host.ErrUnavailable)
}

// read calls f with a connection that sees everything that was acknowledged.
func (r *reader) read(ctx context.Context, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.writer != nil {
		return r.writer.read(f)
	}
	var c *conn
	select {
	case c = <-r.idle:
	case <-r.closed:
		return errClosed("read")
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.idle <- c }()
	select {
	case <-r.closed:
		return errClosed("read")
	default:
	}
	if c == nil {
		opened, err := r.open()
		if err != nil {
			return err
		}
		c = opened
	}
	return f(c)
}

// close waits for running queries and closes the connections.
func (r *reader) close() error {
	if r.writer != nil {
		return nil
	}
	close(r.closed)
	var errs []error
	for range readers {
		if c := <-r.idle; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
