package node_test

import (
	"context"
	"testing"
	"time"

	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// TestClockThatIsSet proves that a clock that is set back by an hour while attempts run delays no wait (the retry of a
// task or a group, the poll of a task, and waits that follow them), and that a clock set forward loses and repeats
// nothing.
func TestClockThatIsSet(t *testing.T) {
	t.Parallel()
	const text = "+t:\n  work>: once\n  _retry:\n    limit: 1\n    interval: 5\n" +
		"+g:\n  _retry:\n    limit: 1\n    interval: 5\n  +f:\n    work>: flaky\n+p:\n  work>: polls\n+z:\n  work>: z\n"
	for _, set := range []time.Duration{-time.Hour, time.Hour} {
		for _, at := range []time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second} {
			inBubble(t, func(w *world) {
				w.db = w.open(sqlite.Options{Now: w.now, Steady: time.Now})
				once := func() work {
					failed := false
					return func(context.Context, *operators.Task) (operators.Result, error) {
						if !failed {
							failed = true
							return operators.Result{}, operators.Failf("once")
						}
						return operators.Result{}, nil
					}
				}
				w.on("once", once())
				w.on("flaky", once())
				w.on("polls", func(_ context.Context, o *operators.Task) (operators.Result, error) {
					if o.RetryCount < 2 {
						return operators.Result{}, &operators.Later{After: 3 * time.Second}
					}
					return operators.Result{}, nil
				})
				w.on("z", lasting(2*time.Second))
				p := w.serve()
				a, began := p.run(text), time.Now()
				pass(at)
				w.skew.Store(int64(set))
				for !p.row(a).Done && time.Since(began) < time.Minute {
					pass(100 * time.Millisecond)
				}
				want(t, "status", p.end(a), "success")
				if took := time.Since(began); took > 25*time.Second {
					t.Errorf("set by %v after %v: it took %v\n%s", set, at, took, w.said())
				}
				want(t, "runs", len(w.ran()), 2+2+3+1)
			})
		}
	}
}

// TestNoWaitEndsEarly proves that a clock that is set forward or back while attempts wait does not change the length of
// waits in the same process if a clock that counts sleep exists: `wait>` with and without polls, the retry of a task
// and of a group, and a group's timer.
func TestNoWaitEndsEarly(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"wait":        "+a:\n  wait>: 60s\n",
		"polls":       "+a:\n  wait>: 60s\n  poll_interval: 4s\n",
		"retry":       "+a:\n  work>: once\n  _retry: {limit: 1, interval: 60}\n",
		"group retry": "+g:\n  _retry: {limit: 1, interval: 60}\n  +a:\n    work>: once\n",
		"timeout":     "zerodag: 1\n+g:\n  _timeout: 60s\n  _ignore_error: true\n  +a:\n    work>: long\n",
	} {
		for _, set := range []time.Duration{-2 * time.Hour, -time.Minute, 5 * time.Second, time.Minute, time.Hour} {
			for _, at := range []time.Duration{time.Second, 30 * time.Second} {
				inBubble(t, func(w *world) {
					w.db = w.open(sqlite.Options{Now: w.now, Steady: time.Now, Uptime: time.Now})
					failed := false
					w.on("once", func(context.Context, *operators.Task) (operators.Result, error) {
						if !failed {
							failed = true
							return operators.Result{}, operators.Failf("once")
						}
						return operators.Result{}, nil
					})
					w.on("long", lasting(time.Hour))
					p := w.serve(func(o *node.Options) { o.Steady = time.Now })
					a, began := p.run(text), time.Now()
					pass(at)
					w.skew.Store(int64(set))
					for !p.row(a).Done && time.Since(began) < 2*time.Minute {
						pass(100 * time.Millisecond)
					}
					if took := time.Since(began); took < 59*time.Second || took > 66*time.Second {
						t.Errorf("%s, set by %v after %v: it took %v\n%s", name, set, at, took, w.said())
					}
					want(t, "status", p.end(a), "success")
				})
			}
		}
	}
}
