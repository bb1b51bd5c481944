package local_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/local"
	"zerodag/operators"
	"zerodag/operators/all"
)

// world is a host whose operators `do>` and `slow>` record their parameters.
type world struct {
	*local.Host
	mu      sync.Mutex
	done    []string
	running int
	most    int
}

func newWorld(t *testing.T, o local.Options, files map[string]string) *world {
	t.Helper()
	w := &world{}
	registry := operators.Registry{}
	for name, op := range all.Registry() {
		registry[name] = op
	}
	registry["do"] = operators.Operator{Name: "do", Retries: true, Run: w.do}
	registry["slow"] = operators.Operator{Name: "slow", Run: w.slow}
	o.Registry, o.Now = registry, time.Now
	o.Evaluator = evaluator.InProcess(nil)
	o.Project = local.Project{ID: 1, Name: "p"}
	o.Workspace = func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
		return host.Workspace{Leave: func() {}}, nil
	}
	o.Log = func(operators.Identity) operators.Log { return discard{} }
	o.Notifier = discard{}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	var err error
	o.Workflows, err = dig.Load(func(name string) ([]byte, error) {
		text, there := files[name]
		if !there {
			return nil, dig.ErrNotFound
		}
		return []byte(text), nil
	}, names)
	if err != nil {
		t.Fatal(err)
	}
	w.Host = local.New(o)
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, fmt.Sprintf(format, args...))
}

// do records its command; the commands `fail` and `panic` fail and panic, and `flaky` fails at first.
func (w *world) do(_ context.Context, t *operators.Task) (operators.Result, error) {
	command, err := t.Params.String("_command")
	if err != nil {
		return operators.Result{}, err
	}
	w.note("%s", command)
	switch {
	case command == "panic":
		panic("on purpose")
	case command == "fail" || command == "flaky" && t.RetryCount < 2:
		return operators.Result{}, operators.Failf("%s failed", t.TaskName)
	}
	return operators.Result{}, nil
}

// slow takes a while, and ends when its context does.
func (w *world) slow(ctx context.Context, t *operators.Task) (operators.Result, error) {
	d, err := t.Params.DurationOr("_command", 0)
	if err != nil {
		return operators.Result{}, err
	}
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		w.note("cut short")
	}
	w.mu.Lock()
	w.running--
	w.mu.Unlock()
	return operators.Result{}, ctx.Err()
}

type discard struct{}

func (discard) Write(p []byte) (int, error)                               { return len(p), nil }
func (discard) Echo(string)                                               {}
func (discard) Line(operators.Level, string, string)                      {}
func (discard) NotifySlow(context.Context, string, *operators.Task) error { return nil }

func (discard) Notify(context.Context, string, *operators.Task) error { return nil }

func (w *world) run(t *testing.T, ctx context.Context, workflow string) *engine.State {
	t.Helper()
	a, err := w.Run(ctx, local.Request{Workflow: workflow, SessionTime: time.Unix(0, 0), Params: param.New()})
	if err != nil {
		t.Fatal(err)
	}
	return a.State
}

func states(s *engine.State) string {
	var list []string
	for _, t := range s.Tasks() {
		list = append(list, t.Name+" "+t.State.String())
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// TestRetriesWait proves that the host waits as long as `_retry` demands, for tasks and for groups, according to its
// clock.
func TestRetriesWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{"main.dig": `
+a:
  _retry: {limit: 2, interval: 10}
  do>: flaky
+g:
  _retry: {limit: 2, interval: 60, interval_type: exponential}
  +b:
    do>: fail
`})
		began := time.Now()
		s := w.run(t, t.Context(), "main")
		if took := time.Since(began); took != 20*time.Second+60*time.Second+120*time.Second {
			t.Errorf("took %v", took)
		}
		if got := strings.Join(w.done, " "); got != "flaky flaky flaky fail fail fail" {
			t.Error(got)
		}
		if s.Task(engine.Root).State != engine.GroupError {
			t.Error(states(s))
		}
	})
}

// TestKill proves that canceling the caller's context ends running tasks at once, wakes waiting ones, and runs nothing
// else.
func TestKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{"main.dig": `
_parallel: true
_error: {do>: handler}
+a: {slow>: 100d}
+b: {wait>: 100d}
+c: {_retry: {limit: 3, interval: 1000000}, do>: fail}
+d:
  +e: {slow>: 100d}
  +f: {do>: never}
`})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		s := w.run(t, ctx, "main")
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("took %v", took)
		}
		slices.Sort(w.done)
		if got := strings.Join(w.done, ", "); got != "cut short, cut short, fail" {
			t.Error(got)
		}
		want := "+main canceled\n+main+a canceled\n+main+b canceled\n+main+c canceled\n+main+d canceled\n+main+d+e canceled\n+main+d+f blocked"
		if got := states(s); got != want || !s.Canceled() {
			t.Error(got)
		}
	})
}

