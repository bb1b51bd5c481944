package evaluators_test

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/evaluators"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/operators/run"
)

func TestMain(m *testing.M) {
	evaluator.Serve()
	os.Exit(m.Run())
}

func newPool(t testing.TB) *evaluators.Pool {
	p := evaluators.New("")
	t.Cleanup(p.Close)
	return p
}

func benchVars() *param.Map {
	return param.New("timezone", "UTC", "session_uuid", "11111111-2222-3333-4444-555555555555",
		"session_id", int64(1), "project_id", int64(1), "attempt_id", int64(1),
		"session_time", "2024-02-29T12:34:56+00:00", "session_date", "2024-02-29",
		"session_date_compact", "20240229", "session_local_time", "2024-02-29 12:34:56",
		"session_tz_offset", "+0000", "session_unixtime", int64(1709210096), "task_name", "+main+a",
		"n", int64(5), "list", []param.Value{int64(1), int64(2)})
}

func bench(b *testing.B, text string) {
	p := newPool(b)
	vars, all := benchVars(), benchVars()
	all.Set("echo>", text)
	s := expr.Scope{Zone: time.UTC, Now: time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)}
	for b.Loop() {
		if _, err := p.Eval(b.Context(), all, vars, s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReference(b *testing.B) { bench(b, "at ${session_time} in ${task_name}") }
func BenchmarkOperators(b *testing.B) { bench(b, "${n + 1}") }
func BenchmarkScript(b *testing.B)    { bench(b, "${list.map(function(x) { return x * 2 })}") }
func BenchmarkMoment(b *testing.B)    { bench(b, "${moment(session_time).format('YYYY')}") }

// TestSitesShare proves that a site whose expressions use all the time that they are allowed does not delay another
// site, whose evaluations do not wait until the first site's end.
func TestSitesShare(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	s := expr.Scope{Zone: time.UTC, Now: time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)}
	busy, stop := context.WithCancel(run.WithSite(t.Context(), 2))
	defer stop()
	var ended, begun atomic.Int64
	var all sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for busy.Err() == nil {
				begun.Add(1)
				_, _ = p.Eval(busy, param.New("echo>", "${(function(){ while (true) {} })()}"), benchVars(), s)
				ended.Add(1)
			}
		})
	}
	light := func() {
		if _, err := p.Eval(run.WithSite(t.Context(), 1), param.New("echo>", "${list.map(function(x) { return x * 2 })}"), benchVars(), s); err != nil {
			t.Error(err)
		}
	}
	for ended.Load() == 0 { // by now the other site uses all processes
		light()
	}
	before, few := ended.Load(), int64(10)
	for range 10 * few {
		light()
	}
	if n := ended.Load() - before; n > 5*few {
		t.Errorf("%d evaluations of the other site ended during %d of this one", n, 10*few)
	}
	stop()
	all.Wait()
	if begun.Load() <= int64(runtime.GOMAXPROCS(0)) {
		t.Error("the other site was not busy")
	}
}
