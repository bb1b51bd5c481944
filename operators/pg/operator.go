// Package pg implements `pg>`: it runs SQL on a PostgreSQL database. Agents that may open connections run it. It must
// connect only to the server that the task names, and must never log secrets.
//
// A statement that writes is executed exactly once: a row of a status table, found by an id that is in the task's state
// before anything runs, is completed in the statement's own transaction. The next run of the task reads the outcome
// from that row.
package pg

import (
	"context"

	"zerodag/operators"
	"zerodag/operators/sql"
)

// Operator returns `pg>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "pg", Summary: "runs SQL on a PostgreSQL database", Retries: true, Run: run, Clean: clean}
}

func kind() sql.Kind { return sql.Kind{Name: "pg", Secrets: "pg", Port: 5432} }

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("pg")
	if err != nil {
		return operators.Result{}, err
	}
	at, err := kind().Find(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	q, err := sql.ReadQuery(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	if q.ReadOnly() {
		return q.Read(ctx, t, at)
	}
	return operators.Result{}, at.Write(ctx, t, func(ctx context.Context, s *sql.Session, id string) error {
		if !q.Strict {
			return s.Script(ctx, "execute given SQL script", q.Statement())
		}
		return session{s}.once(ctx, q, id)
	})
}

// clean ends the query that an earlier run left behind on the server: it continues there if the agent that waits for it
// dies.
func clean(ctx context.Context, t *operators.Task) error {
	p, err := t.Params.WithDefaults("pg")
	if err != nil {
		return nil // nothing can have run with such parameters
	}
	at, err := kind().Find(t, p)
	if err != nil {
		return nil // likewise
	}
	s, err := at.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Query(ctx, "end queries of earlier runs", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()`, []string{at.Application}, nil)
}
