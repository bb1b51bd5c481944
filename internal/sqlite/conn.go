package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"modernc.org/sqlite"

	"zerodag/internal/sqlstore"
)

// conn is one connection with its prepared statements. It calls the driver directly: database/sql would double the cost
// of a statement. One goroutine uses it at a time.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
}

type row = sqlstore.Row

// dial opens a connection and runs the statements that configure it.
func dial(dsn string, pragmas ...string) (*conn, error) {
	raw, err := new(sqlite.Driver).Open(dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", translated(err))
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}}
	for _, p := range pragmas {
		if err := c.script("PRAGMA " + p); err != nil {
			return nil, errors.Join(fmt.Errorf("set up database (%s): %w", p, err), c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// script runs statements that are not worth keeping prepared.
func (c *conn) script(sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return translated(err)
}

func (c *conn) prepared(sql string) (driver.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, err := c.raw.Prepare(strings.ReplaceAll(sql, "@", "")) // there is one schema
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", translated(err))
	}
	c.stmts[sql] = s
	return s, nil
}

// Exec implements sqlstore.Conn.
func (c *conn) Exec(sql string, args ...any) (int64, error) {
	r, err := c.result(sql, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert implements sqlstore.Conn.
func (c *conn) Insert(sql string, args ...any) (int64, error) {
	r, err := c.result(sql, args)
	if err != nil {
		return 0, err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return 0, err // the last id belongs to an earlier INSERT
	}
	return r.LastInsertId()
}

// Batch implements sqlstore.Conn.
func (c *conn) Batch(list ...sqlstore.Statement) error {
	for _, s := range list {
		if _, err := c.Exec(s.SQL, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) result(sql string, args []any) (driver.Result, error) {
	s, err := c.prepared(sql)
	if err != nil {
		return nil, err
	}
	values, err := encode(args)
	if err != nil {
		return nil, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), values)
	return r, translated(err)
}

// Query implements sqlstore.Conn.
func (c *conn) Query(each func(*row), sql string, args ...any) (err error) {
	s, err := c.prepared(sql)
	if err != nil {
		return err
	}
	values, err := encode(args)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), values)
	if err != nil {
		return translated(err)
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = translated(e)
		}
	}()
	r := &row{Values: make([]driver.Value, len(rows.Columns()))}
	for {
		if err := rows.Next(r.Values); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return translated(err)
		}
		if more, err := r.Visit(each); !more {
			return err
		}
	}
}

// encode converts arguments to driver values. Flags become numbers.
func encode(args []any) ([]driver.NamedValue, error) {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		v, err := sqlstore.Value(a)
		if err != nil {
			return nil, fmt.Errorf("encode argument %d: %w", i+1, err)
		}
		if b, ok := v.(bool); ok {
			v = number(b)
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return values, nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
