package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/internal/sqlstore"
)

// speaker is a connection, a connection pool, or a transaction.
type speaker interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// conn runs the statements of one call. Statements in this package number their arguments; statements from package
// sqlstore have question marks. Both refer to tables as @table, to which the schema is added. A pooler may hand each
// transaction to a different PostgreSQL connection, so no connection has a search path set.
type conn struct {
	ctx    context.Context //nolint:containedctx // the context of the one call that this conn serves
	to     speaker
	schema string   // quoted, with a dot
	woken  []*Queue // queues to which it added messages
}

// connTo returns a conn for one call.
func (db *DB) connTo(ctx context.Context, to speaker) *conn {
	return &conn{ctx: ctx, to: to, schema: qualifier(db.schema)}
}

// qualifier returns what precedes a table's name.
func qualifier(schema string) string { return pgx.Identifier{schema}.Sanitize() + "." }

type (
	row       = sqlstore.Row
	statement = sqlstore.Statement
)

// Exec implements sqlstore.Conn.
func (c *conn) Exec(sql string, args ...any) (int64, error) {
	values, err := encode(args)
	if err != nil {
		return 0, err
	}
	tag, err := c.to.Exec(c.ctx, c.finished(sql), values...)
	return tag.RowsAffected(), translated(c.ctx, err)
}

// Insert implements sqlstore.Conn.
func (c *conn) Insert(sql string, args ...any) (int64, error) {
	id, _, err := sqlstore.One(c, (*row).ID, sql+" RETURNING id", args...)
	return id, err
}

// Batch implements sqlstore.Conn. Outside a transaction, the statements form one.
func (c *conn) Batch(list ...statement) error {
	b := &pgx.Batch{}
	for _, s := range list {
		values, err := encode(s.Args)
		if err != nil {
			return err
		}
		b.Queue(c.finished(s.SQL), values...)
	}
	results := c.to.SendBatch(c.ctx, b)
	var failed error
	for range list {
		if _, failed = results.Exec(); failed != nil {
			break
		}
	}
	if err := results.Close(); failed == nil {
		failed = err
	}
	return translated(c.ctx, failed)
}

// Query implements sqlstore.Conn.
func (c *conn) Query(each func(*row), sql string, args ...any) error {
	values, err := encode(args)
	if err != nil {
		return err
	}
	rows, err := c.to.Query(c.ctx, c.finished(sql), values...)
	if err != nil {
		return translated(c.ctx, err)
	}
	defer rows.Close()
	for r := (&row{Values: make([]driver.Value, len(rows.FieldDescriptions()))}); rows.Next(); {
		columns, err := rows.Values()
		if err != nil {
			return fmt.Errorf("read row: %w", err)
		}
		for i, v := range columns {
			r.Values[i] = v
		}
		if more, err := r.Visit(each); !more {
			return err
		}
	}
	return translated(c.ctx, rows.Err())
}

// finished turns the question marks of a statement into the numbers of its arguments, and names the schema of its
// tables.
func (c *conn) finished(sql string) string {
	var text strings.Builder
	text.Grow(len(sql) + 64)
	for n := 0; ; {
		i := strings.IndexAny(sql, "?@")
		if i < 0 {
			text.WriteString(sql)
			return text.String()
		}
		text.WriteString(sql[:i])
		if sql[i] == '@' {
			text.WriteString(c.schema)
		} else {
			n++
			text.WriteString("$" + strconv.Itoa(n))
		}
		sql = sql[i+1:]
	}
}

// encode converts arguments to the client's values, in which strings are bytes.
func encode(args []any) ([]any, error) {
	values := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case []int64, []bool, [][]byte, []*int64:
			values[i] = a
			continue
		}
		v, err := sqlstore.Value(a)
		if err != nil {
			return nil, fmt.Errorf("encode argument %d: %w", i+1, err)
		}
		if text, ok := v.(string); ok {
			v = []byte(text)
		}
		values[i] = v
	}
	return values, nil
}
