package redshift

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/redshiftdata"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/operatortest/sqltest"
	"zerodag/operators/sql"
)

func operator(name string) operators.Operator {
	for _, o := range Operators() {
		if o.Name == name {
			return o
		}
	}
	panic(name)
}

// start starts a PostgreSQL server with additions that Redshift has and PostgreSQL lacks.
func start(t *testing.T) postgres.Server {
	t.Helper()
	s := postgres.Start(t)
	s.Rows(t, `create function getdate() returns timestamp language sql as 'select now()::timestamp';
		create view stv_recents as select pid, case state when 'active' then 'Running' else 'Done' end as status, query from pg_stat_activity;
		create table received (statement text)`)
	return s
}

// TestRedshift contains all tests that need a server. They share one server.
func TestRedshift(t *testing.T) {
	t.Parallel()
	s := start(t)
	own := map[string]func(t *testing.T){}
	for name, test := range map[string]func(t *testing.T, s postgres.Server){
		"reading": testReading, "writing": testWriting, "once": testOnce, "cleanup": testCleanup,
		"data API": testDataAPI, "data API results": testDataAPIResults, "data API once": testDataAPIOnce, "data API kill": testDataAPIKill,
		"data API busy": testBusy, "load": testLoad, "unload": testUnload,
	} {
		own[name] = func(t *testing.T) { test(t, s) }
	}
	subject(s).Suite(t, own)
}

// subject returns the tests that redshift> shares with pg>. Its status tables are of a different kind, see testOnce.
func subject(s postgres.Server) sqltest.Subject {
	// Tests differ in their statements. A task puts a comment before its own statement.
	sessions := "select count(*) from pg_stat_activity where query like '/* zerodag %%%s'"
	return sqltest.Subject{
		Operator: operator("redshift"), Secrets: "aws.redshift", Port: s.Port, User: postgres.User, Database: postgres.Database, Careful: postgres.Careful, Password: postgres.Password,
		Rows: s.Rows, Exec: func(t testing.TB, script string) { s.Rows(t, script) }, Sleep: "select pg_sleep(%v)",
		Running: func(_ *testing.T, _ *operatortest.World, statement string) string {
			return fmt.Sprintf(sessions, statement) + " and state = 'active'"
		},
		Left: func(_ *testing.T, _ *operatortest.World, statement string) string {
			return fmt.Sprintf(sessions, statement)
		},
		Values: map[string]string{
			`"query": "select current_schema as a", "schema": "information_schema", "store_last_results": "first"`:                       `{"a":"information_schema"}`,
			`"query": "select 1 a, 1.50::numeric b, true c, 'x'::text d, date '2024-02-29' e, null::int f", "store_last_results": "all"`: `[{"a":1,"b":1.5,"c":true,"d":"x","e":1709164800000,"f":null}]`,
		},
		Errors: map[string]operatortest.Ended{
			`"query": "select * from nowhere", "store_last_results": "all"`: {
				Error: "Failed to execute given SELECT statement [ERROR: relation \"nowhere\" does not exist\n  Position: 15]"},
			`"query": "insert into nowhere values (1)"`: {
				Error: "Failed to execute given SQL script [ERROR: relation \"nowhere\" does not exist\n  Position: 13]"},
			`"query": "create table x (a int)", "download_file": "f"`: {Error: "Query must be read-only if download_file is set", Kind: "config"},
		},
		Rejected: func(bool) string {
			return `Failed to connect to the database [FATAL: password authentication failed for user "careful"]`
		},
		Settings: map[string]string{"schema": "public"},
		Requests: 9, Open: 2,
	}
}

