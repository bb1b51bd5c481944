package node_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// wantRuns compares the runs of `work>`.
func (w *world) wantRuns(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.ran()); diff != "" {
		w.t.Errorf("runs (-want +got):\n%s\n%s", diff, w.said())
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestOrder checks the order of durability: an entry is stored before its effects, and the message is deleted last.
func TestOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		a := p.run("+e:\n  echo>: x\n+a:\n  work>: a\n+b:\n  work>: b\n+c:\n  _parallel: true\n  +x:\n    work>: x\n  +y:\n    work>: y\n")
		want(t, "status", p.end(a), "success")
		want(t, "writes up to the fan-out", w.writes("append", "send", "delete", "finish")[:6], []string{
			"append 2", "send 1 to tasks", "delete 1/start", // the start, with echo settled
			"append 3",                    // a's result: b is kept by the same message
			"append 4", "send 2 to tasks", // b's: x and y are sent
		})
		writes := w.writes("append", "finish", "delete")
		want(t, "the last write", strings.HasPrefix(writes[len(writes)-1], "delete"), true)
		want(t, "order", firsts(w.ran())[:2], []string{"+main+a", "+main+b"})
		want(t, "number of runs", len(w.ran()), 4)
	})
}

// TestCrashAnywhere proves that a crash before or after any write loses nothing: a second
// host brings the attempt to its end, with every task run at least once and in order.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	const text = "+a:\n  work>: a\n+p:\n  _parallel: true\n  +x:\n    work>: x\n  +y:\n    work>: later\n+r:\n  _retry: 1\n  +f:\n    work>: flaky\n+e:\n  echo>: x\n+z:\n  work>: z\n"
	for at := range 60 {
		inBubble(t, func(w *world) {
			flaky := 0
			w.on("flaky", func(context.Context, *operators.Task) (operators.Result, error) {
				if flaky++; flaky == 1 {
					return operators.Result{}, operators.Failf("once")
				}
				return operators.Result{}, nil
			})
			w.on("later", func(_ context.Context, o *operators.Task) (operators.Result, error) {
				if o.RetryCount == 0 {
					return operators.Result{}, &operators.Later{After: 3 * time.Second}
				}
				return operators.Result{}, nil
			})
			p := w.serve()
			p.push("main.dig", text)
			calls, dead := -1, errors.New("crashed")
			w.intercept(func(call string, done bool) error {
				if strings.HasPrefix(call, "start") {
					return nil
				}
				if calls++; calls == at {
					p.cut()
				}
				if calls >= at {
					return dead
				}
				return nil
			})
			a := p.start(1)
			pass(time.Minute)
			p.crash()
			w.intercept(nil)
			if calls < at {
				row := p.row(a)
				want(t, "status without a crash", row.Status(), "success")
				return
			}
			p = w.serve()
			if got := p.end(a); got != "success" {
				t.Errorf("crash at call %d: the attempt is %s: %v\n%s", at, got, p.tasks(a), w.said())
			}
			want(t, "order", firsts(w.ran()), []string{"+main+a", "+main+p+x", "+main+p+y", "+main+r+f", "+main+z"})
		})
	}
}

// firsts returns the tasks in the order of their first runs, and siblings of p by name.
func firsts(runs []string) []string {
	var list []string
	seen := map[string]bool{}
	for _, r := range runs {
		name, _, _ := strings.Cut(r, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		list = append(list, name)
		if n := len(list); n > 1 && list[n-1] == "+main+p+x" && list[n-2] == "+main+p+y" {
			list[n-2], list[n-1] = list[n-1], list[n-2]
		}
	}
	return list
}

// TestTakenOver proves that a second delivery takes a task over under a new dispatch, and that the earlier holder,
// which was only slow, is fenced: its result does not count and it does not continue.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var n atomic.Int64
		began := time.Now()
		w.on("slow", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			if n.Add(1) == 1 {
				time.Sleep(8 * time.Minute)
				return operators.Result{}, operators.Failf("of the earlier holder")
			}
			time.Sleep(10 * time.Minute)
			return operators.Result{}, nil
		})
		w.on("next", deaf(10*time.Minute))
		w.intercept(func(call string, done bool) error {
			if strings.HasPrefix(call, "extend") && time.Since(began) < 5*time.Minute {
				return errors.New("no way to the store")
			}
			return nil
		})
		p := w.serve()
		a := p.run("+a:\n  work>: slow\n+b:\n  work>: next\n+c:\n  work>: c\n")
		want(t, "status", p.end(a), "success")
		w.wantRuns("+main+a/1", "+main+a/2", "+main+b/1", "+main+c/1")
	})
}