// TestClosing proves that the closing parts of tasks run after the caller's context is canceled, even the parts that
// were under way at that time, and that they never get a canceled context.
func TestClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{"main.dig": "zerodag: 1\n_finally: {slow>: 5s}\n_parallel: true\n+a:\n  _finally: {slow>: 120s}\n  do>: a\n+b:\n  _cancel:\n    +c: {echo>: c}\n    +d: {slow>: 10s}\n  slow>: 3600s\n"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		s := w.run(t, ctx, "main")
		if took := time.Since(began); took != 125*time.Second {
			t.Errorf("it took %v", took)
		}
		want := "+main canceled\n+main+a success\n+main+a^finally success\n+main+b canceled\n+main+b^cancel success\n+main+b^cancel+c success\n+main+b^cancel+d success\n+main^finally success"
		if got := states(s); got != want {
			t.Errorf("%v\n%s", s.Canceled(), got)
		}
	})
}

// TestThreads proves that no more tasks run at once than requested.
func TestThreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{Threads: 3}, map[string]string{"main.dig": `
+l:
  loop>: 10
  _parallel: true
  _do: {slow>: 10s}
`})
		began := time.Now()
		w.run(t, t.Context(), "main")
		if took := time.Since(began); w.most != 3 || took != 40*time.Second {
			t.Errorf("%d at once, took %v", w.most, took)
		}
	})
}

// TestPanic proves that an operator that panics fails only its own task.
func TestPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Options{}, map[string]string{"main.dig": "_parallel: true\n+a: {do>: panic}\n+b: {do>: fine}\n"})
	s := w.run(t, t.Context(), "main")
	if got := states(s); !strings.Contains(got, "+main+a error") || !strings.Contains(got, "+main+b success") {
		t.Error(got)
	}
}

// TestPortions proves that a loop larger than a portion runs completely and in order.
func TestPortions(t *testing.T) {
	t.Parallel()
	n := 3*engine.Portion + 7
	w := newWorld(t, local.Options{Limit: 10 * n}, map[string]string{"main.dig": fmt.Sprintf("+l:\n  loop>: %d\n  _do: {do>: \"${i}\"}\n", n)})
	if s := w.run(t, t.Context(), "main"); !s.Succeeded() || len(w.done) != n {
		t.Fatalf("%d of %d ran", len(w.done), n)
	}
	for i, got := range w.done {
		if got != fmt.Sprint(i) {
			t.Fatalf("%s ran in place %d", got, i)
		}
	}
}

// TestRequire proves that an attempt of another workflow runs in the same process, once per session, and that its
// failure is reported.
func TestRequire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{
			"main.dig":  "_parallel: true\n+a: {require>: child}\n+b: {require>: child}\n+c: {require>: broken}\n+d: {require>: nosuch}\n",
			"child.dig": "+x: {slow>: 5s}\n+y: {do>: child}\n", "broken.dig": "+x: {do>: fail}\n"})
		got := states(w.run(t, t.Context(), "main"))
		for _, want := range []string{"+main+a success", "+main+b success", "+main+c error", "+main+d error"} {
			if !strings.Contains(got, want) {
				t.Errorf("want %s:\n%s", want, got)
			}
		}
		if n := strings.Count(strings.Join(w.done, " "), "child"); n != 1 {
			t.Errorf("the required workflow ran %d times", n)
		}
	})
}

// TestSLA proves that the tasks of `sla:` start on time while the attempt runs.
func TestSLA(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{"main.dig": "sla: {duration: 00:01, +late: {do>: late}}\n+a: {slow>: 5m}\n+b: {do>: b}\n"})
		s := w.run(t, t.Context(), "main")
		if got := strings.Join(w.done, " "); got != "late b" || !s.Succeeded() {
			t.Errorf("%s\n%s", got, states(s))
		}
	})
}

// TestRefused proves that an attempt that cannot be started is an error and runs nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 999 {
		fmt.Fprintf(&many, "+t%d: {do>: x}\n", i)
	}
	w := newWorld(t, local.Options{}, map[string]string{"many.dig": many.String()})
	for name, want := range map[string]string{"nosuch": "workflow not found", "many": "Too many tasks. Limit: 1000, Current: 1, Adding: 1000"} {
		_, err := w.Run(t.Context(), local.Request{Workflow: name, SessionTime: time.Unix(0, 0)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if len(w.done) != 0 {
		t.Error(w.done)
	}
}

// TestTimeout proves that tasks and groups end when their time is up.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Options{}, map[string]string{"main.dig": `
zerodag: 1
+a: {_timeout: 1m, _ignore_error: true, slow>: 100d}
+b: {_timeout: 2m, _ignore_error: true, wait>: 100d}
+g:
  _timeout: 3m
  _ignore_error: true
  +a: {slow>: 100d}
+c: {_timeout: {total: 4m}, _retry: {limit: 3, interval: 86400}, do>: fail}
`})
		began := time.Now()
		s := w.run(t, t.Context(), "main")
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("took %v", took)
		}
		if _, why := s.Failure(); why != "timed out after 4m" {
			t.Error(why, states(s))
		}
	})
}
