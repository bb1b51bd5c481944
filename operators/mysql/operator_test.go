package mysql

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
	"zerodag/operators/operatortest/daemon"
	"zerodag/operators/operatortest/mariadb"
	"zerodag/operators/sql"
)

// TestMySQL is everything that needs a server: one for all.
func TestMySQL(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	s.Exec(t, "create table sinks (a int); create table bits (a bit(3)); insert into bits values (b'101')")
	for name, test := range map[string]func(t *testing.T, s mariadb.Server){
		"reading": testReading, "writing": testWriting, "values": testValues, "download": testDownload, "errors": testErrors, "passwords": testPasswords,
		"ssl": testSSL, "statements": testStatements, "crashes": testCrashes, "at the same time": testAtTheSameTime, "status table": testStatusTable,
		"kill": testKill, "clean": testClean, "silence": testSilence, "unreachable after a lost commit": testUnreachable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// params are those of a task of User, with more of them.
func params(s mariadb.Server, more string) string {
	return fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "user": %q, "database": %q, %s}`, s.Port, mariadb.User, mariadb.Database, more)
}

// changed are params in which some are others.
func changed(t *testing.T, s mariadb.Server, others string) string {
	t.Helper()
	m := operatortest.Map(t, params(s, `"_type": "mysql"`))
	for k, v := range operatortest.Map(t, "{"+others+"}").All() {
		m.Set(k, v)
	}
	return param.Text(m)
}

// task is one of a session of its own, so with a query id of its own.
func task(t *testing.T, s mariadb.Server, more string) *operatortest.World {
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

// finish runs a task until it is done. What is in the way goes soon: the end of a session whose client is gone.
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

func testReading(t *testing.T, s mariadb.Server) {
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: params(s, data("select 1 as a")+`, "store_last_results": true, "ssl": false, "connect_timeout": "9s",
			"socket_timeout": "9s", "password_override": "other"`),
		Slow:    params(s, data("select sleep(1000)")+`, "store_last_results": "all"`),
		Prepare: func(_ *testing.T, w *operatortest.World) { w.Vault["mysql.other"] = ""; w.SessionUUID = rand.Text() },
		Wrong: []string{
			`{}`, `{"mysql": 1}`, `{"host": "h", "user": "u", "query": "q"}`, `{"host": "h", "database": "d", "query": "q"}`,
			`{"user": "u", "database": "d", "query": "q"}`, params(s, `"port": 0, "query": "q"`), params(s, `"port": "x", "query": "q"`),
			params(s, `"ssl": "x", "query": "q"`), params(s, `"connect_timeout": "x", "query": "q"`), params(s, `"socket_timeout": [], "query": "q"`),
			params(s, `"password_override": {}, "query": "q"`), params(s, `"_command": {}`), params(s, `"_command": "none.sql"`), params(s, `"_command": "../x"`),
			params(s, `"query": "q", "create_table": "a", "insert_into": "b"`), params(s, `"query": "q", "store_last_results": "some"`),
			params(s, `"query": "q", "download_file": "../b"`), params(s, `"query": "q", "strict_transaction": "x"`),
			params(s, `"query": "q", "status_table": {}`), params(s, `"query": "q", "status_table_cleanup": "x"`),
			params(s, data("create table never (a int)")+`, "store_last_results": "all"`), params(s, data("insert into sinks values (1)")+`, "download_file": "b"`),
		},
	})
}

func testWriting(t *testing.T, s mariadb.Server) {
	s.Exec(t, "create table sink (a int)")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: params(s, data("select 1 as a")+`, "insert_into": "sink", "strict_transaction": true, "status_table": "sink_status",
			"status_table_schema": "target", "status_table_cleanup": "1h"`),
		Slow: params(s, data("do sleep(1000)")),
		Prepare: func(_ *testing.T, w *operatortest.World) {
			w.SessionUUID = rand.Text()
			w.State = param.New(sql.QueryKey, rand.Text())
		},
	})
}

const everyType = `select cast(1 as signed) a, 18446744073709551615 b, 1.50 c, 1.5e0 d, 'x' e, cast('ab' as char(3)) f, x'01ff' g, date '2024-02-29' h,
	timestamp '2024-02-29 12:34:56.789' i, time '12:34:56' j, null k, json_object('a', 1) l, bits.a m, true n, 'é' o, cast('2024-02-29 12:34:56' as datetime) p,
	cast('100:00:00' as time) q, @@time_zone r from bits`

func testValues(t *testing.T, s mariadb.Server) {
	for params, want := range map[string]string{
		data(everyType) + `, "store_last_results": "first"`: `{"a":1,"b":18446744073709551615,"c":1.5,"d":1.5,"e":"x","f":"ab","g":"Af8=","h":1709164800000,` +
			`"i":1709210096789,"j":"12:34:56","k":null,"l":"{\"a\": 1}","m":5,"n":1,"o":"é","p":1709210096000,"q":"100:00:00","r":"+00:00"}`,
		data("select 1 as id, 'one' as name union select 2, 'two'") + `, "store_last_results": "all"`:       `[{"name":"one","id":1},{"name":"two","id":2}]`,
		data("select 1 as id, 'one' as name union select 2, 'two';") + `, "store_last_results": true`:       `{"name":"one","id":1}`,
		data("select 1 as a from sinks where false") + `, "store_last_results": "first"`:                    `{}`,
		`"mysql": {"query": "select 1 as a, 2 as a"}, "store_last_results": "all"`:                          `[{"a":2}]`,
		data("select cast('0000-00-00' as date) a, cast(5 as unsigned) b") + `, "store_last_results": true`: `{"a":"0000-00-00","b":5}`,
	} {
		w := task(t, s, params)
		result, err := run(t.Context(), &w.Task)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		got, _ := result.Store.Map("mysql").Get("last_results")
		if diff := cmp.Diff(want, param.Text(got)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func testDownload(t *testing.T, s mariadb.Server) {
	for query, want := range map[string]string{
		"select 1 as a, 1.50 as b, 'x,y' as c, '' as d, null as e, date '2024-02-29' as f, timestamp '2024-02-29 12:34:56' as g, x'01ff' as h": "a,b,c,d,e,f,g,h\r\n" +
			"1,1.50,\"x,y\",\"\",,2024-02-29,2024-02-29 12:34:56.0,\\x01ff\r\n",
		`select 1 as a from sinks where false`: "a\r\n",
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
	s.Exec(t, "create table texts (a int, b text); insert into texts values (1, '1'), (2, '{')")
	w := task(t, s, data("select a, if(a = 2, (select 1 union select 2), 0) from texts order by a")+`, "download_file": "rows.csv"`)
	if got := operatortest.RunOnce(t, Operator(), w); got.Error == "" {
		t.Error("a query that fails in the middle succeeded")
	}
	if _, err := os.Stat(filepath.Join(w.Project.Root(), "rows.csv")); err == nil {
		t.Error("a file with a part of the rows is left")
	}
}

func testErrors(t *testing.T, s mariadb.Server) {
	for others, want := range map[string]operatortest.Ended{
		data("select * from nowhere") + `, "store_last_results": "all"`: {
			Error: "Failed to execute given SELECT statement [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		data("insert into nowhere values (1)"):               {Error: "Failed to execute given SQL script [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		data("do 1; insert into nowhere values (1)"):         {Error: "Failed to execute given SQL script [ERROR 1146 (42S02): Table 'target.nowhere' doesn't exist]"},
		data("select 1") + `, "insert_into": "no.where"`:     {Error: "Failed to execute an update statement [ERROR 1146 (42S02): Table 'no.where' doesn't exist]"},
		data("do 1") + `, "store_last_results": "all"`:       {Error: "Failed to execute given SELECT statement [No results were returned by the query.]"},
		data("delete from sinks") + `, "download_file": "x"`: {Error: "Query must be read-only if download_file is set", Kind: "config"},
		`"query": "select 1", "database": "none"`:            {Error: "Failed to connect to the database [ERROR 1049 (42000): Unknown database 'none']"},
		`"query": "select 1", "user": "nobody"`: {Error: "Failed to connect to the database [ERROR 1045 (28000): Access denied for user 'nobody'@'127.0.0.1' (using password: NO)]" +
			": there is no secret mysql.password, set it with `zerodag secrets --project project --set mysql.password`"},
	} {
		w := operatortest.New(t, changed(t, s, others))
		w.SessionUUID = rand.Text()
		w.State = param.New(sql.QueryKey, rand.Text())
		if diff := cmp.Diff(want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", others, diff)
		}
	}
	w := task(t, s, data("select 1; select 2")+`, "store_last_results": "all"`)
	if got := operatortest.RunOnce(t, Operator(), w); !strings.HasPrefix(got.Error, "Failed to execute given SELECT statement [ERROR 1064 (42000): ") {
		t.Errorf("two statements where one is wanted: %+v", got)
	}
	// A server may ask for any file of the client's: it gets none.
	w = task(t, s, data("load data local infile '/etc/passwd' into table sinks"))
	w.State = param.New(sql.QueryKey, rand.Text())
	if got := operatortest.RunOnce(t, Operator(), w); got.Error == "" {
		t.Error("a server was given a file of the agent's machine")
	}
}

func testPasswords(t *testing.T, s mariadb.Server) {
	wrong := "Failed to connect to the database [ERROR 1045 (28000): Access denied for user 'careful'@'127.0.0.1' (using password: "
	good := operatortest.Ended{Store: `{"mysql":{"last_results":{"a":1}}}`}
	for name, c := range map[string]struct {
		params  string
		secrets operatortest.Vault
		want    operatortest.Ended
	}{
		"right": {`"user": "careful"`, operatortest.Vault{"mysql.password": mariadb.Password}, good},
		"wrong": {`"user": "careful"`, operatortest.Vault{"mysql.password": "not this"}, operatortest.Ended{Error: wrong + "YES)]"}},
		"as a parameter": {`"user": "careful", "password": "` + mariadb.Password + `"`, nil,
			operatortest.Ended{Error: wrong + "NO)]: there is no secret mysql.password, set it with `zerodag secrets --project project --set mysql.password`"}},
		"other": {`"user": "careful", "password_override": "second"`, operatortest.Vault{"mysql.password": "x", "mysql.second": mariadb.Password}, good},
		"no other": {`"user": "careful", "password_override": "second"`, operatortest.Vault{"mysql.password": mariadb.Password},
			operatortest.Ended{Error: "Secret not found for key: 'mysql.second'", Kind: "secret not found"}},
		"all secret": {`"user": "x", "host": "x", "port": 1, "database": "x"`, operatortest.Vault{"mysql.user": "careful", "mysql.host": "127.0.0.1",
			"mysql.port": fmt.Sprint(s.Port), "mysql.database": "target", "mysql.password": mariadb.Password, "mysql.ssl": "true",
			"mysql.connect_timeout": "9s", "mysql.socket_timeout": "9s"}, good},
		"hidden": {`"database": "target"`, operatortest.Vault{"mysql.user": "careful", "mysql.password": "x"},
			operatortest.Ended{Error: strings.ReplaceAll(wrong, "careful", "***") + "YES)]"}},
	} {
		w := operatortest.New(t, changed(t, s, c.params+`, "query": "select 1 as a", "store_last_results": "first"`))
		w.Secrets = c.secrets
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(w.Output.String(), mariadb.Password) {
			t.Errorf("%s: the password is in the log", name)
		}
	}
}

func testSSL(t *testing.T, s mariadb.Server) {
	for _, ssl := range []bool{true, false} {
		w := task(t, s, fmt.Sprintf(`"query": "show status like 'Ssl_cipher'", "store_last_results": "first", "ssl": %t`, ssl))
		got := operatortest.RunOnce(t, Operator(), w)
		if encrypted := !strings.Contains(got.Store, `"Value":""`); got.Error != "" || encrypted != ssl {
			t.Errorf("ssl: %t: %+v", ssl, got)
		}
	}
}

func testStatements(t *testing.T, s mariadb.Server) {
	s.Exec(t, "create table plain (a int)")
	for _, c := range []struct {
		params, check string
		want          []string
	}{
		{data("select 1 as a, 'x' as b") + `, "create_table": "target.New"`, "select * from New", []string{"1 x"}},
		{data("select 2 as a, 'y' as b;") + `, "create_table": "New"`, "select * from New", []string{"2 y"}},
		{data("select 3, 'z'") + `, "insert_into": "New"`, "select * from New order by a", []string{"2 y", "3 z"}},
		{data("create table `quo``ted` (a int)"), "select count(*) from `quo``ted`", []string{"0"}},
		{data("select 4 as a") + ", \"insert_into\": \"quo`ted\"", "select * from `quo``ted`", []string{"4"}},
		{data("insert into plain values (1); select 1; insert into plain values (2)"), `select * from plain order by a`, []string{"1", "2"}},
		{data("insert into plain values (3)") + `, "strict_transaction": false`, `select * from plain order by a`, []string{"1", "2", "3"}},
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
	w := task(t, s, data("insert into plain values (10); insert into nowhere values (1)"))
	if err := once(t.Context(), w); err == nil {
		t.Error("a script that fails in the middle succeeded")
	}
	if got := s.Rows(t, "select count(*) from plain where a = 10"); got[0] != "0" {
		t.Error("a part of a script that failed is kept")
	}
}

