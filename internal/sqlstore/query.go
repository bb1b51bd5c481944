package sqlstore

import (
	"context"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Query is a statement that is built from parts. A database prepares each combination once.
type Query struct {
	SQL  string
	Args []any
}

// Select begins a query.
func Select(sql string, args ...any) *Query { return &Query{sql, args} }

// When adds a part with its arguments if it is needed.
func (q *Query) When(needed bool, sql string, args ...any) {
	if needed {
		q.SQL += sql
		q.Args = append(q.Args, args...)
	}
}

// Order adds a sort order and a row limit; 0 means no limit.
func (q *Query) Order(by string, most int) {
	q.SQL += " ORDER BY " + by
	q.When(most > 0, " LIMIT ?", most)
}

// ofSite restricts rows to a site, unless it is host.AnySite.
func (q *Query) ofSite(column string, site int64) *Query {
	q.When(site != host.AnySite, " AND "+column+" = ?", site)
	return q
}

// ReadAll returns the rows that a query finds.
func ReadAll[T any](ctx context.Context, s *Store, scan func(*Row) T, q *Query) (list []T, err error) {
	err = s.driver.Read(ctx, func(c Conn) (err error) {
		list, err = Collect(c, scan, q.SQL, q.Args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read database: %w", err)
	}
	return list, nil
}

// ReadOne returns the first row that a query finds, or host.ErrNotFound.
func ReadOne[T any](ctx context.Context, s *Store, scan func(*Row) T, q *Query) (T, error) {
	list, err := ReadAll(ctx, s, scan, q)
	if err != nil || len(list) == 0 {
		var none T
		return none, OrNotFound(err, "read database")
	}
	return list[0], nil
}

// readPage is ReadAll for a list whose size in bytes is limited; tree is the large part of an element.
func readPage[T any](ctx context.Context, s *Store, scan func(*Row) T, tree func(T) *param.Map, bytes int,
	q *Query) ([]T, error) {
	var page host.Page[T]
	err := s.driver.Read(ctx, func(c Conn) error {
		page = host.Page[T]{Bytes: bytes}
		return c.Query(func(r *Row) {
			if one := scan(r); r.err == nil {
				r.enough = !page.Add(one, tree(one))
			}
		}, q.SQL, q.Args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read database: %w", err)
	}
	return page.Rows, nil
}
