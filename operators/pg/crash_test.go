package pg

import (
	"errors"
	"fmt"
	"testing"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/daemon"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/sql"
)

// testCrashes cuts a run at each of its requests and lets another one take over: whatever
// the first one came to, the statement is executed once.
func testCrashes(t *testing.T, s postgres.Server) {
	unknown := 0
	for _, answered := range []bool{false, true} {
		at, more := 1, true
		for ; more; at++ {
			table := fmt.Sprintf("crash_%t_%d", answered, at)
			s.Rows(t, "create table "+table+" (a int)")
			w := task(t, s, data("insert into "+table+" values (1)")+fmt.Sprintf(`, "status_table": "status_of_%s"`, table))
			w.State = param.New(sql.QueryKey, table)
			first := w.Task
			x := daemon.Cut(t, s.Port, at, answered, false)
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

// testUnreachable: after a commit whose answer was lost no task may say that it failed.
func testUnreachable(t *testing.T, s postgres.Server) {
	w := operatortest.New(t, params(s, `"query": "select 1", "database": "none"`))
	tree := w.Params.All().Clone()
	tree.Set("database", "none")
	w.Params = operators.NewParams(tree)
	w.State = param.New(sql.QueryKey, "q", "commitUnknown", true)
	if got := operatortest.RunOnce(t, Operator(), w); got.Kind != "later" {
		t.Errorf("got %+v", got)
	}
}
