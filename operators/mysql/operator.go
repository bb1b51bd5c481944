// Package mysql implements `mysql>`: it runs SQL on a MySQL or MariaDB database. Agents that may open connections run
// it. It must connect only to the server that the task names, and must never log secrets.
//
// A script that writes rows is executed exactly once: a row of a status table, found by an id that is in the task's
// state before anything runs, is completed in the script's own transaction. On these servers, data definition
// statements commit implicitly, so a script with such statements may start again after a crash.
package mysql

import (
	"context"

	"zerodag/operators"
	"zerodag/operators/sql"
)

// Operator returns `mysql>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "mysql", Summary: "runs SQL on a MySQL or MariaDB database", Retries: true, Run: run, Clean: clean}
}

func kind() sql.Kind { return sql.Kind{Name: "mysql", Secrets: "mysql", Port: 3306, Flat: true} }

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("mysql")
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
		return read(ctx, t, at, q)
	}
	id, err := kind().Identified(t)
	if err != nil {
		return operators.Result{}, err
	}
	s, err := connect(ctx, at, true)
	if err != nil {
		return operators.Result{}, sql.Unreached(ctx, t, err)
	}
	defer s.close()
	return operators.Result{}, sql.Ended(t, s.write(ctx, q, id))
}

// clean ends the query that an earlier run left behind on the server: it continues there if the agent that waits for it
// dies. Its session holds the task's lock.
func clean(ctx context.Context, t *operators.Task) error {
	p, err := t.Params.WithDefaults("mysql")
	if err != nil {
		return nil // nothing can have run with such parameters
	}
	at, err := kind().Find(t, p)
	if err != nil {
		return nil // likewise
	}
	s, err := connect(ctx, at, false)
	if err != nil {
		return err
	}
	defer s.close()
	holder, err := s.holder(ctx)
	if err != nil || holder == 0 {
		return err
	}
	return s.kill(ctx, "KILL", holder)
}
