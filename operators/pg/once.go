package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/operators/sql"
)

// session is a connection with operations on the status table.
type session struct{ *sql.Session }

// once executes the statement of q unless the status table marks it as done. Wherever it is interrupted, the next call
// with the same id continues correctly: the row of the status table is completed by the same commit as the statement's
// work, and the lock on that row keeps concurrent runs apart.
func (s session) once(ctx context.Context, q *sql.Query, id string) error {
	if err := s.makeStatusTable(ctx, q.Status); err != nil {
		return err
	}
	done, err := s.lock(ctx, q.Status, id)
	if err != nil {
		return err
	}
	if !done {
		if err := s.Script(ctx, q.What(), q.Statement()); err != nil {
			return err
		}
		if err := s.complete(ctx, q.Status, id); err != nil {
			return err
		}
	} else if err := s.Script(ctx, "rollback a transaction", "ROLLBACK"); err != nil {
		return err
	}
	// Rows that are no longer needed. The work is done, whether or not this succeeds.
	_ = s.Query(ctx, "delete old rows", fmt.Sprintf("DELETE FROM %s WHERE completed_at < now() - $1::interval", q.Status.Quoted()),
		[]string{fmt.Sprintf("%d seconds", int64(q.Keep.Seconds()))}, nil)
	return nil
}

// makeStatusTable creates the table unless it exists; it checks first, so that users whose administrator created it
// need no right to create tables.
func (s session) makeStatusTable(ctx context.Context, status sql.Table) error {
	name := status.Quoted()
	there := false
	err := s.Query(ctx, "look for the status table "+name, "SELECT to_regclass($1) IS NOT NULL", []string{name},
		func(_ []pgconn.FieldDescription, row [][]byte) error {
			there = there || row != nil && string(row[0]) == "t"
			return nil
		})
	if there || err != nil {
		return err
	}
	create := "CREATE TABLE IF NOT EXISTS " + name + " (query_id text NOT NULL UNIQUE, created_at timestamptz NOT NULL, completed_at timestamptz)"
	err = s.Script(ctx, "create a status table "+name+".\n"+
		"hint: if you don't have permission to create tables, please try one of these options:\n"+
		"1. add 'strict_transaction: false' option to disable exactly-once transaction control that depends on this table.\n"+
		"2. ask system administrator to create this table using the following command and grant SELECT, INSERT, UPDATE and DELETE to this user: "+create+";\n"+
		"3. ask system administrator to create a schema that this user can create a table and set 'status_table_schema' option to it\n", create)
	if c := sql.Code(err); c == sql.NotUnique || c == sql.TableThere || c == sql.TypeThere {
		return nil // another task created it at the same time, which IF NOT EXISTS does not detect
	}
	return err
}

// lock begins a transaction that holds the query's row, and reports whether the query is done.
func (s session) lock(ctx context.Context, status sql.Table, id string) (done bool, err error) {
	for {
		if err := s.Script(ctx, "begin a transaction", "BEGIN"); err != nil {
			return false, err
		}
		found := false
		err := s.Query(ctx, "lock a status row", "SELECT completed_at IS NOT NULL FROM "+status.Quoted()+" WHERE query_id = $1 FOR UPDATE NOWAIT",
			[]string{id}, func(_ []pgconn.FieldDescription, row [][]byte) error {
				if row != nil {
					found, done = true, string(row[0]) == "t"
				}
				return nil
			})
		switch {
		case sql.Code(err) == sql.LockNotFree:
			return false, sql.ErrLocked
		case err != nil || found:
			return done, err
		}
		if err := s.insert(ctx, status, id); err != nil {
			return false, err
		}
	}
}

// insert commits a row for the query: only a committed row can be locked by all.
func (s session) insert(ctx context.Context, status sql.Table, id string) error {
	err := s.Query(ctx, "insert a status row", "INSERT INTO "+status.Quoted()+" (query_id, created_at) VALUES ($1, CURRENT_TIMESTAMP)", []string{id}, nil)
	switch {
	case sql.Code(err) == sql.NotUnique: // another run did it
		return s.Script(ctx, "rollback a transaction", "ROLLBACK")
	case err != nil:
		return err
	}
	return s.Script(ctx, "commit a status row", "COMMIT")
}

// complete ends the transaction of the statement.
func (s session) complete(ctx context.Context, status sql.Table, id string) error {
	err := s.Query(ctx, "update status row", "UPDATE "+status.Quoted()+" SET completed_at = CURRENT_TIMESTAMP WHERE query_id = $1", []string{id}, nil)
	if err != nil {
		return err
	}
	return s.Commit(ctx)
}
