// Package sqltest is the test suite for operators that run SQL on a server: it checks the common guarantees of pg>,
// mysql> and redshift>, whatever the server and the wording of its errors.
//
// Each of them provides a real server and the specifics of its dialect. The package must only be imported by tests.
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

// Subject is an operator and the server on which it is tested. Parts that are not set are not tested, see Suite.
type Subject struct {
	Operator operators.Operator
	Secrets  string // prefix of its secrets' names: "pg"

	Port           int
	User, Database string // of an account without a password
	Careful        string // an account with a password
	Password       string // of Careful
	Rows           func(t testing.TB, query string) []string
	Exec           func(t testing.TB, script string)
	// Greets means that the server speaks first on a connection.
	Greets bool

	// Sleep is the format of a statement that takes some seconds: "select pg_sleep(%v)".
	Sleep string
	// Running counts a task's sessions that are executing a statement; Left counts the sessions that have not ended
	// yet.
	Running, Left func(t *testing.T, w *operatortest.World, statement string) string

	Values    map[string]string // last_results, by parameters
	Downloads map[string]string // the file, by query
	Broken    string            // a query that fails in the middle of its rows
	// Errors maps changes of parameters to the outcomes of tasks with these changes.
	Errors map[string]operatortest.Ended
	// Rejected is the error for an account with a wrong password, or without one.
	Rejected func(given bool) string
	// Settings are further secrets that a task reads if all settings are secrets.
	Settings map[string]string
	// Statements are executed in order, each followed by a check of its effect.
	Statements []Statement
	// StatusTables creates the tables that Suite describes; Denied are parts of the error if one may not be created.
	StatusTables string
	Denied       []string
	// Requests is the minimum number of requests in a run; Open is the number of cuts after which it is unknown whether
	// the run was committed.
	Requests, Open int
}

// Statement is a task with some parameters, and a query's result after it.
type Statement struct {
	Params, Check string
	Want          []string
}

// Do returns a Statement.
func Do(params, check string, want ...string) Statement { return Statement{params, check, want} }

// Params returns the parameters of a task that belongs to User, with additional ones.
func (s Subject) Params(more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "database": %q, %s}`, s.Port, s.User, s.Database, more)
}

// Changed returns these parameters with some replaced.
func (s Subject) Changed(t *testing.T, others string) string {
	t.Helper()
	m := operatortest.Map(t, s.Params(fmt.Sprintf(`"_type": %q`, s.Operator.Name)))
	for k, v := range operatortest.Map(t, "{"+others+"}").All() {
		m.Set(k, v)
	}
	return param.Text(m)
}

// Task returns a task with a separate session, and therefore a separate query id.
func (s Subject) Task(t *testing.T, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, s.Params(more))
	w.SessionUUID = rand.Text()
	return w
}

// Data returns a query's parameter.
func Data(text string) string { return `"_command": ` + param.Text(param.New("data", text)) }

// State returns the state of a task whose query already has an id.
func State(of string) *param.Map { return param.New(sql.QueryKey, operators.Derived(of)) }

// Once runs a task as an agent would if it got the task back at once, until the task has to wait.
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

// Finish runs a task until it is done. Obstacles soon disappear: a session ends after its client has gone.
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

// WaitFor waits until a query has the expected result.
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
