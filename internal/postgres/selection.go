package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// query is a SELECT that is put together; its parts have a question mark for each argument.
type query struct {
	sql  string
	args []any
}

func selection(sql string, args ...any) *query {
	q := &query{}
	q.when(true, sql, args...)
	return q
}

// when adds a part with its arguments when it is needed.
func (q *query) when(needed bool, sql string, args ...any) {
	if !needed {
		return
	}
	for _, a := range args {
		q.args = append(q.args, a)
		sql = strings.Replace(sql, "?", "$"+strconv.Itoa(len(q.args)), 1)
	}
	q.sql += sql
}

// limit is a count as LIMIT wants it: NULL is all.
func limit(count int) any {
	if count <= 0 {
		return nil
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
	var page host.Page[T]
	err := db.read(ctx, func(c *conn) error {
		page = host.Page[T]{Bytes: bytes}
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
func readOne[T any](ctx context.Context, db *DB, scan func(*row) T, q *query) (T, error) {
	list, err := readAll(ctx, db, scan, q)
	if err != nil || len(list) == 0 {
		var none T
		return none, orNotFound(err, "read database")
	}
	return list[0], nil
}