// TestThreeLosses proves that a task whose runs vanish fails after the third, even if the whole server crashes, unless
// a crash limit is set, and that runs that were cut off when the server was asked to end do not count.
func TestThreeLosses(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"lost", "crashed", "crashed without limit", "told to end"} {
		restarted := how != "lost"
		inBubble(t, func(w *world) {
			options := sqlite.Options{Path: w.t.TempDir() + "/db"}
			w.db = w.open(options)
			w.on("a", lasting(time.Hour))
			limit := func(o *node.Options) {
				if how == "crashed without limit" {
					o.Limits.Crashes = -1
				}
			}
			p := w.serve(limit)
			a := p.run("+a:\n  work>: a\n")
			for range 4 {
				pass(time.Minute)
				if how == "told to end" {
					w.must(w.db.Stopping())
				}
				p.crash()
				if restarted {
					w.must(w.db.Close())
					w.db = w.open(options)
				} else {
					time.Sleep(10 * time.Minute)
				}
				p = w.serve(limit)
			}
			if how == "lost" || how == "crashed" {
				want(t, "status", p.end(a), "error")
				w.wantRuns("+main+a/1", "+main+a/2", "+main+a/3")
				return
			}
			want(t, "status after restarts", p.end(a), "success")
			w.wantRuns("+main+a/1", "+main+a/2", "+main+a/3", "+main+a/4", "+main+a/5")
		})
	}
}

// TestCrashesWithinSteps proves that an operator that runs within a step, and so leaves no trace of a crash, also fails
// after it crashes the server a few times, that the tasks before it continue, and that the server stays available for
// other attempts.
func TestCrashesWithinSteps(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		options := sqlite.Options{Path: w.t.TempDir() + "/db"}
		w.db = w.open(options)
		var booms atomic.Int64
		var cut atomic.Value // of the process that runs
		boom := func(o *node.Options) {
			o.Registry["boom"] = operators.Operator{Name: "boom", Inline: true, Run: func(ctx context.Context, _ *operators.Task) (operators.Result, error) {
				booms.Add(1)
				cut.Load().(context.CancelFunc)()
				return operators.Result{}, ctx.Err()
			}}
		}
		serve := func() *process {
			p := w.serve(boom)
			cut.Store(p.cut)
			return p
		}
		p := serve()
		p.push("main.dig", "+a:\n  echo>: a\n+b:\n  boom>: b\n+c:\n  work>: c\n")
		a := p.start(1)
		for range 10 {
			pass(time.Minute)
			p.crash()
			w.must(w.db.Close())
			w.db = w.open(options)
			p = serve()
		}
		want(t, "status", p.end(a), "error")
		if n := booms.Load(); n < 3 || n > 8 {
			t.Errorf("it was run %d times, want 3 to 8", n)
		}
		w.wantRuns()
	})
}

// TestOutage proves that a run's result is kept while the store is unavailable, and that the task does not run again
// afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, answerLost := range []bool{false, true} {
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", "+a:\n  work>: a\n+b:\n  work>: b\n+c:\n  _parallel: true\n  +x:\n    work>: x\n  +y:\n    work>: y\n")
			until := time.Now().Add(3 * time.Minute)
			broken := map[string]bool{}
			w.intercept(func(call string, done bool) error {
				if call == "start" || done != answerLost || time.Now().After(until) || answerLost && broken[call] {
					return nil
				}
				broken[call] = true
				return host.ErrUnavailable
			})
			a := p.start(1)
			if got := p.end(a); got != "success" {
				t.Errorf("the attempt is %s (answer lost: %v)\n%s", got, answerLost, w.said())
			}
			seen := map[string]bool{}
			for _, r := range w.ran() {
				name, _, _ := strings.Cut(r, "/")
				if seen[name] {
					t.Errorf("%s ran twice (answer lost: %v): %v", name, answerLost, w.ran())
				}
				seen[name] = true
			}
		})
	}
}

// TestStaleCache proves that "does not apply" is never decided on outdated state: two hosts work on one attempt, each
// with its own cached state.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		one, two := w.serve(), w.serve()
		a := one.run("_parallel: true\n" + groups(8))
		one.tasks(a)
		two.tasks(a) // now both have it in memory
		want(t, "status", one.end(a), "success")
		want(t, "number of runs", len(w.ran()), 24)
	})
}

// groups returns n groups of three sequential tasks each.
func groups(n int) string {
	var b strings.Builder
	for i := range n {
		g := string(rune('a' + i))
		b.WriteString("+" + g + ":\n")
		for _, name := range []string{"x", "y", "z"} {
			b.WriteString("  +" + name + ":\n    work>: w\n")
		}
	}
	return b.String()
}

// TestPacks proves that tasks of one message run in parallel, that their successors are sent once, and that a lost pack
// runs again.
func TestPacks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		for i, name := range []string{"a", "b", "c", "d"} {
			w.on(name, lasting(time.Duration(i+1)*time.Minute))
		}
		w.on("n", lasting(90*time.Second))
		packs := func(o *node.Options) { o.Limits.Pack, o.Limits.Threads = 25, 50 }
		p := w.serve(packs)
		group := func(n string) string {
			return "  +" + n + ":\n    +s:\n      work>: " + n + "\n    +t:\n      _parallel: true\n      +l:\n        work>: n\n      +m:\n        work>: n\n"
		}
		a := p.run("+p:\n  _parallel: true\n" + group("a") + group("b") + group("c") + group("d"))
		want(t, "status", p.end(a), "success")
		want(t, "number of runs", len(w.ran()), 12)
		want(t, "sent together", w.writes("send")[0], "send 1 to tasks")

		a = p.start(2)
		pass(30 * time.Second)
		p.crash()
		p = w.serve(packs)
		want(t, "status after a crash", p.end(a), "success")
		want(t, "number of runs", len(w.ran()), 12+4+12)
	})
}
