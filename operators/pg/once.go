package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Why it is not known yet what came of a query.
var (
	errLocked  = errors.New("another run of this task executes the query")
	errUnknown = errors.New("the connection was lost while the server committed: the status table knows what came of it")
)

// once executes the statement of q unless the status table says that it is done. Whatever
// ends it, and wherever, the next call with the same id goes on rightly: the row of the
// status table is completed by the very commit that makes the statement's work last, and
// two runs at a time are kept apart by the lock of that row.
func (s *session) once(ctx context.Context, q *query, id string) error {
	if err := s.makeStatusTable(ctx, q.status); err != nil {
		return err
	}
	done, err := s.lock(ctx, q.status, id)
	if err != nil {
		return err
	}
	if !done {
		what := "execute an update statement"
		if q.into == nil && q.create == nil {
			what = "execute given SQL script"
		}
		if err := s.script(ctx, what, q.statement()); err != nil {
			return err
		}
		if err := s.complete(ctx, q.status, id); err != nil {
			return err
		}
	} else if err := s.script(ctx, "rollback a transaction", "ROLLBACK"); err != nil {
		return err
	}
	// Rows that nobody asks for any more. The work is done, whatever comes of this.
	_ = s.query(ctx, "delete old rows", fmt.Sprintf("DELETE FROM %s WHERE completed_at < now() - $1::interval", q.status.quoted()),
		[]string{fmt.Sprintf("%d seconds", int64(q.keep.Seconds()))}, nil)
	return nil
}

// makeStatusTable makes the table unless it is there; to look first spares those the right
// to create tables whose administrator made it.
func (s *session) makeStatusTable(ctx context.Context, status table) error {
	name := status.quoted()
	there := false
	err := s.query(ctx, "look for the status table "+name, "SELECT to_regclass($1) IS NOT NULL", []string{name},
		func(_ []pgconn.FieldDescription, row [][]byte) error {
			there = there || row != nil && string(row[0]) == "t"
			return nil
		})
	if there || err != nil {
		return err
	}
	create := "CREATE TABLE IF NOT EXISTS " + name + " (query_id text NOT NULL UNIQUE, created_at timestamptz NOT NULL, completed_at timestamptz)"
	err = s.script(ctx, "create a status table "+name+".\n"+
		"hint: if you don't have permission to create tables, please try one of these options:\n"+
		"1. add 'strict_transaction: false' option to disable exactly-once transaction control that depends on this table.\n"+
		"2. ask system administrator to create this table using the following command and grant SELECT, INSERT, UPDATE and DELETE to this user: "+create+";\n"+
		"3. ask system administrator to create a schema that this user can create a table and set 'status_table_schema' option to it\n", create)
	if c := code(err); c == notUnique || c == tableThere || c == typeThere {
		return nil // another task made it at the same moment: IF NOT EXISTS does not see that
	}
	return err
}

// lock begins a transaction that holds the row of the query, and says whether the query
// is done.
func (s *session) lock(ctx context.Context, status table, id string) (done bool, err error) {
	for {
		if err := s.script(ctx, "begin a transaction", "BEGIN"); err != nil {
			return false, err
		}
		found := false
		err := s.query(ctx, "lock a status row", "SELECT completed_at IS NOT NULL FROM "+status.quoted()+" WHERE query_id = $1 FOR UPDATE NOWAIT",
			[]string{id}, func(_ []pgconn.FieldDescription, row [][]byte) error {
				if row != nil {
					found, done = true, string(row[0]) == "t"
				}
				return nil
			})
		switch {
		case code(err) == lockNotFree:
			return false, errLocked
		case err != nil || found:
			return done, err
		}
		if err := s.insert(ctx, status, id); err != nil {
			return false, err
		}
	}
}

// insert ends the transaction with a row for the query: only a committed row can be locked
// by all.
func (s *session) insert(ctx context.Context, status table, id string) error {
	err := s.query(ctx, "insert a status row", "INSERT INTO "+status.quoted()+" (query_id, created_at) VALUES ($1, CURRENT_TIMESTAMP)", []string{id}, nil)
	switch {
	case code(err) == notUnique: // another run did it
		return s.script(ctx, "rollback a transaction", "ROLLBACK")
	case err != nil:
		return err
	}
	return s.script(ctx, "commit a status row", "COMMIT")
}

// complete ends the transaction of the statement.
func (s *session) complete(ctx context.Context, status table, id string) error {
	err := s.query(ctx, "update status row", "UPDATE "+status.quoted()+" SET completed_at = CURRENT_TIMESTAMP WHERE query_id = $1", []string{id}, nil)
	if err != nil {
		return err
	}
	err = s.script(ctx, "commit updated status row", "COMMIT")
	if err != nil && ctx.Err() == nil && code(err) == "" { // no answer of the server's
		return fmt.Errorf("%w (%v)", errUnknown, err)
	}
	return err
}
