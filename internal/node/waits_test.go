package node_test

import (
	"context"
	"testing"
	"time"

	"zerodag/internal/node"
	"zerodag/operators"
)

// TestWaits proves that waiting tasks continue on time, to the second, and occupy nothing in the meantime: a retry, a
// poll, and the retry of a group.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		took time.Duration
		runs []string
	}{
		"poll":          {"+a:\n  work>: poll\n", 2 * time.Minute, []string{"+main+a/1", "+main+a/2", "+main+a/3"}},
		"retry":         {"+a:\n  work>: twice\n  _retry: {limit: 3, interval: 10}\n", 20 * time.Second, []string{"+main+a/1", "+main+a/2", "+main+a/3"}},
		"retry at once": {"+a:\n  work>: twice\n  _retry: 3\n", 0, []string{"+main+a/1", "+main+a/2", "+main+a/3"}},
		"group": {"_retry: {limit: 2, interval: 30}\n+a:\n  work>: once\n+b:\n  work>: b\n", 30 * time.Second,
			[]string{"+main+a/1", "+main+a/1", "+main+b/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("poll", func(_ context.Context, o *operators.Task) (operators.Result, error) {
					if o.RetryCount < 2 {
						return operators.Result{}, &operators.Later{After: time.Minute}
					}
					return operators.Result{}, nil
				})
				w.on("once", times(1))
				w.on("twice", times(2))
				p := w.serve(func(o *node.Options) { o.Limits.Threads = 1 })
				a := p.run(c.text)
				want(t, "status", p.end(a), "success")
				row := p.row(a)
				want(t, "time it took", row.FinishedAt.Sub(row.CreatedAt), c.took)
				w.wantRuns(c.runs...)
			})
		})
	}
}

// times returns work that fails n times.
func times(n int) work {
	return func(context.Context, *operators.Task) (operators.Result, error) {
		if n--; n >= 0 {
			return operators.Result{}, operators.Failf("not yet")
		}
		return operators.Result{}, nil
	}
}

// TestSLA proves that the tasks of sla: run once when the time comes, even if the host was down at that time, and not
// if the attempt has already ended.
func TestSLA(t *testing.T) {
	t.Parallel()
	const text = "sla:\n  duration: '00:10:00'\n  alert: true\n  +late:\n    work>: late\n+a:\n  work>: a\n"
	for name, c := range map[string]struct {
		takes  time.Duration
		crash  bool
		told   []string
		second string
	}{
		"late":     {takes: 20 * time.Minute, told: []string{"SLA violation"}, second: "+main^sla+late/1"},
		"in time":  {takes: 5 * time.Minute},
		"was away": {takes: 40 * time.Minute, crash: true, told: []string{"SLA violation"}, second: "+main^sla+late/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(c.takes))
				p := w.serve()
				a := p.run(text)
				if c.crash {
					pass(9 * time.Minute)
					p.crash()
					time.Sleep(10 * time.Minute)
					p = w.serve()
					pass(0)
				}
				if got := p.end(a); got != "success" {
					t.Errorf("the attempt is %s", got)
				}
				want(t, "notices", w.told(), c.told)
				runs := w.ran()
				if c.second != "" && (len(runs) < 2 || !contains(runs, c.second)) || c.second == "" && len(runs) != 1 {
					t.Errorf("runs are %v", runs)
				}
			})
		})
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
