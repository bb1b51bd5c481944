package pg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/sql"
)

// TestPg is everything that needs a server: one for all.
func TestPg(t *testing.T) {
	t.Parallel()
	s := postgres.Start(t)
	s.Rows(t, "create type weather as enum ('sunny', 'wet'); create table sinks (a int)")
	for name, test := range map[string]func(t *testing.T, s postgres.Server){
		"reading": testReading, "writing": testWriting, "values": testValues, "download": testDownload, "limits": testLimits, "errors": testErrors,
		"passwords": testPasswords, "ssl": testSSL, "statements": testStatements,
		"crashes": testCrashes, "at the same time": testAtTheSameTime, "locked": testLocked, "status table": testStatusTable,
		"kill": testKill, "clean": testClean, "silence": testSilence, "unreachable after a lost commit": testUnreachable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// params are those of a task of User, with more of them.
func params(s postgres.Server, more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "database": %q, %s}`, s.Port, postgres.User, postgres.Database, more)
}

// task is one of a session of its own, so with a query id of its own.
func task(t *testing.T, s postgres.Server, more string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, params(s, more))
	w.SessionUUID = rand.Text()
	return w
}

// data is the parameter of a query.
func data(text string) string { return `"_command": ` + param.Text(param.New("data", text)) }

// once runs a task as an agent does that gets it back at once, until it needs patience.
func once(ctx context.Context, w *operatortest.World) error {
	for {
		_, err := run(ctx, &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) {
			return err
		}
		w.State = later.State
		if later.After > 0 {
			return later
		}
	}
}

// finish runs a task until it is done. What is in the way goes soon: the end of a session
// whose client is gone.
func finish(t *testing.T, w *operatortest.World) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := once(t.Context(), w)
		var later *operators.Later
		if err == nil {
			return
		}
		if !errors.As(err, &later) || time.Since(begin) > 30*time.Second {
			t.Fatal(err)
		}
	}
}

func testReading(t *testing.T, s postgres.Server) {
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: params(s, data("select 1 as a")+`, "store_last_results": true, "ssl": false, "schema": "public", "connect_timeout": "9s",
			"socket_timeout": "9s", "password_override": "other"`),
		Slow:    params(s, data("select pg_sleep(1000)")+`, "store_last_results": "all"`),
		Prepare: func(_ *testing.T, w *operatortest.World) { w.Vault["pg.other"] = "x" },
		Wrong: []string{
			`{}`, `{"pg": 1}`, `{"host": "h", "user": "u", "query": "q"}`, `{"host": "h", "database": "d", "query": "q"}`,
			`{"user": "u", "database": "d", "query": "q"}`, params(s, `"port": 0, "query": "q"`), params(s, `"port": "x", "query": "q"`),
			params(s, `"ssl": "x", "query": "q"`), params(s, `"connect_timeout": "x", "query": "q"`), params(s, `"socket_timeout": [], "query": "q"`),
			params(s, `"schema": {}, "query": "q"`), params(s, `"password_override": {}, "query": "q"`),
			params(s, `"pg": {}`), params(s, `"_command": {}`), params(s, `"_command": "none.sql"`), params(s, `"_command": "../x"`),
			params(s, `"query": "q", "create_table": "a", "insert_into": "b"`), params(s, `"query": "q", "create_table": {}`),
			params(s, `"query": "q", "insert_into": {}`), params(s, `"query": "q", "create_table": "a", "download_file": "b"`),
			params(s, `"query": "q", "create_table": "a", "store_last_results": "all"`), params(s, `"query": "q", "store_last_results": "some"`),
			params(s, `"query": "q", "store_last_results": "all", "download_file": "b"`), params(s, `"query": "q", "download_file": {}`),
			params(s, `"query": "q", "download_file": "../b"`), params(s, `"query": "q", "strict_transaction": "x"`),
			params(s, `"query": "q", "status_table": {}`), params(s, `"query": "q", "status_table_schema": {}`),
			params(s, `"query": "q", "status_table_cleanup": "x"`),
			params(s, data("create table never (a int)")+`, "store_last_results": "all"`), params(s, data("create table never (a int)")+`, "download_file": "b"`),
		},
	})
}

func testWriting(t *testing.T, s postgres.Server) {
	s.Rows(t, "create table sink (a int)")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: params(s, data("select 1 as a")+`, "insert_into": "sink", "strict_transaction": true, "status_table": "sink_status",
			"status_table_schema": "public", "status_table_cleanup": "1h"`),
		Slow: params(s, data("select pg_sleep(1000)")),
		Prepare: func(_ *testing.T, w *operatortest.World) {
			w.SessionUUID = rand.Text()
			w.State = param.New(sql.QueryKey, rand.Text())
		},
	})
}

const everyType = `select 1::smallint a, 2 b, 3::bigint c, 1.5::real d, 5::float8 e, 1.50::numeric f, 'NaN'::numeric g, true h, 'x'::text i, 'y'::varchar j,
	'ab'::char(3) k, '\x01ff'::bytea l, date '2024-02-29' m, timestamp '2024-02-29 12:34:56.789' n, timestamptz '2024-02-29 12:34:56+09' o,
	time '12:34:56.7' p, null::int q, '{"a":1}'::jsonb r, '{1,2}'::int[] s, '6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93'::uuid t, '12.5'::money u,
	date 'infinity' v, 'sunny'::weather w, inet '10.0.0.1' x, 'infinity'::float8 y, 12345678901234567890 z`

// What the original's driver (42.3.1) and JSON library make of values, as they did in a run of both.
const objects = `select '{"a": 1}'::json a, interval '1 year 2 mons -3 days -04:05:06.7' b, timetz '00:34:56.789+09:30' c, B'1'::bit(1) d,
	B'101'::bit(3) e, point '(1.25,-2)' f, path '[(1,2),(3,4)]' g, circle '<(1,2),3>' h, timestamp '-infinity' i, 'null'::jsonb j, null::jsonb k,
	int4range(1,5) l, time '24:00' m, ARRAY['{}'::json] n`

const wantObjects = `{"a":{"type":"json","value":"{\"a\": 1}","null":true},` +
	`"b":{"type":"interval","value":"1 years 2 mons -3 days -4 hours -5 mins -6.7 secs","years":1,"months":2,"days":-3,"hours":-4,"minutes":-5,` +
	`"wholeSeconds":-6,"microSeconds":-700000,"seconds":-6.7,"null":true},"c":"15:04:56","d":true,"e":{"type":"bit","value":"101","null":true},` +
	`"f":{"type":"point","value":"(1.25,-2.0)","x":1.25,"y":-2.0,"isNull":false,"null":true},` +
	`"g":{"type":"path","value":"[(1.0,2.0),(3.0,4.0)]","open":true,"points":[{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true},` +
	`{"type":"point","value":"(3.0,4.0)","x":3.0,"y":4.0,"isNull":false,"null":true}],"closed":false,"null":true},` +
	`"h":{"type":"circle","value":"<(1.0,2.0),3.0>","center":{"type":"point","value":"(1.0,2.0)","x":1.0,"y":2.0,"isNull":false,"null":true},"radius":3.0,"null":true},` +
	`"i":-9223372036832400000,"j":{"type":"jsonb","value":"null","null":true},"k":null,"l":{"type":"int4range","value":"[1,5)","null":true},"m":"00:00:00","n":"{\"{}\"}"}`

func testValues(t *testing.T, s postgres.Server) {
	for params, want := range map[string]string{
		data(everyType) + `, "store_last_results": "first"`: `{"a":1,"b":2,"c":3,"d":1.5,"e":5.0,"f":1.5,"g":"NaN","h":true,"i":"x","j":"y","k":"ab ",` +
			`"l":"Af8=","m":1709164800000,"n":1709210096789,"o":1709177696000,"p":"12:34:56","q":null,"r":{"type":"jsonb","value":"{\"a\": 1}","null":true},` +
			`"s":"{1,2}","t":"6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93","u":12.5,"v":9223372036825200000,"w":"sunny","x":{"type":"inet","value":"10.0.0.1","null":true},` +
			`"y":"Infinity","z":12345678901234567890}`,
		data("select * from (values (1, 'one'), (2, 'two')) as t(id, name)") + `, "store_last_results": "all"`:                                           `[{"name":"one","id":1},{"name":"two","id":2}]`,
		data("select * from (values (1, 'one'), (2, 'two')) as t(id, name);") + `, "store_last_results": true`:                                           `{"name":"one","id":1}`,
		data(objects) + `, "store_last_results": "first"`:                                                                                                wantObjects,
		data("select 1 as a where false") + `, "store_last_results": "true"`:                                                                             `{}`,
		data("select 1 as a where false") + `, "store_last_results": "all"`:                                                                              `[]`,
		`"pg": {"query": "select 1 as a, 2 as a"}, "store_last_results": "all"`:                                                                          `[{"a":2}]`,
		`"query": "select current_schema as a, current_setting('TimeZone') as b", "pg": {"schema": "information_schema"}, "store_last_results": "first"`: `{"a":"information_schema","b":"UTC"}`,
	} {
		w := task(t, s, params)
		result, err := run(t.Context(), &w.Task)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		got, _ := result.Store.Map("pg").Get("last_results")
		if diff := cmp.Diff(want, param.Text(got)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func testDownload(t *testing.T, s postgres.Server) {
	for query, want := range map[string]string{
		everyType: "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z\r\n1,2,3,1.5,5.0,1.50,NaN,true,x,y,ab ,\\x01ff,2024-02-29,2024-02-29 12:34:56.789," +
			"2024-02-29 03:34:56.0,12:34:56,,\"{\"\"a\"\": 1}\",\"{1,2}\",6f8b47dd-b3a7-4eb4-ba62-90ea1628ad93,12.5,infinity,sunny,10.0.0.1,Infinity,12345678901234567890\r\n",
		`select '' as "a,b", null as c, E'x\r\ny' as d, E'\n' as e, '"' as f where true`: "\"a,b\",c,d,e,f\r\n\"\",,\"x\ny\",\"\n\",\"\"\"\"\r\n",
		`select 1 as a where false`: "a\r\n",
	} {
		w := task(t, s, data(query)+`, "download_file": "out/rows.csv"`)
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", query, diff)
			continue
		}
		got, err := w.Project.Read("out/rows.csv")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	w := task(t, s, data("select 1 / (3 - n) from generate_series(1, 5) n")+`, "download_file": "rows.csv"`)
	if got := operatortest.RunOnce(t, Operator(), w); got.Error == "" {
		t.Error("a query that fails in the middle succeeded")
	}
	if _, err := os.Stat(filepath.Join(w.Project.Root(), "rows.csv")); err == nil {
		t.Error("a file with a part of the rows is left")
	}
}

func testLimits(t *testing.T, s postgres.Server) {
	for params, want := range map[string]operatortest.Ended{
		data("select 1 from generate_series(1, 4)") + `, "store_last_results": "all"`:        {Error: "The number of result rows exceeded the limit: 4 > 3"},
		data("select 1 as a from generate_series(1, 4)") + `, "store_last_results": "first"`: {Store: `{"pg":{"last_results":{"a":1}}}`},
		data("select 1, 2, 3") + `, "store_last_results": "all"`:                             {Error: "The number of result columns exceeded the limit: 3 > 2"},
		data("select '😀123'") + `, "store_last_results": "first"`:                            {Error: "The size of result value exceeded the limit: 5 > 4"},
		data("select 12345 as a") + `, "store_last_results": "first"`:                        {Store: `{"pg":{"last_results":{"a":12345}}}`},
	} {
		w := task(t, s, params)
		w.Config = operatortest.Map(t, `{"pg": {"max_store_last_results_rows": 3, "max_store_last_results_value_size": 4},
			"jdbc": {"max_store_last_results_columns": 2, "max_store_last_results_rows": 1}}`)
		if diff := cmp.Diff(want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func testErrors(t *testing.T, s postgres.Server) {
	for params, want := range map[string]operatortest.Ended{
		data("select * from nowhere") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR: relation \"nowhere\" does not exist\n  Position: 15]"},
		data("select 1; select 2") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR: cannot insert multiple commands into a prepared statement]"},
		data("set x.y = 1") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [No results were returned by the query.]"},
		data("insert into sinks values (1)") + `, "store_last_results": "all"`: {
			Error: "Query must be read-only if store_last_results is set", Kind: "config"},
		data("insert into sinks values (1)") + `, "download_file": "x"`: {
			Error: "Query must be read-only if download_file is set", Kind: "config"},
		data("insert into nowhere values (1)"): {
			Error: "Failed to execute given SQL script [ERROR: relation \"nowhere\" does not exist\n  Position: 13]"},
		data("select 1") + `, "insert_into": "no.where"`: {
			Error: "Failed to execute an update statement [ERROR: relation \"no.where\" does not exist\n  Position: 13]"},
		data("do $$ begin raise 'no' using detail = 'd', hint = 'h'; end $$") + `, "strict_transaction": false`: {
			Error: "Failed to execute given SQL script [ERROR: no\n  Detail: d\n  Hint: h\n  Where: PL/pgSQL function inline_code_block line 1 at RAISE]"},
		data("copy sinks from stdin") + `, "strict_transaction": false`: {
			Error: "Failed to execute given SQL script [ERROR: COPY from stdin failed: a task has no standard input, use INSERT\n  Where: COPY sinks, line 1]"},
		data("select 1") + `, "database": "none", "store_last_results": "all"`: {
			Error: "Failed to connect to the database [FATAL: database \"none\" does not exist]"},
		data("select 1") + `, "host": "/tmp", "store_last_results": "all"`: {
			Error: "Failed to connect to the database [/tmp/.s.PGSQL." + fmt.Sprint(s.Port) + " (/tmp): dial error: /tmp is no name of a host]"},
		data("select 1") + `, "user": "encrypted", "store_last_results": "all"`: {
			Error: `Failed to connect to the database [FATAL: pg_hba.conf rejects connection for host "127.0.0.1", user "encrypted", database "target", ` +
				"no encryption]: set `ssl: true` if the server wants encrypted connections"},
	} {
		m := operatortest.Map(t, params0(s))
		for k, v := range operatortest.Map(t, "{"+params+"}").All() {
			m.Set(k, v)
		}
		w := operatortest.New(t, param.Text(m))
		w.SessionUUID = rand.Text()
		w.State = param.New(sql.QueryKey, rand.Text())
		if diff := cmp.Diff(want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		_, err := run(t.Context(), &w.Task)
		if plain := new(operators.Failure); errors.As(err, &plain) && plain.Cause == nil { // then `_error` tasks see no stack trace
			t.Errorf("%s: nothing caused %v", params, err)
		}
	}
	w := operatortest.New(t, `{"host": "h", "user": "u", "query": "q"}`)
	want := "Parameter 'database' is required but not set: write it into `_export: {pg: {database: ...}}`, " +
		"or set the secret with `zerodag secrets --project project --set pg.database`"
	if got := operatortest.RunOnce(t, Operator(), w); got.Error != want {
		t.Errorf("got %q, want %q", got.Error, want)
	}
}

func params0(s postgres.Server) string { return params(s, `"_type": "pg"`) }

func testPasswords(t *testing.T, s postgres.Server) {
	wrong := `Failed to connect to the database [FATAL: password authentication failed for user "careful"]`
	for name, c := range map[string]struct {
		params  string
		secrets operatortest.Vault
		want    operatortest.Ended
	}{
		"right": {`"user": "careful"`, operatortest.Vault{"pg.password": postgres.Password}, operatortest.Ended{Store: `{"pg":{"last_results":{"a":1}}}`}},
		"wrong": {`"user": "careful"`, operatortest.Vault{"pg.password": "x"}, operatortest.Ended{Error: wrong}},
		"as a parameter": {`"user": "careful", "password": "` + postgres.Password + `"`, nil,
			operatortest.Ended{Error: wrong + ": there is no secret pg.password, set it with `zerodag secrets --project project --set pg.password`"}},
		"other": {`"user": "careful", "password_override": "second"`, operatortest.Vault{"pg.password": "x", "pg.second": postgres.Password},
			operatortest.Ended{Store: `{"pg":{"last_results":{"a":1}}}`}},
		"no other": {`"user": "careful", "password_override": "second"`, operatortest.Vault{"pg.password": postgres.Password},
			operatortest.Ended{Error: "Secret not found for key: 'pg.second'", Kind: "secret not found"}},
		"all secret": {`"user": "x", "host": "x", "port": 1, "database": "x"`, operatortest.Vault{"pg.user": "careful", "pg.host": "127.0.0.1",
			"pg.port": fmt.Sprint(s.Port), "pg.database": "target", "pg.password": postgres.Password, "pg.ssl": "true", "pg.schema": "public",
			"pg.connect_timeout": "9s", "pg.socket_timeout": "9s"}, operatortest.Ended{Store: `{"pg":{"last_results":{"a":1}}}`}},
		"hidden": {`"database": "target"`, operatortest.Vault{"pg.user": "careful", "pg.password": "x"},
			operatortest.Ended{Error: strings.ReplaceAll(wrong, "careful", "***")}},
	} {
		m := operatortest.Map(t, params0(s))
		for k, v := range operatortest.Map(t, "{"+c.params+"}").All() {
			m.Set(k, v)
		}
		m.Set("query", "select 1 as a")
		m.Set("store_last_results", "first")
		w := operatortest.New(t, param.Text(m))
		w.Secrets = c.secrets
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(w.Output.String(), postgres.Password) {
			t.Errorf("%s: the password is in the log", name)
		}
	}
}

func testSSL(t *testing.T, s postgres.Server) {
	for ssl, want := range map[string]string{"true": "true", "false": "false"} {
		w := task(t, s, `"query": "select ssl from pg_stat_ssl where pid = pg_backend_pid()", "store_last_results": "first", "ssl": `+ssl)
		if diff := cmp.Diff(operatortest.Ended{Store: `{"pg":{"last_results":{"ssl":` + want + `}}}`}, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("ssl: %s: %s", ssl, diff)
		}
	}
}

func testStatements(t *testing.T, s postgres.Server) {
	s.Rows(t, `create schema "Sch"; create table plain (a int)`)
	for _, c := range []struct {
		params, check string
		want          []string
	}{
		{data("select 1 as a, 'x' as b") + `, "create_table": "Sch.New"`, `select * from "Sch"."New"`, []string{"1 x"}},
		{data("select 2 as a, 'y' as b;") + `, "create_table": "Sch.New"`, `select * from "Sch"."New"`, []string{"2 y"}},
		{data("select 3, 'z'") + `, "insert_into": "Sch.New"`, `select * from "Sch"."New" order by a`, []string{"2 y", "3 z"}},
		{data(`create table "quo""ted" (a int)`), `select count(*) from "quo""ted"`, []string{"0"}},
		{data("select 4 as a") + `, "insert_into": "quo\"ted"`, `select * from "quo""ted"`, []string{"4"}},
		{data("insert into plain values (1); select 1; insert into plain values (2)"), `select * from plain order by a`, []string{"1", "2"}},
		{data("insert into plain values (3)") + `, "strict_transaction": false`, `select * from plain order by a`, []string{"1", "2", "3"}},
		{`"query": "insert into plain values (4)"`, `select max(a) from plain`, []string{"4"}},
		{`"_command": "in.sql"`, `select max(a) from plain`, []string{"5"}},
	} {
		w := task(t, s, c.params)
		w.File(t, "in.sql", "insert into plain values (${n})")
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${n}", "5"), nil }
		finish(t, w)
		if diff := cmp.Diff(c.want, s.Rows(t, c.check)); diff != "" {
			t.Errorf("%s: %s", c.params, diff)
		}
	}
	w := task(t, s, data("insert into plain values (10); select 1 / 0"))
	if err := once(t.Context(), w); err == nil {
		t.Error("a script that fails in the middle succeeded")
	}
	if got := s.Rows(t, "select count(*) from plain where a = 10"); got[0] != "0" {
		t.Error("a part of a script that failed is kept")
	}
}

// testAtTheSameTime: an agent may believe that another one, which is only slow, is dead.
func testAtTheSameTime(t *testing.T, s postgres.Server) {
	s.Rows(t, "create table side_by_side (a int)")
	w := task(t, s, data("select pg_sleep(0.05); insert into side_by_side values (1)")+`, "status_table": "fresh_status"`)
	if _, err := run(t.Context(), &w.Task); err == nil {
		t.Fatal("the query id is not kept before it is used")
	} else if later := new(operators.Later); errors.As(err, &later) {
		w.State = later.State
	}
	var all sync.WaitGroup
	tree := w.Params.All()
	failed := make(chan error, 12)
	for range cap(failed) {
		all.Go(func() {
			mine := w.Task
			mine.Params = operators.NewParams(tree)
			for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
				_, err := run(t.Context(), &mine)
				var later *operators.Later
				if !errors.As(err, &later) || time.Since(begin) > 30*time.Second {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if got := s.Rows(t, "select count(*) from side_by_side"); got[0] != "1" {
		t.Errorf("it was executed %s times", got[0])
	}
}

func testLocked(t *testing.T, s postgres.Server) {
	s.Rows(t, "create table behind (a int)")
	w := task(t, s, data("insert into behind values (1)")+`, "status_table": "lock_status"`)
	holder := operatortest.New(t, params(s, data("select pg_sleep(1000)")+`, "status_table": "lock_status"`))
	w.State = param.New(sql.QueryKey, "q")
	holder.State = w.State
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	name := application(t, holder)
	go func() { ended <- once(ctx, holder) }()
	waitFor(t, s, "select count(*) from pg_stat_activity where state = 'active' and query = 'select pg_sleep(1000)' and application_name = '"+name+"'", "1")
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		_, err := run(t.Context(), &w.Task)
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
	finish(t, w)
	if got := s.Rows(t, "select count(*) from behind"); got[0] != "1" {
		t.Errorf("it was executed %s times", got[0])
	}
}

// application is the name under which the server knows a task.
func application(t *testing.T, w *operatortest.World) string {
	t.Helper()
	at, err := kind().Find(&w.Task, w.Params)
	if err != nil {
		t.Fatal(err)
	}
	return at.Application
}

// waitFor waits until a query has the answer it is to have.
func waitFor(t *testing.T, s postgres.Server, query, want string) {
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

func testStatusTable(t *testing.T, s postgres.Server) {
	s.Rows(t, `create schema own; create table worked (a int); grant insert, select on worked to careful;
		create table made_by_admin (query_id text not null unique, created_at timestamptz not null, completed_at timestamptz);
		grant select, insert, update, delete on made_by_admin to careful;
		insert into made_by_admin values ('old', now() - interval '3 hours', now() - interval '2 hours'), ('newer', now(), now()), ('open', now(), null)`)
	w := task(t, s, data("insert into worked values (1)")+`, "status_table": "st", "status_table_schema": "own"`)
	finish(t, w)
	if got := s.Rows(t, "select count(*) from own.st where completed_at is not null"); got[0] != "1" {
		t.Errorf("own.st has %s rows that are complete", got[0])
	}
	careful := func(more string) *operatortest.World {
		m := operatortest.Map(t, params(s, data("insert into worked values (2)")+more))
		m.Set("user", postgres.Careful)
		w := operatortest.New(t, param.Text(m))
		w.Vault["pg.password"] = postgres.Password
		w.State = param.New(sql.QueryKey, "mine")
		return w
	}
	w = careful(`, "status_table": "made_by_admin", "status_table_cleanup": "1h"`)
	finish(t, w)
	finish(t, w)
	want := []string{"mine", "newer", "open"}
	if diff := cmp.Diff(want, s.Rows(t, "select query_id from made_by_admin order by query_id")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1", "2"}, s.Rows(t, "select a from worked order by a")); diff != "" {
		t.Error(diff)
	}
	got := operatortest.RunOnce(t, Operator(), careful(`, "status_table": "forbidden"`))
	for _, part := range []string{`Failed to create a status table "forbidden"`, "strict_transaction: false", "permission denied for schema public"} {
		if !strings.Contains(got.Error, part) {
			t.Errorf("%q does not say %q", got.Error, part)
		}
	}
}

// testKill: a query does not go on when no task waits for it.
func testKill(t *testing.T, s postgres.Server) {
	for _, more := range []string{`, "store_last_results": "all"`, ``} {
		w := task(t, s, data("select pg_sleep(1000)")+more)
		active := "select count(*) from pg_stat_activity where application_name = '" + application(t, w) + "'"
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- once(ctx, w) }()
		waitFor(t, s, active+" and state = 'active' and query = 'select pg_sleep(1000)'", "1")
		begin := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it took %v to stop", took)
		}
		waitFor(t, s, active, "0")
	}
}

// testClean: the agent is dead, its query is not.
func testClean(t *testing.T, s postgres.Server) {
	w := task(t, s, data("select pg_sleep(1000)"))
	ended := make(chan error)
	name := application(t, w)
	orphan := w.Task
	orphan.Params = operators.NewParams(w.Params.All())
	orphan.State = param.New(sql.QueryKey, "orphan")
	go func() {
		_, err := run(t.Context(), &orphan)
		ended <- err
	}()
	waitFor(t, s, "select count(*) from pg_stat_activity where application_name = '"+name+"' and query = 'select pg_sleep(1000)'", "1")
	for range 2 {
		if err := clean(t.Context(), &w.Task); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the query went on")
	}
	if err := clean(t.Context(), &operatortest.New(t, `{}`).Task); err != nil {
		t.Errorf("a task that never ran: %v", err)
	}
}

func testSilence(t *testing.T, s postgres.Server) {
	for _, more := range []string{`, "store_last_results": "all"`, `, "strict_transaction": false`} {
		w := task(t, s, data("select pg_sleep(1000)")+`, "socket_timeout": "1s"`+more)
		w.State = param.New(sql.QueryKey, "q")
		got := operatortest.RunOnce(t, Operator(), w)
		if !strings.HasSuffix(got.Error, "[the server said nothing for 1s: see socket_timeout]") || got.Kind != "" {
			t.Errorf("got %+v", got)
		}
	}
}
