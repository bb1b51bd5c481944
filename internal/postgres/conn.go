package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/engine/param"
)

// speaker is a connection, a pool of them, or a transaction.
type speaker interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// conn runs the statements of one call.
type conn struct {
	ctx   context.Context //nolint:containedctx // it is that of the one call that this is made for
	to    speaker
	again bool // an earlier try of the same call came to nothing, or nobody knows what to
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(sql string, args ...any) (int64, error) {
	values, err := encode(args)
	if err != nil {
		return 0, err
	}
	tag, err := c.to.Exec(c.ctx, sql, values...)
	return tag.RowsAffected(), translated(c.ctx, err)
}

// insert runs an INSERT that returns an id; 0 where it has added nothing.
func (c *conn) insert(sql string, args ...any) (int64, error) {
	id, _, err := one(c, (*row).id, sql, args...)
	return id, err
}

// statement is one of several that go to the server together.
type statement struct {
	sql  string
	args []any
}

// together runs statements one after the other, with one journey to the server, and returns how many rows each
// changed. Outside a transaction they are one.
func (c *conn) together(list ...statement) ([]int64, error) {
	b := &pgx.Batch{}
	for _, s := range list {
		values, err := encode(s.args)
		if err != nil {
			return nil, err
		}
		b.Queue(s.sql, values...)
	}
	results := c.to.SendBatch(c.ctx, b)
	changed := make([]int64, len(list))
	var failed error
	for i := range list {
		tag, err := results.Exec()
		changed[i] = tag.RowsAffected()
		failed = errors.Join(failed, err)
		if err != nil {
			break
		}
	}
	if err := results.Close(); failed == nil {
		failed = err
	}
	return changed, translated(c.ctx, failed)
}

// query calls each for every row, until one says that it is enough.
func (c *conn) query(each func(*row), sql string, args ...any) error {
	values, err := encode(args)
	if err != nil {
		return err
	}
	rows, err := c.to.Query(c.ctx, sql, values...)
	if err != nil {
		return translated(c.ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return fmt.Errorf("read row: %w", err)
		}
		r := &row{values: values}
		if each(r); r.err != nil || r.enough {
			return r.err
		}
	}
	return translated(c.ctx, rows.Err())
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

// encode makes values of the client: texts are bytes, times are microseconds and NULL when zero, mappings
// are JSON and NULL when nil.
func encode(args []any) ([]any, error) {
	values := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case nil, int64, bool, []int64, []bool, [][]byte, []*int64:
			values[i] = a
		case int:
			values[i] = int64(a)
		case string:
			values[i] = []byte(a)
		case []byte:
			if a == nil {
				a = []byte{}
			}
			values[i] = a
		case time.Time:
			if !a.IsZero() {
				values[i] = a.UnixMicro()
			}
		case *param.Map:
			if a != nil {
				values[i] = param.AppendStored(nil, a)
			}
		default:
			return nil, fmt.Errorf("encode argument %d: no column holds a %T", i+1, a)
		}
	}
	return values, nil
}

// row hands out the columns of a row from left to right.
type row struct {
	values []any
	at     int
	err    error
	enough bool // no more rows are wanted
}

func (r *row) next() any {
	r.at++
	return r.values[r.at-1]
}

// id reads a number; NULL is 0.
func (r *row) id() int64 {
	switch n := r.next().(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	}
	return 0
}

func (r *row) int() int { return int(r.id()) }

func (r *row) bool() bool {
	b, _ := r.next().(bool)
	return b
}

// text reads text; NULL is "".
func (r *row) text() string {
	switch s := r.next().(type) {
	case []byte:
		return string(s)
	case string:
		return s
	}
	return ""
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
	text, ok := r.next().([]byte)
	if !ok {
		return nil
	}
	m, err := param.ParseStored(string(text))
	switch {
	case err != nil:
		r.err = fmt.Errorf("decode parameters: %w", err)
	case m == nil:
		r.err = fmt.Errorf("decode parameters: not a mapping: %.40s", text)
	}
	return m
}
