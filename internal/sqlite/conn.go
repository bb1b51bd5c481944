package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"modernc.org/sqlite"

	"zerodag/engine/param"
)

// conn is one connection with its prepared statements. It talks to the driver itself:
// database/sql would cost as much again as the statement. One goroutine uses it at a time.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
}

// dial opens a connection and runs what shapes it.
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
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", translated(err))
	}
	c.stmts[sql] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(sql string, args ...any) (int64, error) {
	r, err := c.result(sql, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// insert runs an INSERT and returns the id of the new row.
func (c *conn) insert(sql string, args ...any) (int64, error) {
	r, err := c.result(sql, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
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

// query calls each for every row, until one says that it is enough. The statement is in use until it returns: each must not
// run the same one.
func (c *conn) query(each func(*row), sql string, args ...any) (err error) {
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
	r := &row{values: make([]driver.Value, len(rows.Columns()))}
	for {
		if err := rows.Next(r.values); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return translated(err)
		}
		r.at = 0
		if each(r); r.err != nil || r.enough {
			return r.err
		}
	}
}

// collect makes a list of what a query finds.
func collect[T any](c *conn, scan func(*row) T, sql string, args ...any) ([]T, error) {
	var list []T
	err := c.query(func(r *row) { list = append(list, scan(r)) }, sql, args...)
	return list, err
}

// one returns the first thing that a query finds, and whether there is one.
func one[T any](c *conn, scan func(*row) T, sql string, args ...any) (T, bool, error) {
	list, err := collect(c, scan, sql, args...)
	if err != nil || len(list) == 0 {
		var none T
		return none, false, err
	}
	return list[0], true, nil
}

// encode makes values of the driver: times are microseconds and NULL when zero, mappings
// are JSON and NULL when nil.
func encode(args []any) ([]driver.NamedValue, error) {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i].Ordinal = i + 1
		switch a := a.(type) {
		case nil, int64, string:
			values[i].Value = a
		case []byte:
			if a == nil {
				a = []byte{}
			}
			values[i].Value = a
		case int:
			values[i].Value = int64(a)
		case bool:
			values[i].Value = number(a)
		case time.Time:
			if !a.IsZero() {
				values[i].Value = a.UnixMicro()
			}
		case *param.Map:
			if a != nil {
				values[i].Value = string(param.AppendStored(nil, a))
			}
		default:
			return nil, fmt.Errorf("encode argument %d: no column holds a %T", i+1, a)
		}
	}
	return values, nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// row hands out the columns of a row from left to right.
type row struct {
	values []driver.Value
	at     int
	err    error
	enough bool // no more rows are wanted
}

func (r *row) next() driver.Value {
	r.at++
	return r.values[r.at-1]
}

// id reads a number; NULL is 0.
func (r *row) id() int64 {
	n, _ := r.next().(int64)
	return n
}

func (r *row) int() int { return int(r.id()) }

// text reads text; NULL is "".
func (r *row) text() string {
	s, _ := r.next().(string)
	return s
}

// blob reads bytes; NULL and none at all are nil.
func (r *row) blob() []byte {
	b, _ := r.next().([]byte)
	if len(b) == 0 {
		return nil
	}
	return b
}

// time reads a time; NULL is zero.
func (r *row) time() time.Time {
	n, ok := r.next().(int64)
	if !ok {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// tree reads a mapping; NULL is nil.
func (r *row) tree() *param.Map {
	text, ok := r.next().(string)
	if !ok {
		return nil
	}
	m, err := param.ParseStored(text)
	switch {
	case err != nil:
		r.err = fmt.Errorf("decode parameters: %w", err)
	case m == nil:
		r.err = fmt.Errorf("decode parameters: not a mapping: %.40s", text)
	}
	return m
}
