// Package sqltest is the suite of operators that run SQL on a server: what pg>, mysql> and redshift> promise alike,
// whatever the server is called and however it words its errors.
//
// Each of them brings a real server and what its dialect differs in. The package must only be imported by tests.
package sqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/sql"
)

// Subject is an operator and the server that it is tried on. Parts that are not set are not tried, see Suite.
type Subject struct {
	Operator operators.Operator
	Secrets  string // what the names of its secrets begin with: "pg"

	Port           int
	User, Database string // of an account without a password
	Careful        string // an account with one
	Password       string // that one
	Rows           func(t testing.TB, query string) []string
	Exec           func(t testing.TB, script string)
	// Greets: the server speaks first on a connection.
	Greets bool

	// Sleep is the form of a statement that takes some seconds: "select pg_sleep(%v)".
	Sleep string
	// Running counts the sessions of a task that execute a statement, Left those that are not over yet.
	Running, Left func(t *testing.T, w *operatortest.World, statement string) string

	Values    map[string]string // last_results, by the parameters
	Downloads map[string]string // the file, by the query
	Broken    string            // a query that fails in the middle of its rows
	// Errors are how tasks end whose parameters are changed so.
	Errors map[string]operatortest.Ended
	// Rejected is the error of an account with a wrong password, or without any.
	Rejected func(given bool) string
	// Settings are further secrets that a task reads when all is secret.
	Settings map[string]string
	// Statements are executed in their order, each followed by a look at what it did.
	Statements []Statement
	// StatusTables makes the tables that Suite describes; Denied are parts of the error where one may not be made.
	StatusTables string
	Denied       []string
	// Requests is how many a run has at least, Open after how many cuts of a run it is not known whether it was committed.
	Requests, Open int
}

// Statement is the task with some parameters, and what a query returns after it.
type Statement struct {
	Params, Check string
	Want          []string
}

// Do makes a Statement.
func Do(params, check string, want ...string) Statement { return Statement{params, check, want} }

// Params are those of a task of User, with more of them.
func (s Subject) Params(more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "database": %q, %s}`, s.Port, s.User, s.Database, more)
}

// Changed are those in which some are others.
func (s Subject) Changed(t *testing.T, others string) string {
	t.Helper()
	m := operatortest.Map(t, s.Params(fmt.Sprintf(`"_type": %q`, s.Operator.Name)))
	for k, v := range operatortest.Map(t, "{"+others+"}").All() {
		m.Set(k, v)
	}
	return param.Text(m)
}

// Task is one of a session of its own, so with a query id of its own.
func (s Subject) Task(t *testing.T, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, s.Params(more))
	w.SessionUUID = rand.Text()
	return w
}

// Data is the parameter of a query.
func Data(text string) string { return `"_command": ` + param.Text(param.New("data", text)) }

// State is that of a task whose query has an id already.
func State(of string) *param.Map { return param.New(sql.QueryKey, operators.Derived(of)) }

// Once runs a task as an agent does that gets it back at once, until it needs patience.
func (s Subject) Once(ctx context.Context, w *operatortest.World) (operators.Result, error) {
	for {
		result, err := s.Operator.Run(ctx, &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) {
			return result, err
		}
		w.State = later.State
		if later.After > 0 {
			return result, later
		}
	}
}

// Finish runs a task until it is done. What is in the way goes soon: the end of a session whose client is gone.
func (s Subject) Finish(t *testing.T, w *operatortest.World) operators.Result {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		result, err := s.Once(t.Context(), w)
		var later *operators.Later
		if err == nil {
			return result
		}
		if !errors.As(err, &later) || time.Since(begin) > 30*time.Second {
			t.Fatal(err)
		}
	}
}

// WaitFor waits until a query has the answer it is to have.
func (s Subject) WaitFor(t *testing.T, query, want string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		got := s.Rows(t, query)
		if got[0] == want {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s: %s, want %s", query, got[0], want)
		}
	}
}

func (s Subject) sleep(seconds any) string { return fmt.Sprintf(s.Sleep, seconds) }