// byConnection returns a task's parameters, with additional ones.
func byConnection(s postgres.Server, more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "database": %q, %s}`, s.Port, postgres.User, postgres.Database, more)
}

func byDataAPI(more string) string {
	return `{"cluster": "c", "db_user": "u", "database": "d", ` + more + `}`
}

// newTask returns a task in a separate session, so that it has a separate query id.
func newTask(t *testing.T, params string, vault map[string]string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, params)
	w.SessionUUID = rand.Text()
	maps.Copy(w.Vault, vault)
	return w
}

// finish runs a task until it is done. Time passes only between runs.
func finish(t *testing.T, name string, w *operatortest.World) operatortest.Ended {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		result, err := operator(name).Run(t.Context(), &w.Task)
		var later *operators.Later
		switch {
		case errors.As(err, &later):
			w.State = later.State
		case err != nil:
			return operatortest.Ended{Error: err.Error()}
		case result.Store.Len() > 0:
			return operatortest.Ended{Store: param.Text(result.Store)}
		default:
			return operatortest.Ended{}
		}
	}
	t.Fatal("the task does not end within a minute")
	return operatortest.Ended{}
}

func look(t *testing.T, name string, w *operatortest.World) *operators.Later {
	t.Helper()
	_, err := operator(name).Run(t.Context(), &w.Task)
	var later *operators.Later
	if !errors.As(err, &later) {
		t.Fatalf("got %v, want a request for another run", err)
	}
	return later
}

func testReading(t *testing.T, s postgres.Server) {
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator("redshift"),
		Good: byConnection(s, `"query": "select 1 as a", "store_last_results": true, "ssl": false, "schema": "public", "connect_timeout": "9s", "socket_timeout": "9s",
			"password_override": "other"`),
		Slow:    byConnection(s, `"query": "select pg_sleep(1000)", "store_last_results": "all"`),
		Prepare: func(_ *testing.T, w *operatortest.World) { w.Vault["aws.redshift.other"] = "x" },
		Wrong: []string{
			`{}`, `{"redshift": 1}`, `{"host": "h", "user": "u", "query": "q"}`, byConnection(s, `"query": "q", "create_table": "a", "insert_into": "b"`),
			byConnection(s, `"query": "q", "cluster": "c"`), `{"cluster": "c", "query": "q"}`, `{"cluster": "c", "workgroup": "w", "database": "d", "query": "q"}`,
			`{"workgroup": "w", "db_user": "u", "database": "d", "query": "q"}`, `{"cluster": "c", "database": "d"}`,
			byConnection(s, `"query": "create table never (a int)", "store_last_results": "all"`),
		},
	})
}

func testWriting(t *testing.T, s postgres.Server) {
	s.Rows(t, "create table sink (a int)")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator("redshift"),
		Good: byConnection(s, `"query": "select 1 as a", "insert_into": "sink", "strict_transaction": true, "status_table": "sink_status",
			"status_table_schema": "public", "status_table_cleanup": "1h"`),
		Slow: byConnection(s, `"query": "select pg_sleep(1000)"`),
		Prepare: func(_ *testing.T, w *operatortest.World) {
			w.SessionUUID = rand.Text()
			w.State = param.New(sql.QueryKey, operators.Derived(rand.Text()))
		},
	})
}

// testOnce checks that a query is executed once if its task runs several times, at the same time or one after the
// other.
func testOnce(t *testing.T, s postgres.Server) {
	s.Rows(t, "create schema status; create table once (a int)")
	w := newTask(t, byConnection(s, `"query": "insert into once select 1; select pg_sleep(0.1)", "status_table_schema": "status"`), nil)
	w.State = look(t, "redshift", w).State
	tree := w.Params.All()
	ended := make(chan error, 5)
	for range cap(ended) {
		mine := w.Task
		mine.Params = operators.NewParams(tree)
		go func() {
			_, err := operator("redshift").Run(t.Context(), &mine)
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if got := finish(t, "redshift", w); got.Error != "" {
		t.Error(got.Error)
	}
	if got := s.Rows(t, "select count(*) from once"); got[0] != "1" {
		t.Errorf("it was executed %s times", got[0])
	}
	id, _ := w.State.Get(sql.QueryKey)
	if got := s.Rows(t, fmt.Sprintf(`select query_id, completed_at is not null from status."__digdag_status_%s"`, id)); got[0] != fmt.Sprintf("%s t", id) {
		t.Errorf("the status table has %q", got)
	}
	failing := newTask(t, byConnection(s, `"query": "insert into once values (2); select 1 / 0", "status_table_schema": "status"`), nil)
	for range 2 {
		if got := finish(t, "redshift", failing); !strings.HasPrefix(got.Error, "Failed to execute given SQL script [ERROR: division by zero") {
			t.Errorf("got %+v", got)
		}
	}
	if got := s.Rows(t, "select count(*) from once where a = 2"); got[0] != "0" {
		t.Error("changes of a failed script were committed")
	}
}

// testCleanup checks that status tables are dropped when they are old, and that no other table is dropped.
func testCleanup(t *testing.T, s postgres.Server) {
	old, open, recent := operators.Derived("old"), operators.Derived("open"), operators.Derived("new")
	for name, completed := range map[string]string{"st_" + old: "now() - interval '2 hours'", "st_" + open: "null::timestamptz", "st_" + recent: "now()",
		"st_mine": "now() - interval '2 hours'", "st": "now() - interval '2 hours'"} {
		s.Rows(t, fmt.Sprintf(`create schema if not exists tidy; create table tidy.%s as select %s as completed_at`, sql.Quoted(name), completed))
	}
	w := newTask(t, byConnection(s, `"query": "select 1", "status_table": "st", "status_table_schema": "tidy", "status_table_cleanup": "1h"`), nil)
	if got := finish(t, "redshift", w); got.Error != "" {
		t.Fatal(got.Error)
	}
	id, _ := w.State.Get(sql.QueryKey)
	left := s.Rows(t, "select string_agg(tablename, ' ') from (select tablename from pg_tables where schemaname = 'tidy') t")[0]
	for name, want := range map[string]bool{old: false, open: true, recent: true, "st_mine": true, fmt.Sprint(id): true} {
		if strings.Contains(left, name) != want {
			t.Errorf("%s is left: %t, want %t: %s", name, !want, want, left)
		}
	}
}

func testDataAPI(t *testing.T, s postgres.Server) {
	api := newService(t, s)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: operator("redshift"),
		Good:     `{"workgroup": "w", "database": "d", "query": "select 1", "schema": "public", "region": "us-east-1", "secret_arn": "arn:aws:secretsmanager:x"}`,
		Prepare:  func(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, api.grant()) },
	})
	s.Rows(t, "create table by_api (a int)")
	for params, want := range map[string]string{
		`"query": "insert into by_api values (1); insert into by_api values (2);"`: "",
		`"query": "select 3", "insert_into": "by_api"`:                             "",
		`"query": "vacuum by_api", "strict_transaction": false`:                    "",
		`"query": "select 4 as a", "create_table": "made_by_api"`:                  "",
		`"query": "insert into by_api values (10); select 1 / 0"`:                  "Failed to execute given SQL script [ERROR: division by zero (SQLSTATE 22012)]",
		`"query": "select 1; select 2", "strict_transaction": false`:               "With strict_transaction: false the Data API accepts one statement, not 2: write a task for each",
		`"query": "-- nothing"`:                              "redshift> has an empty query",
		`"query": "` + strings.Repeat("select 1;", 41) + `"`: "41 statements exceed the limit of the Data API, 40: split them into several tasks, or set host",
	} {
		if got := finish(t, "redshift", newTask(t, byDataAPI(params), api.grant())).Error; got != want {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, s.Rows(t, "select a from by_api order by a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"4"}, s.Rows(t, "select a from made_by_api")); diff != "" {
		t.Error(diff)
	}
}

func testDataAPIResults(t *testing.T, s postgres.Server) {
	api := newService(t, s)
	s.Rows(t, "create table read_only (a int)")
	const everything = `"query": "select 1 a, 1.50::numeric b, true c, 'x'::text d, date '2024-02-29' e, null::int f, 2.5::float8 g, timestamp '2024-02-29 12:34:56.789' h"`
	for params, want := range map[string]operatortest.Ended{
		everything + `, "store_last_results": "first"`: {
			Store: `{"redshift":{"last_results":{"a":1,"b":1.5,"c":true,"d":"x","e":1709164800000,"f":null,"g":2.5,"h":1709210096789}}}`},
		`"query": "select * from generate_series(1, 5) n", "store_last_results": "all"`:                        {Store: `{"redshift":{"last_results":[{"n":1},{"n":2},{"n":3},{"n":4},{"n":5}]}}`},
		`"query": "select 1 as a where false", "store_last_results": "first"`:                                  {Store: `{"redshift":{"last_results":{}}}`},
		`"query": "select current_schema as a", "schema": "information_schema", "store_last_results": "first"`: {Store: `{"redshift":{"last_results":{"a":"information_schema"}}}`},
		`"query": "insert into read_only values (1)", "store_last_results": "all"`:                             {Error: "Query must be read-only if store_last_results is set"},
		`"query": "set x.y = 1", "store_last_results": "all"`:                                                  {Error: "Failed to execute given SELECT statement [No results were returned by the query.]"},
		`"query": "select 1; select 2", "store_last_results": "all"`:                                           {Error: "A query that returns rows must be one statement, not 2"},
	} {
		if diff := cmp.Diff(want, finish(t, "redshift", newTask(t, byDataAPI(params), api.grant()))); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
	w := newTask(t, byDataAPI(`"query": "select n, null as x from generate_series(1, 5) n", "download_file": "rows.csv"`), api.grant())
	if got := finish(t, "redshift", w); got.Error != "" {
		t.Fatal(got.Error)
	}
	if got, err := w.Project.Read("rows.csv"); err != nil || string(got) != "n,x\r\n1,\r\n2,\r\n3,\r\n4,\r\n5,\r\n" {
		t.Errorf("the file has %q (%v)", got, err)
	}
}

// testDataAPIOnce checks that statements start once, even if the response or the state is lost, and that another try
// starts them again.
func testDataAPIOnce(t *testing.T, s postgres.Server) {
	api := newService(t, s)
	s.Rows(t, "create table api_once (a int)")
	w := newTask(t, byDataAPI(`"query": "insert into api_once values (1); insert into api_once values (2)"`), api.grant())
	w.State = look(t, "redshift", w).State
	intent := look(t, "redshift", w)
	if api.count("BatchExecuteStatement") != 0 || intent.After != 0 {
		t.Error("statements were started before the intent is kept")
	}
	api.lose = "BatchExecuteStatement"
	for range 3 {
		w.State = intent.State
		if later := look(t, "redshift", w); later.After != time.Second {
			t.Errorf("it looks again after %v", later.After)
		}
	}
	if got := finish(t, "redshift", w); got.Error != "" {
		t.Error(got.Error)
	}
	if got := s.Rows(t, "select count(*) from api_once"); got[0] != "2" {
		t.Errorf("%s rows, want 2", got[0])
	}
	w.State = param.New("retry_count", int64(1))
	finish(t, "redshift", w)
	if got := s.Rows(t, "select count(*) from api_once"); got[0] != "4" {
		t.Errorf("%s rows after another try, want 4", got[0])
	}
}

func testDataAPIKill(t *testing.T, s postgres.Server) {
	api := newService(t, s)
	w := newTask(t, byDataAPI(`"query": "select pg_sleep(1000)"`), api.grant())
	clean := func() {
		t.Helper()
		if err := operator("redshift").Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	clean()
	w.State = look(t, "redshift", w).State
	w.State = look(t, "redshift", w).State
	clean() // nothing was started
	started := look(t, "redshift", w)
	clean() // its id is lost
	w.State = started.State
	clean() // it has ended
	if got := finish(t, "redshift", w); got.Error != "Failed to execute given SQL script [ABORTED]" || api.count("ExecuteStatement") != 1 {
		t.Errorf("got %+v after %d statements", got, api.count("ExecuteStatement"))
	}
}

func testBusy(t *testing.T, s postgres.Server) {
	api := newService(t, s)
	w := newTask(t, byDataAPI(`"query": "select 1"`), api.grant())
	w.State = look(t, "redshift", w).State
	w.State = look(t, "redshift", w).State
	api.refuse = 3
	for _, want := range []time.Duration{1, 2, 4} {
		later := look(t, "redshift", w)
		if later.After != want*time.Second {
			t.Errorf("it tries again after %v, want %v", later.After, want*time.Second)
		}
		w.State = later.State
	}
	if got := finish(t, "redshift", w); got.Error != "" {
		t.Error(got.Error)
	}
	api.refuse = 1
	w.State = param.New(sql.QueryKey, "q", "commandStatus", param.New("looks", int64(20)))
	if got := finish(t, "redshift", w); got.Error != "redshift>: can't start the statements: ActiveStatementsExceededException: too many" {
		t.Errorf("in the end: %+v", got)
	}
}

// TestMoto checks that the requests have the form that the service expects: moto reads them according to AWS's model,
// although it runs nothing.
func TestMoto(t *testing.T) {
	t.Parallel()
	client := redshiftdata.NewFromConfig(localstack.Config(t))
	w := newTask(t, byDataAPI(`"query": "select 1"`), localstack.Secrets("redshift"))
	w.State = look(t, "redshift", w).State
	w.State = look(t, "redshift", w).State
	w.State = look(t, "redshift", w).State
	started := w.State.Map("commandStatus")
	if later := look(t, "redshift", w); later.After != 2*time.Second {
		t.Errorf("it looks again after %v", later.After)
	}
	for range 2 {
		if err := operator("redshift").Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	id, _ := operators.NewParams(started).String("statement")
	out, err := client.DescribeStatement(t.Context(), &redshiftdata.DescribeStatementInput{Id: &id})
	if err != nil || out.Status != "ABORTED" || *out.QueryString != "select 1" || *out.ClusterIdentifier != "c" || *out.DbUser != "u" || *out.Database != "d" {
		t.Errorf("the statement is %+v (%v)", out, err)
	}
}
