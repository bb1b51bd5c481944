// Package redshift implements `redshift>`, `redshift_load>` and `redshift_unload>`: SQL on Amazon Redshift, over a
// connection or through its Data API. Any agent may run them. They must connect only to servers that the task names,
// and must never log secrets.
//
// Changes to the database are made exactly once. With a connection, a table whose name has the id of the query is
// created in the statement's own transaction: Redshift locks no rows, but no two transactions can create the same
// table. With the Data API, the statements form one transaction, and a token makes repeated starts count as one.
package redshift

import (
	"context"
	"errors"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/sql"
)

// Operators returns the Amazon Redshift operators.
func Operators() []operators.Operator {
	account := &aws.Account{}
	operator := func(name, summary string, read func(*task) error) operators.Operator {
		return operators.Operator{Name: name, Summary: summary, Retries: true,
			Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
				w, err := open(ctx, account, t, name, read)
				if err != nil {
					return operators.Result{}, err
				}
				return w.run(ctx)
			},
			Clean: func(ctx context.Context, t *operators.Task) error {
				w, err := open(ctx, account, t, name, read)
				var wrong *param.ConfigError
				if errors.As(err, &wrong) {
					return nil // nothing can have run with such parameters
				}
				if err != nil {
					return err
				}
				return w.clean(ctx)
			}}
	}
	return []operators.Operator{
		operator("redshift", "runs SQL on Amazon Redshift", readQuery),
		operator("redshift_load", "loads files into Amazon Redshift", readLoad),
		operator("redshift_unload", "writes rows of Amazon Redshift to files in S3", readUnload),
	}
}

func kind() sql.Kind {
	return sql.Kind{Name: "redshift", Secrets: "aws.redshift", Port: 5439, Redshift: true}
}

// task is a task with its access to the database: a server or the Data API.
type task struct {
	*operators.Task
	name    string // of the operator
	params  *operators.Params
	account *aws.Account
	query   *sql.Query
	at      *sql.Server
	api     *dataAPI

	copy *transfer // of files; nil for SQL
}

func open(ctx context.Context, account *aws.Account, t *operators.Task, name string, read func(*task) error) (*task, error) {
	w := &task{Task: t, name: name, account: account}
	var err error
	if w.params, err = readParams(t, name); err != nil {
		return nil, err
	}
	if w.api, err = readDataAPI(w); err != nil {
		return nil, err
	}
	if w.api == nil {
		if w.at, err = kind().Find(t, w.params); err != nil {
			return nil, err
		}
	}
	if err := read(w); err != nil {
		return nil, err
	}
	if w.api != nil {
		return w, w.api.connect(ctx, w)
	}
	return w, nil
}

// readParams applies the defaults from, for example, `redshift_load: {...}`, then those from `redshift: {...}`.
func readParams(t *operators.Task, name string) (*operators.Params, error) {
	p, err := t.Params.WithDefaults(name)
	if err != nil || name == "redshift" {
		return p, err
	}
	all, err := operators.ReadOr(t.Params, "redshift", param.AsMap, param.New())
	return p.Defaulted(all), err
}

func readQuery(w *task) (err error) {
	w.query, err = sql.ReadQuery(w.Task, w.params)
	return err
}

func (w *task) run(ctx context.Context) (operators.Result, error) {
	switch {
	case w.api != nil:
		return w.api.run(ctx, w)
	case w.query.ReadOnly():
		return w.query.Read(ctx, w.Task, w.at)
	}
	return operators.Result{}, w.at.Write(ctx, w.Task, func(ctx context.Context, s *sql.Session, id string) error {
		if !w.query.Strict {
			return w.execute(ctx, s, id)
		}
		return session{s}.once(ctx, w.query, id, func() error { return w.execute(ctx, s, id) })
	})
}

// execute runs the statement of the task; credentials of a copy are created only now.
func (w *task) execute(ctx context.Context, s *sql.Session, id string) error {
	if w.copy == nil {
		return s.Script(ctx, w.query.What(), w.query.Statement())
	}
	keys, err := w.keys(ctx)
	if err != nil {
		return err
	}
	w.at.Hide(keys.secrets()...)
	if err := w.clear(ctx, id); err != nil {
		return err
	}
	return s.Script(ctx, w.copy.what, w.copy.statement(id, keys))
}

// clean ends what earlier runs left running.
func (w *task) clean(ctx context.Context) error {
	if w.api != nil {
		return w.api.stop(ctx, w)
	}
	s, err := w.at.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return session{s}.end(ctx, w.at.Tag())
}
