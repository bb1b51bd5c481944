package mysql

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/mariadb"
	"zerodag/operators/operatortest/sqltest"
	"zerodag/operators/sql"
)

// TestMySQL contains all tests that need a server. They share one server.
func TestMySQL(t *testing.T) {
	t.Parallel()
	server := mariadb.Start(t)
	server.Exec(t, "create table sinks (a int); create table bits (a bit(3)); insert into bits values (b'101'); create table texts (a int, b text); insert into texts values (1, '1'), (2, '{')")
	s := subject(server)
	s.Suite(t, map[string]func(t *testing.T){
		"reading": func(t *testing.T) { testReading(t, s) }, "writing": func(t *testing.T) { testWriting(t, s) },
		"ssl": func(t *testing.T) { testSSL(t, s) }, "refused": func(t *testing.T) { testRefused(t, s) },
	})
}

func testReading(t *testing.T, s sqltest.Subject) {
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: s.Params(sqltest.Data("select 1 as a") + `, "store_last_results": true, "ssl": false, "connect_timeout": "9s",
			"socket_timeout": "9s", "password_override": "other"`),
		Slow:    s.Params(sqltest.Data("select sleep(1000)") + `, "store_last_results": "all"`),
		Prepare: func(_ *testing.T, w *operatortest.World) { w.Vault["mysql.other"] = ""; w.SessionUUID = rand.Text() },
		Wrong: []string{
			`{}`, `{"mysql": 1}`, `{"host": "h", "user": "u", "query": "q"}`, `{"host": "h", "database": "d", "query": "q"}`,
			`{"user": "u", "database": "d", "query": "q"}`, s.Params(`"port": 0, "query": "q"`), s.Params(`"port": "x", "query": "q"`),
			s.Params(`"ssl": "x", "query": "q"`), s.Params(`"connect_timeout": "x", "query": "q"`), s.Params(`"socket_timeout": [], "query": "q"`),
			s.Params(`"password_override": {}, "query": "q"`), s.Params(`"_command": {}`), s.Params(`"_command": "none.sql"`), s.Params(`"_command": "../x"`),
			s.Params(`"query": "q", "create_table": "a", "insert_into": "b"`), s.Params(`"query": "q", "store_last_results": "some"`),
			s.Params(`"query": "q", "download_file": "../b"`), s.Params(`"query": "q", "strict_transaction": "x"`),
			s.Params(`"query": "q", "status_table": {}`), s.Params(`"query": "q", "status_table_cleanup": "x"`),
			s.Params(sqltest.Data("create table never (a int)") + `, "store_last_results": "all"`), s.Params(sqltest.Data("insert into sinks values (1)") + `, "download_file": "b"`),
		},
	})
}

func testWriting(t *testing.T, s sqltest.Subject) {
	s.Exec(t, "create table sink (a int)")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good: s.Params(sqltest.Data("select 1 as a") + `, "insert_into": "sink", "strict_transaction": true, "status_table": "sink_status",
			"status_table_schema": "target", "status_table_cleanup": "1h"`),
		Slow: s.Params(sqltest.Data("do sleep(1000)")),
		Prepare: func(_ *testing.T, w *operatortest.World) {
			w.SessionUUID = rand.Text()
			w.State = param.New(sql.QueryKey, rand.Text())
		},
	})
}

func testSSL(t *testing.T, s sqltest.Subject) {
	for _, ssl := range []bool{true, false} {
		w := s.Task(t, fmt.Sprintf(`"query": "show status like 'Ssl_cipher'", "store_last_results": "first", "ssl": %t`, ssl))
		got := operatortest.RunOnce(t, Operator(), w)
		if encrypted := !strings.Contains(got.Store, `"Value":""`); got.Error != "" || encrypted != ssl {
			t.Errorf("ssl: %t: %+v", ssl, got)
		}
	}
}

func testRefused(t *testing.T, s sqltest.Subject) {
	w := s.Task(t, sqltest.Data("select 1; select 2")+`, "store_last_results": "all"`)
	if got := operatortest.RunOnce(t, Operator(), w); !strings.HasPrefix(got.Error, "Failed to execute given SELECT statement [ERROR 1064 (42000): ") {
		t.Errorf("two statements where one is wanted: %+v", got)
	}
	// A server may request any file from the client. It gets none.
	w = s.Task(t, sqltest.Data("load data local infile '/etc/passwd' into table sinks"))
	w.State = param.New(sql.QueryKey, rand.Text())
	if got := operatortest.RunOnce(t, Operator(), w); got.Error == "" {
		t.Error("a server was given a file of the agent's machine")
	}
}
