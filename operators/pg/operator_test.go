package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/operatortest/sqltest"
	"zerodag/operators/sql"
)

// TestPg contains all tests that need a server. They share one server.
func TestPg(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	server.Rows(t, "create type weather as enum ('sunny', 'wet'); create table sinks (a int); create schema \"Sch\"")
	s := subject(server)
	s.Suite(t, map[string]func(t *testing.T){
		"reading": func(t *testing.T) { testReading(t, s) }, "writing": func(t *testing.T) { testWriting(t, s) },
		"limits": func(t *testing.T) { testLimits(t, s) }, "ssl": func(t *testing.T) { testSSL(t, s) }, "locked": func(t *testing.T) { testLocked(t, s) },
	})
}

func testReading(t *testing.T, s sqltest.Subject) {
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: s.Params(sqltest.Data("select 1 as a") + `, "store_last_results": true, "ssl": false, "schema": "public", "connect_timeout": "9s",
			"socket_timeout": "9s", "password_override": "other"`),
		Slow:    s.Params(sqltest.Data("select pg_sleep(1000)") + `, "store_last_results": "all"`),
		Prepare: func(_ *testing.T, w *operatortest.World) { w.Vault["pg.other"] = "x" },
		Wrong: []string{
			`{}`, `{"pg": 1}`, `{"host": "h", "user": "u", "query": "q"}`, `{"host": "h", "database": "d", "query": "q"}`,
			`{"user": "u", "database": "d", "query": "q"}`, s.Params(`"port": 0, "query": "q"`), s.Params(`"port": "x", "query": "q"`),
			s.Params(`"ssl": "x", "query": "q"`), s.Params(`"connect_timeout": "x", "query": "q"`), s.Params(`"socket_timeout": [], "query": "q"`),
			s.Params(`"schema": {}, "query": "q"`), s.Params(`"password_override": {}, "query": "q"`),
			s.Params(`"pg": {}`), s.Params(`"_command": {}`), s.Params(`"_command": "none.sql"`), s.Params(`"_command": "../x"`),
			s.Params(`"query": "q", "create_table": "a", "insert_into": "b"`), s.Params(`"query": "q", "create_table": {}`),
			s.Params(`"query": "q", "insert_into": {}`), s.Params(`"query": "q", "create_table": "a", "download_file": "b"`),
			s.Params(`"query": "q", "create_table": "a", "store_last_results": "all"`), s.Params(`"query": "q", "store_last_results": "some"`),
			s.Params(`"query": "q", "store_last_results": "all", "download_file": "b"`), s.Params(`"query": "q", "download_file": {}`),
			s.Params(`"query": "q", "download_file": "../b"`), s.Params(`"query": "q", "strict_transaction": "x"`),
			s.Params(`"query": "q", "status_table": {}`), s.Params(`"query": "q", "status_table_schema": {}`),
			s.Params(`"query": "q", "status_table_cleanup": "x"`),
			s.Params(sqltest.Data("create table never (a int)") + `, "store_last_results": "all"`), s.Params(sqltest.Data("create table never (a int)") + `, "download_file": "b"`),
		},
	})
}

func testWriting(t *testing.T, s sqltest.Subject) {
	s.Rows(t, "create table sink (a int)")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: s.Params(sqltest.Data("select 1 as a") + `, "insert_into": "sink", "strict_transaction": true, "status_table": "sink_status",
			"status_table_schema": "public", "status_table_cleanup": "1h"`),
		Slow: s.Params(sqltest.Data("select pg_sleep(1000)")),
		Prepare: func(_ *testing.T, w *operatortest.World) {
			w.SessionUUID = rand.Text()
			w.State = param.New(sql.QueryKey, rand.Text())
		},
	})
}

func testLimits(t *testing.T, s sqltest.Subject) {
	for params, want := range map[string]operatortest.Ended{
		sqltest.Data("select 1 from generate_series(1, 4)") + `, "store_last_results": "all"`:        {Error: "The number of result rows exceeded the limit: 4 > 3"},
		sqltest.Data("select 1 as a from generate_series(1, 4)") + `, "store_last_results": "first"`: {Store: `{"pg":{"last_results":{"a":1}}}`},
		sqltest.Data("select 1, 2, 3") + `, "store_last_results": "all"`:                             {Error: "The number of result columns exceeded the limit: 3 > 2"},
		sqltest.Data("select '😀123'") + `, "store_last_results": "first"`:                            {Error: "The size of result value exceeded the limit: 5 > 4"},
		sqltest.Data("select 12345 as a") + `, "store_last_results": "first"`:                        {Store: `{"pg":{"last_results":{"a":12345}}}`},
	} {
		w := s.Task(t, params)
		w.Config = operatortest.Map(t, `{"pg": {"max_store_last_results_rows": 3, "max_store_last_results_value_size": 4},
			"jdbc": {"max_store_last_results_columns": 2, "max_store_last_results_rows": 1}}`)
		if diff := cmp.Diff(want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func testSSL(t *testing.T, s sqltest.Subject) {
	for ssl, want := range map[string]string{"true": "true", "false": "false"} {
		w := s.Task(t, `"query": "select ssl from pg_stat_ssl where pid = pg_backend_pid()", "store_last_results": "first", "ssl": `+ssl)
		if diff := cmp.Diff(operatortest.Ended{Store: `{"pg":{"last_results":{"ssl":` + want + `}}}`}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("ssl: %s: %s", ssl, diff)
		}
	}
}

func testLocked(t *testing.T, s sqltest.Subject) {
	s.Rows(t, "create table behind (a int)")
	w := s.Task(t, sqltest.Data("insert into behind values (1)")+`, "status_table": "lock_status"`)
	holder := operatortest.New(t, s.Params(sqltest.Data("select pg_sleep(1000)")+`, "status_table": "lock_status"`))
	w.State = param.New(sql.QueryKey, "q")
	holder.State = w.State
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	name := application(t, holder)
	go func() {
		_, err := s.Once(ctx, holder)
		ended <- err
	}()
	s.WaitFor(t, "select count(*) from pg_stat_activity where state = 'active' and query = 'select pg_sleep(1000)' and application_name = '"+name+"'", "1")
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		_, err := Operator().Run(t.Context(), &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) || later.After != want || later.Err != nil {
			t.Fatalf("got %v, want another run after %v", err, want)
		}
		w.State = later.State
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the holder ended with %v", err)
	}
	s.Finish(t, w)
	if got := s.Rows(t, "select count(*) from behind"); got[0] != "1" {
		t.Errorf("it was executed %s times", got[0])
	}
}

// application returns the name by which the server knows a task.
func application(t *testing.T, w *operatortest.World) string {
	t.Helper()
	at, err := kind().Find(&w.Task, w.Params)
	if err != nil {
		t.Fatal(err)
	}
	return at.Application
}
