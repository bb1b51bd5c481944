package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/operatortest/daemon"
	"zerodag/operators/sql"
)

// crashes breaks a run's connection at each of its requests in turn and lets another run take over: no matter how far
// the first run got, the statement is executed once.
func (s Subject) crashes(t *testing.T) {
	open := 0
	for _, answered := range []bool{false, true} {
		at, more := 1, true
		for ; more; at++ {
			table := fmt.Sprintf("crash_%t_%d", answered, at)
			s.Exec(t, "create table "+table+" (a int)")
			w := s.Task(t, Data("insert into "+table+" values (1)")+fmt.Sprintf(`, "status_table": "status_of_%s"`, table))
			w.State = State(table)
			first := w.Task
			x := daemon.Cut(t, s.Port, at, answered, s.Greets)
			tree := w.Params.All().Clone()
			tree.Set("port", int64(x.Port))
			first.Params = operators.NewParams(tree)
			_, err := s.Operator.Run(t.Context(), &first)
			select {
			case <-x.Done:
			default:
				more = false // the run has fewer requests
			}
			var later *operators.Later
			if errors.As(err, &later) {
				open++
				w.State = later.State
			}
			s.Finish(t, w)
			if got := s.Rows(t, "select count(*) from "+table); got[0] != "1" {
				t.Errorf("cut at request %d, answered %t: executed %s times", at, answered, got[0])
			}
		}
		if at < s.Requests {
			t.Errorf("got %d requests in a run, want at least %d", at, s.Requests)
		}
	}
	if open != s.Open {
		t.Errorf("got %d open commits, want %d: one cut before the request, one before the response", open, s.Open)
	}
}

// atTheSameTime checks two concurrent runs: an agent may believe that another agent is dead when it is only slow.
func (s Subject) atTheSameTime(t *testing.T) {
	s.Exec(t, "create table side_by_side (a int)")
	w := s.Task(t, Data(s.sleep(0.05)+"; insert into side_by_side values (1)")+`, "status_table": "fresh_status"`)
	if _, err := s.Operator.Run(t.Context(), &w.Task); err == nil {
		t.Fatal("the query id is not stored before it is used")
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
				_, err := s.Operator.Run(t.Context(), &mine)
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
		t.Errorf("the statement was executed %s times, want once", got[0])
	}
}

// kill checks that a query ends if no task waits for it.
func (s Subject) kill(t *testing.T) {
	for i, more := range []string{`, "store_last_results": "all"`, ``} {
		statement := s.sleep(1001 + i)
		w := s.Task(t, Data(statement)+more)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := s.Once(ctx, w)
			ended <- err
		}()
		s.WaitFor(t, s.Running(t, w, statement), "1")
		begin := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("the query took %v to stop", took)
		}
		s.WaitFor(t, s.Left(t, w, statement), "0")
	}
}

// clean checks what happens if an agent has died while its query is still running.
func (s Subject) clean(t *testing.T) {
	statement := s.sleep(1003)
	w := s.Task(t, Data(statement))
	w.State = State("orphan")
	ended := make(chan error)
	orphan := w.Task
	orphan.Params = operators.NewParams(w.Params.All())
	go func() {
		_, err := s.Operator.Run(t.Context(), &orphan)
		ended <- err
	}()
	s.WaitFor(t, s.Running(t, w, statement), "1")
	for range 2 {
		if err := s.Operator.Clean(t.Context(), &w.Task); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the query was not stopped")
	}
	if err := s.Operator.Clean(t.Context(), &operatortest.New(t, `{}`).Task); err != nil {
		t.Errorf("clean up a task that never ran: %v", err)
	}
}

func (s Subject) silence(t *testing.T) {
	for i, more := range []string{`, "store_last_results": "all"`, `, "strict_transaction": false`} {
		statement := s.sleep(1004 + i)
		w := s.Task(t, Data(statement)+`, "socket_timeout": "1s"`+more)
		w.State = State(statement)
		got := operatortest.RunOnce(t, s.Operator, w)
		if !strings.HasSuffix(got.Error, "[no response from the server for 1s: see socket_timeout]") || got.Kind != "" {
			t.Errorf("got %+v", got)
		}
		s.WaitFor(t, s.Left(t, w, statement), "0")
	}
}

// unreachable checks that no task reports a failure after a commit whose response was lost.
func (s Subject) unreachable(t *testing.T) {
	w := operatortest.New(t, s.Changed(t, `"query": "select 1", "database": "none"`))
	w.State = param.New(sql.QueryKey, operators.Derived("q"), "commitUnknown", true)
	if got := operatortest.RunOnce(t, s.Operator, w); got.Kind != "later" {
		t.Errorf("got %+v", got)
	}
}

func (s Subject) statusTables(t *testing.T) {
	s.Exec(t, s.StatusTables)
	s.Finish(t, s.Task(t, Data("insert into worked values (1)")+`, "status_table": "st", "status_table_schema": "own"`))
	if got := s.Rows(t, "select count(*) from own.st where completed_at is not null"); got[0] != "1" {
		t.Errorf("own.st has %s completed rows, want 1", got[0])
	}
	careful := func(more string) *operatortest.World {
		w := operatortest.New(t, s.Changed(t, Data("insert into worked values (2)")+fmt.Sprintf(`, "user": %q`, s.Careful)+more))
		w.Vault[s.Secrets+".password"] = s.Password
		w.State = param.New(sql.QueryKey, "mine")
		return w
	}
	w := careful(`, "status_table": "made_by_admin", "status_table_cleanup": "1h"`)
	s.Finish(t, w)
	s.Finish(t, w)
	if diff := cmp.Diff([]string{"mine", "newer", "open"}, s.Rows(t, "select query_id from made_by_admin order by query_id")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1", "2"}, s.Rows(t, "select a from worked order by a")); diff != "" {
		t.Error(diff)
	}
	got := operatortest.RunOnce(t, s.Operator, careful(`, "status_table": "forbidden"`))
	for _, part := range append(s.Denied, "strict_transaction: false") {
		if !strings.Contains(got.Error, part) {
			t.Errorf("error %q does not contain %q", got.Error, part)
		}
	}
}
