package sqltest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
)

// Suite runs the tests that every operator for SQL must pass, in parallel; more are additional tests. It creates tables
// with the names crash_*, plain and side_by_side; StatusTables, if set, creates "worked", in which Careful may insert,
// and "made_by_admin", a status table with the complete rows "old" (for hours) and "newer" and the row "open", which
// Careful may use.
func (s Subject) Suite(t *testing.T, more map[string]func(t *testing.T)) {
	tests := map[string]func(t *testing.T){"crashes": s.crashes, "at the same time": s.atTheSameTime, "kill": s.kill, "clean": s.clean,
		"silence": s.silence, "unreachable after a lost commit": s.unreachable}
	for name, test := range map[string]struct {
		has bool
		run func(t *testing.T)
	}{"values": {s.Values != nil, s.values}, "download": {s.Downloads != nil, s.downloads}, "errors": {s.Errors != nil, s.failures}, "passwords": {s.Rejected != nil, s.passwords},
		"statements": {s.Statements != nil, s.statements}, "status table": {s.StatusTables != "", s.statusTables}} {
		if test.has {
			tests[name] = test.run
		}
	}
	maps.Copy(tests, more)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (s Subject) values(t *testing.T) {
	for params, want := range s.Values {
		got, _ := s.Finish(t, s.Task(t, params)).Store.Map(s.Operator.Name).Get("last_results")
		if diff := cmp.Diff(want, param.Text(got)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func (s Subject) downloads(t *testing.T) {
	for query, want := range s.Downloads {
		w := s.Task(t, Data(query)+`, "download_file": "out/rows.csv"`)
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, s.Operator, w)); diff != "" {
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
	w := s.Task(t, Data(s.Broken)+`, "download_file": "rows.csv"`)
	if got := operatortest.RunOnce(t, s.Operator, w); got.Error == "" {
		t.Error("a query that fails in the middle succeeded")
	}
	if _, err := os.Stat(filepath.Join(w.Project.Root(), "rows.csv")); err == nil {
		t.Error("a partial file remains")
	}
}

func (s Subject) failures(t *testing.T) {
	for others, want := range s.Errors {
		w := operatortest.New(t, s.Changed(t, others))
		w.SessionUUID = rand.Text() // the server identifies a task by its session
		w.State = State(others)
		w.Identity.SessionUUID = operators.Derived(others) // a separate task: a server may still have the session of the previous one
		if diff := cmp.Diff(want, operatortest.RunOnce(t, s.Operator, w)); diff != "" {
			t.Errorf("%s: %s", others, diff)
		}
		_, err := s.Operator.Run(t.Context(), &w.Task)
		if plain := new(operators.Failure); errors.As(err, &plain) && plain.Cause == nil { // then `_error` tasks see no stack trace
			t.Errorf("%s: error %v has no cause", others, err)
		}
	}
	w := operatortest.New(t, `{"host": "h", "user": "u", "query": "q"}`)
	want := fmt.Sprintf("Parameter 'database' is required but not set: write it in `_export: {%s: {database: ...}}`, "+
		"or set the secret with `zerodag secrets --project project --set %s.database`", s.Operator.Name, s.Secrets)
	if got := operatortest.RunOnce(t, s.Operator, w); got.Error != want {
		t.Errorf("got %q, want %q", got.Error, want)
	}
}

func (s Subject) passwords(t *testing.T) {
	secret := func(pairs ...string) operatortest.Vault {
		v := operatortest.Vault{}
		for i := 0; i < len(pairs); i += 2 {
			v[s.Secrets+"."+pairs[i]] = pairs[i+1]
		}
		return v
	}
	all := secret("user", s.Careful, "host", "127.0.0.1", "port", fmt.Sprint(s.Port), "database", s.Database, "password", s.Password, "ssl", "true",
		"connect_timeout", "9s", "socket_timeout", "9s")
	for name, value := range s.Settings {
		all[s.Secrets+"."+name] = value
	}
	careful := fmt.Sprintf(`"user": %q`, s.Careful)
	good := operatortest.Ended{Store: fmt.Sprintf(`{%q:{"last_results":{"a":1}}}`, s.Operator.Name)}
	for name, c := range map[string]struct {
		params  string
		secrets operatortest.Vault
		want    operatortest.Ended
	}{
		"right": {careful, secret("password", s.Password), good},
		"wrong": {careful, secret("password", "not this"), operatortest.Ended{Error: s.Rejected(true)}},
		"as a parameter": {careful + fmt.Sprintf(`, "password": %q`, s.Password), nil, operatortest.Ended{Error: s.Rejected(false) +
			fmt.Sprintf(": there is no secret %[1]s.password, set it with `zerodag secrets --project project --set %[1]s.password`", s.Secrets)}},
		"other": {careful + `, "password_override": "second"`, secret("password", "x", "second", s.Password), good},
		"no other": {careful + `, "password_override": "second"`, secret("password", s.Password),
			operatortest.Ended{Error: fmt.Sprintf("Secret not found for key: '%s.second'", s.Secrets), Kind: "secret not found"}},
		"all secret": {`"user": "x", "host": "x", "port": 1, "database": "x"`, all, good},
		"hidden": {fmt.Sprintf(`"database": %q`, s.Database), secret("user", s.Careful, "password", "x"),
			operatortest.Ended{Error: strings.ReplaceAll(s.Rejected(true), s.Careful, "***")}},
	} {
		w := operatortest.New(t, s.Changed(t, c.params+`, "query": "select 1 as a", "store_last_results": "first"`))
		w.Secrets = c.secrets
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, s.Operator, w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(w.Output.String(), s.Password) {
			t.Errorf("%s: the password is in the log", name)
		}
	}
}

func (s Subject) statements(t *testing.T) {
	s.Exec(t, "create table plain (a int)")
	common := []Statement{
		{Data("insert into plain values (1); select 1; insert into plain values (2)"), "select * from plain order by a", []string{"1", "2"}},
		{Data("insert into plain values (3)") + `, "strict_transaction": false`, "select * from plain order by a", []string{"1", "2", "3"}},
		{`"query": "insert into plain values (4)"`, "select max(a) from plain", []string{"4"}},
		{`"_command": "in.sql"`, "select max(a) from plain", []string{"5"}},
	}
	for _, c := range append(common, s.Statements...) {
		w := s.Task(t, c.Params)
		w.File(t, "in.sql", "insert into plain values (${n})")
		w.Template = func(text string) (string, error) { return strings.ReplaceAll(text, "${n}", "5"), nil }
		s.Finish(t, w)
		if diff := cmp.Diff(c.Want, s.Rows(t, c.Check)); diff != "" {
			t.Errorf("%s: %s", c.Params, diff)
		}
	}
	if _, err := s.Once(t.Context(), s.Task(t, Data("insert into plain values (10); insert into nowhere values (1)"))); err == nil {
		t.Error("a script that fails in the middle succeeded")
	}
	if got := s.Rows(t, "select count(*) from plain where a = 10"); got[0] != "0" {
		t.Error("changes of a failed script were committed")
	}
}
