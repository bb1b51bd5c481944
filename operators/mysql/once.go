package mysql

import (
	"context"
	databases "database/sql"
	"errors"
	"fmt"
	"strings"

	"zerodag/operators/sql"
)

// quoted returns an identifier quoted for this SQL dialect.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// The task's lock is held by the server, belongs to a session, and outlasts transactions. It keeps runs apart, and
// identifies the session of an earlier run.

// lock takes the lock of the task; free is false while another session has it.
func (s *session) lock(ctx context.Context) (free bool, err error) {
	var got databases.NullInt64
	err = s.row(ctx, "lock the task", "SELECT GET_LOCK(?, 0)", []any{s.at.Application}, []any{&got})
	return got.Int64 == 1, err
}

// holder returns the session that holds the task's lock, or 0 if there is none.
func (s *session) holder(ctx context.Context) (int64, error) {
	var id databases.NullInt64
	err := s.row(ctx, "look for queries of earlier runs", "SELECT IS_USED_LOCK(?)", []any{s.at.Application}, []any{&id})
	return id.Int64, err
}

// write executes the script of q; with strict_transaction, only unless the status table marks it as done. Wherever it
// is interrupted, the next call with the same id continues correctly: the row of the status table is completed by the
// same commit as the script's work.
func (s *session) write(ctx context.Context, q *sql.Query, id string) error {
	if q.Strict { // before the transaction: creating a table would end it
		if err := s.makeStatusTable(ctx, q.Status); err != nil {
			return err
		}
	}
	free, err := s.lock(ctx)
	switch {
	case err != nil:
		return err
	case !free:
		return sql.ErrLocked
	case !q.Strict:
		return s.exec(ctx, "execute given SQL script", q.StatementBy(quoted))
	}
	done, err := s.begin(ctx, q.Status, id)
	switch {
	case err != nil:
		return err
	case done:
		err = s.exec(ctx, "rollback a transaction", "ROLLBACK")
	default:
		err = s.once(ctx, q, id)
	}
	if err != nil {
		return err
	}
	// Rows that are no longer needed. The work is done, whether or not this succeeds.
	_ = s.exec(ctx, "delete old rows", "DELETE FROM "+q.Status.QuotedBy(quoted)+" WHERE completed_at < UTC_TIMESTAMP(6) - INTERVAL ? SECOND", int64(q.Keep.Seconds()))
	return nil
}

// once executes the script in the current transaction, and commits it.
func (s *session) once(ctx context.Context, q *sql.Query, id string) error {
	if err := s.exec(ctx, q.What(), q.StatementBy(quoted)); err != nil {
		return err
	}
	if err := s.exec(ctx, "update status row", "UPDATE "+q.Status.QuotedBy(quoted)+" SET completed_at = UTC_TIMESTAMP(6) WHERE query_id = ?", id); err != nil {
		return err
	}
	err := s.exec(ctx, "commit updated status row", "COMMIT")
	if err != nil && ctx.Err() == nil && number(err) == 0 { // no response from the server
		return fmt.Errorf("%w (%v)", sql.ErrUnknown, err) //nolint:errorlint // an unknown outcome must not be taken for a refusal
	}
	return err
}

// makeStatusTable creates the table unless it exists; it checks first, so that users whose administrator created it
// need no right to create tables.
func (s *session) makeStatusTable(ctx context.Context, status sql.Table) error {
	name := status.QuotedBy(quoted)
	err := s.exec(ctx, "look for the status table "+name, "SELECT 1 FROM "+name+" LIMIT 0")
	if number(err) != noSuchTable {
		return err
	}
	create := "CREATE TABLE IF NOT EXISTS " + name + " (query_id varchar(100) NOT NULL PRIMARY KEY, created_at datetime(6) NOT NULL, completed_at datetime(6)) ENGINE=InnoDB"
	return s.exec(ctx, "create a status table "+name+".\n"+
		"hint: if you don't have permission to create tables, please try one of these options:\n"+
		"1. add 'strict_transaction: false' option to disable exactly-once transaction control that depends on this table.\n"+
		"2. ask system administrator to create this table using the following command and grant SELECT, INSERT, UPDATE and DELETE to this user: "+create+";\n"+
		"3. ask system administrator to create a database in which this user can create a table and set 'status_table_schema' option to it\n", create)
}

// begin begins a transaction that holds the row of the query, and reports whether the query is done.
func (s *session) begin(ctx context.Context, status sql.Table, id string) (done bool, err error) {
	table := status.QuotedBy(quoted)
	if err := s.exec(ctx, "insert a status row", "INSERT IGNORE INTO "+table+" (query_id, created_at) VALUES (?, UTC_TIMESTAMP(6))", id); err != nil {
		return false, err
	}
	// After a lost connection, its session may still hold the row on the database server, although this task no longer
	// knows about it.
	for _, text := range []string{"SET SESSION innodb_lock_wait_timeout = 1", "START TRANSACTION"} {
		if err := s.exec(ctx, "begin a transaction", text); err != nil {
			return false, err
		}
	}
	err = s.row(ctx, "lock a status row", "SELECT completed_at IS NOT NULL FROM "+table+" WHERE query_id = ? FOR UPDATE", []any{id}, []any{&done})
	switch {
	case number(err) == lockTimeout, errors.Is(err, databases.ErrNoRows): // another task's cleanup has removed the row
		return false, sql.ErrLocked
	case err != nil:
		return false, err
	}
	return done, s.exec(ctx, "begin a transaction", "SET SESSION innodb_lock_wait_timeout = DEFAULT")
}
