package sqlite

import (
	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// dialect is SQLite's SQL. CROSS JOIN keeps SQLite from reordering the join, after which it would sort all rows
// instead of stopping when it has enough.
func dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Join: "CROSS JOIN", Contains: "instr(%s, ?) > 0", Same: "IS", True: "1",
		SetParam: "INSERT INTO params (site_id, key, value, updated_at) VALUES (?, ?, ?, ?)" +
			" ON CONFLICT (site_id, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
		ParamKey: "key = ?",
		Attempts: attempts,
		Log:      logDialect(),
	}
}

// attempts selects both halves of a list in the order of the index, which has "retried" before the id: SQLite merges
// them and stops at the limit.
func attempts(all string, q host.AttemptQuery) *sqlstore.Query {
	half := func(retried bool) *sqlstore.Query {
		s := sqlstore.Select(all)
		if q.Session != 0 { // a session has few attempts: the plus signs keep SQLite from using longer indexes
			s.When(true, "WHERE a.session_id = ? AND +a.retried = ? AND +a.site_id = ?", q.Session, retried, q.Site)
		} else {
			s.When(true, "WHERE a.retried = ? AND a.site_id = ?", retried, q.Site)
		}
		s.When(q.Project != 0, " AND a.project_id = ?", q.Project)
		s.When(q.Workflow != "", " AND a.workflow_name = ?", q.Workflow)
		s.When(q.Before != 0, " AND a.id < ?", q.Before)
		return s
	}
	s := half(false)
	if q.Retried {
		other := half(true)
		s.When(true, " UNION ALL "+other.SQL, other.Args...)
	}
	return s
}
