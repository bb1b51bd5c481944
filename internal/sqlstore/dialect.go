package sqlstore

import (
	"fmt"

	"zerodag/internal/host"
)

// Dialect holds the parts of SQL that differ between the databases.
type Dialect struct {
	// Join joins two tables that must be read in the order in which a statement names them.
	Join string
	// Contains is the condition that column %s contains one argument's text.
	Contains string
	// Same compares two values that may be NULL, and treats NULL as equal to NULL.
	Same string
	// True is a literal for conditions that must match the condition of a partial index.
	True string
	// RowLocks reports whether a transaction has to lock rows against others; if not, only one runs at a time.
	RowLocks bool
	// SetParam sets the value of a parameter. Its arguments are the site, the key, the value and the time.
	SetParam string
	// ParamKey is the condition that a parameter has the key of one argument.
	ParamKey string
	// Attempts selects a list of attempts. Its first argument is a SELECT of all attempts, without WHERE.
	Attempts func(all string, q host.AttemptQuery) *Query
	// Clock is the time of the database server as microseconds since 1970; "" if there is no server.
	Clock string
	// Log reads an attempt's log.
	Log LogDialect
}

// LogDialect holds the statements that read a log. The first argument of each is the attempt's id. Entries have the
// columns number, nonce, time, changes, events and the snapshot, which may be NULL. The low bits of a number count, up
// to MaxSeq.
type LogDialect struct {
	Load    string // the entries, without events, starting with the newest snapshot
	Exists  string // any row if there is a log
	Before  string // the number and state of the newest snapshot before the number in the second argument
	Entries string // the entries starting with the number in the second argument; the third argument limits them
}

// locking adds a clause that locks rows until the end of the transaction, if the database needs one.
func (s *Store) locking(sql, clause string) string {
	if !s.dialect.RowLocks {
		return sql
	}
	return sql + " " + clause
}

// lock locks rows that a transaction does not read, if the database needs that.
func (s *Store) lock(c Conn, sql, clause string, args ...any) error {
	if !s.dialect.RowLocks {
		return nil
	}
	_, err := c.Exec(s.locking(sql, clause), args...)
	return err
}

func (s *Store) contains(column string) string { return fmt.Sprintf(s.dialect.Contains, column) }

// texts holds SELECT statements that contain parts of the dialect. They are built once because statements are prepared
// by their text.
type texts struct{ attempt, session, schedule, workflow string }

func textsOf(d Dialect) texts {
	join := " " + d.Join + " "
	return texts{
		attempt: "SELECT " + attemptColumns + " FROM @session_attempts a" + join + "@sessions n ON n.id = a.session_id" +
			join + "@projects p ON p.id = a.project_id ",
		session: "SELECT n.id, n.site_id, n.project_id, coalesce(p.name, p.deleted_name), a.workflow_definition_id," +
			" n.workflow_name, n.session_uuid, n.session_time, " + attemptColumns + " FROM @sessions n" +
			join + "@session_attempts a ON a.id = n.last_attempt_id" + join + "@projects p ON p.id = n.project_id ",
		schedule: "SELECT s.id, s.site_id, p.id, p.name, s.workflow_definition_id, s.workflow_name, s.next_run_time," +
			" s.next_schedule_time, s.last_session_time, s.created_at, s.updated_at, s.disabled_at" +
			" FROM @schedules s" + join + "@projects p ON p.id = s.project_id ",
		workflow: "SELECT d.id, p.site_id, p.id, coalesce(p.name, p.deleted_name), r.id, r.name, r.archive_path, d.name," +
			" c.timezone, c.config FROM @workflow_definitions d" + join + "@revisions r ON r.id = d.revision_id" +
			join + "@projects p ON p.id = r.project_id" + join + "@workflow_configs c ON c.id = d.config_id ",
	}
}
