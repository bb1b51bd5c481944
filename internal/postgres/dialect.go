package postgres

import (
	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// dialect is PostgreSQL's SQL.
func dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Join: "JOIN", Contains: "position(?::bytea IN %s) > 0", Same: "IS NOT DISTINCT FROM", True: "true", RowLocks: true,
		SetParam: "INSERT INTO @params (site_id, key_digest, key, value, updated_at) VALUES ($1, sha256($2), $2, $3, $4)" +
			" ON CONFLICT (site_id, key_digest) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
		ParamKey: "key_digest = sha256(?)",
		Attempts: attempts, Clock: clock,
		Log: logDialect(),
	}
}

// attempts selects a list of attempts in one pass: in the indexes, the id comes right after the queried columns.
func attempts(all string, q host.AttemptQuery) *sqlstore.Query {
	s := sqlstore.Select(all+"WHERE a.site_id = ?", q.Site)
	s.When(q.Session != 0, " AND a.session_id = ?", q.Session)
	s.When(!q.Retried, " AND NOT a.retried")
	s.When(q.Project != 0, " AND a.project_id = ?", q.Project)
	s.When(q.Workflow != "", " AND a.workflow_name = ?", q.Workflow)
	s.When(q.Before != 0, " AND a.id < ?", q.Before)
	return s
}