// testCrashes cuts a run at each of its requests and lets another one take over: whatever the first one came to, the
// statement is executed once.
func testCrashes(t *testing.T, s mariadb.Server) {
	unknown := 0
	for _, answered := range []bool{false, true} {
		at, more := 1, true
		for ; more; at++ {
			table := fmt.Sprintf("crash_%t_%d", answered, at)
			s.Exec(t, "create table "+table+" (a int)")
			w := task(t, s, data("insert into "+table+" values (1)")+fmt.Sprintf(`, "status_table": "status_of_%s"`, table))
			w.State = param.New(sql.QueryKey, table)
			first := w.Task
			x := daemon.Cut(t, s.Port, at, answered, true)
			tree := w.Params.All().Clone()
			tree.Set("port", int64(x.Port))
			first.Params = operators.NewParams(tree)
			_, err := run(t.Context(), &first)
			select {
			case <-x.Done:
			default:
				more = false // the run has fewer requests
			}
			var later *operators.Later
			if errors.As(err, &later) {
				unknown++
				w.State = later.State
			}
			finish(t, w)
			if got := s.Rows(t, "select count(*) from "+table); got[0] != "1" {
				t.Errorf("cut at request %d, answered %t: executed %s times", at, answered, got[0])
			}
		}
		if at < 12 {
			t.Errorf("a run has only %d requests", at)
		}
	}
	if unknown != 2 {
		t.Errorf("%d commits were left open, want 2: without its request and without its answer", unknown)
	}
}

