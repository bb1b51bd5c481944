package sqlite

import (
	"context"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// query is a SELECT that is put together; each shape of it is prepared once.
type query struct {
	sql  string
	args []any
}

func selection(sql string, args ...any) *query { return &query{sql, args} }

// when adds a part with its arguments when it is needed.
func (q *query) when(needed bool, sql string, args ...any) {
	if needed {
		q.sql += sql
		q.args = append(q.args, args...)
	}
}

// limit is a count as SQLite wants it: below 0 is all.
func limit(count int) int {
	if count <= 0 {
		return -1
	}
	return count
}

func readAll[T any](ctx context.Context, db *DB, scan func(*row) T, q *query) (list []T, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		list, err = collect(c, scan, q.sql, q.args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read database: %w", err)
	}
	return list, nil
}

// readPage is readAll for a list that is bounded in bytes; tree is what takes room of a row.
func readPage[T any](ctx context.Context, db *DB, scan func(*row) T, tree func(T) *param.Map, bytes int, q *query) ([]T, error) {
	page := host.Page[T]{Bytes: bytes}
	err := db.read(ctx, func(c *conn) error {
		page.Rows = nil
		return c.query(func(r *row) {
			if one := scan(r); r.err == nil {
				r.enough = !page.Add(one, tree(one))
			}
		}, q.sql, q.args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read database: %w", err)
	}
	return page.Rows, nil
}

// readOne returns the one thing that a query finds, or host.ErrNotFound.
func readOne[T any](ctx context.Context, db *DB, scan func(*row) T, sql string, args ...any) (T, error) {
	list, err := readAll(ctx, db, scan, selection(sql, args...))
	if err != nil || len(list) == 0 {
		var none T
		return none, orNotFound(err, "read database")
	}
	return list[0], nil
}
