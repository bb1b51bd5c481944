// Package pg is `pg>`: it runs SQL on a PostgreSQL database. Agents that may open
// connections call it; it must connect to nothing but the server that the task names, and
// must never log what is a secret.
//
// A statement that writes is executed exactly once: a row of a status table, found by an
// id that is in the task's state before anything runs, is completed in the transaction of
// the statement itself. Whoever runs the task again reads from that row what came of it.
package pg

import (
	"context"
	"errors"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator is `pg>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "pg", Summary: "runs SQL on a PostgreSQL database", Retries: true, Run: run, Clean: clean}
}

// What the state of a task that writes has.
const (
	queryKey   = "queryId"
	waitKey    = "pollInterval"  // seconds until the next look, the next time
	unknownKey = "commitUnknown" // the connection was lost while the server committed
)

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("pg")
	if err != nil {
		return operators.Result{}, err
	}
	at, err := findServer(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	q, err := readQuery(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	if q.readOnly() {
		return q.read(ctx, t, at)
	}
	if !t.State.Has(queryKey) {
		next := t.State.Clone()
		next.Set(queryKey, operators.Derived("pg", t.IdempotencyKey(), t.SessionUUID))
		return operators.Result{}, &operators.Later{State: next} // at once: the id has to be kept before it is used
	}
	return operators.Result{}, q.write(ctx, t, at)
}

// write executes the statement; Later says that somebody has to look again.
func (q *query) write(ctx context.Context, t *operators.Task, at *server) error {
	id, err := operators.NewParams(t.State).String(queryKey)
	if err != nil {
		return err
	}
	s, err := at.connect(ctx)
	if err != nil {
		if ctx.Err() == nil && t.State.Has(unknownKey) {
			return again(t.State, err) // it may be done: saying that it failed would be a guess
		}
		return err
	}
	defer s.close()
	if !q.strict {
		return s.script(ctx, "execute given SQL script", q.statement())
	}
	err = s.once(ctx, q, id)
	switch {
	case errors.Is(err, errLocked):
		return again(t.State, nil)
	case errors.Is(err, errUnknown):
		next := t.State.Clone()
		next.Set(unknownKey, true)
		return again(next, err)
	}
	return err
}

// clean ends what a run before left behind on the server: a query goes on there when the
// agent that waits for it dies.
func clean(ctx context.Context, t *operators.Task) error {
	p, err := t.Params.WithDefaults("pg")
	if err != nil {
		return nil //nolint:nilerr // with such parameters nothing ever ran
	}
	at, err := findServer(t, p)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	s, err := at.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return s.query(ctx, "end queries of earlier runs", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()`, []string{at.application}, nil)
}

// again asks for another run after 1, 2, 4 ... seconds.
func again(state *param.Map, why error) error {
	const longest = 1200
	wait, err := operators.NewParams(state).IntOr(waitKey, 1)
	if err != nil {
		return err
	}
	next := state.Clone()
	next.Set(waitKey, min(2*wait, longest))
	return &operators.Later{After: seconds(wait), State: next, Err: why}
}