// testAtTheSameTime: an agent may believe that another one, which is only slow, is dead.
func testAtTheSameTime(t *testing.T, s mariadb.Server) {
	s.Exec(t, "create table side_by_side (a int)")
	w := task(t, s, data("do sleep(0.05); insert into side_by_side values (1)")+`, "status_table": "fresh_status"`)
	w.State = param.New(sql.QueryKey, "same")
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

func testStatusTable(t *testing.T, s mariadb.Server) {
	s.Exec(t, `create database own; create table worked (a int); create table made_by_admin (query_id varchar(100) not null primary key, created_at datetime(6) not null, completed_at datetime(6));
		insert into made_by_admin values ('old', utc_timestamp() - interval 3 hour, utc_timestamp() - interval 2 hour), ('newer', utc_timestamp(), utc_timestamp()), ('open', utc_timestamp(), null)`)
	w := task(t, s, data("insert into worked values (1)")+`, "status_table": "st", "status_table_schema": "own"`)
	finish(t, w)
	if got := s.Rows(t, "select count(*) from own.st where completed_at is not null"); got[0] != "1" {
		t.Errorf("own.st has %s rows that are complete", got[0])
	}
	careful := func(more string) *operatortest.World {
		w := operatortest.New(t, changed(t, s, data("insert into worked values (2)")+`, "user": "careful"`+more))
		w.Vault["mysql.password"] = mariadb.Password
		w.State = param.New(sql.QueryKey, "mine")
		return w
	}
	w = careful(`, "status_table": "made_by_admin", "status_table_cleanup": "1h"`)
	finish(t, w)
	finish(t, w)
	if diff := cmp.Diff([]string{"mine", "newer", "open"}, s.Rows(t, "select query_id from made_by_admin order by query_id")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1", "2"}, s.Rows(t, "select a from worked order by a")); diff != "" {
		t.Error(diff)
	}
	got := operatortest.RunOnce(t, Operator(), careful(`, "status_table": "forbidden"`))
	for _, part := range []string{"Failed to create a status table `forbidden`", "strict_transaction: false", "ERROR 1142 (42000): CREATE command denied"} {
		if !strings.Contains(got.Error, part) {
			t.Errorf("%q does not say %q", got.Error, part)
		}
	}
}

// waitFor waits until a query has the answer it is to have.
func waitFor(t *testing.T, s mariadb.Server, query, want string) {
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

// testKill: a query does not go on when no task waits for it.
func testKill(t *testing.T, s mariadb.Server) {
	for i, more := range []string{`, "store_last_results": "all"`, ``} {
		seconds := 1001 + i
		verb := "do"
		if more != "" {
			verb = "select"
		}
		w := task(t, s, data(fmt.Sprintf("%s sleep(%d)", verb, seconds))+more)
		active := fmt.Sprintf("select count(*) from information_schema.processlist where info = '%s sleep(%d)'", verb, seconds)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- once(ctx, w) }()
		waitFor(t, s, active, "1")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waitFor(t, s, active, "0")
	}
}

// testClean: the agent is dead, its query is not.
func testClean(t *testing.T, s mariadb.Server) {
	w := task(t, s, data("do sleep(1003)"))
	ended := make(chan error)
	orphan := w.Task
	orphan.Params = operators.NewParams(w.Params.All())
	orphan.State = param.New(sql.QueryKey, "orphan")
	go func() {
		_, err := run(t.Context(), &orphan)
		ended <- err
	}()
	waitFor(t, s, "select count(*) from information_schema.processlist where info = 'do sleep(1003)'", "1")
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

func testSilence(t *testing.T, s mariadb.Server) {
	for i, more := range []string{`, "store_last_results": "all"`, `, "strict_transaction": false`} {
		w := task(t, s, data(fmt.Sprintf("select sleep(%d)", 1004+i))+`, "socket_timeout": "1s"`+more)
		w.State = param.New(sql.QueryKey, rand.Text())
		got := operatortest.RunOnce(t, Operator(), w)
		if !strings.HasSuffix(got.Error, "[the server said nothing for 1s: see socket_timeout]") || got.Kind != "" {
			t.Errorf("got %+v", got)
		}
		waitFor(t, s, fmt.Sprintf("select count(*) from information_schema.processlist where info = 'select sleep(%d)'", 1004+i), "0")
	}
}

// testUnreachable: after a commit whose answer was lost no task may say that it failed.
func testUnreachable(t *testing.T, s mariadb.Server) {
	w := operatortest.New(t, changed(t, s, `"query": "select 1", "database": "none"`))
	w.State = param.New(sql.QueryKey, "q", "commitUnknown", true)
	if got := operatortest.RunOnce(t, Operator(), w); got.Kind != "later" {
		t.Errorf("got %+v", got)
	}
}
