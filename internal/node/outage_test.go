package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// away makes the store refuse every write for some time; messages are still released, because such a queue keeps its
// leases in memory.
func (w *world) away(from, until time.Duration) {
	began := time.Now()
	w.intercept(func(call string, done bool) error {
		at := time.Since(began)
		if done || at < from && call != "set params" || at >= until {
			return nil
		}
		return host.ErrUnavailable
	})
}

// paramStore is a parameter server that is unavailable when the store is.
func (w *world) paramStore(site int64) operators.ParamStore {
	return seenStore{w.db.ParamStore(site), w}
}

type seenStore struct {
	operators.ParamStore
	w *world
}

func (s seenStore) Set(ctx context.Context, values map[string]string) error {
	return s.w.call("set params", func() error { return s.ParamStore.Set(ctx, values) })
}

// TestOutageDelaysNothing proves that work that falls due while the store is unavailable is done within one retry
// interval after the store is back (a time of `sla:`, the retry of a group and of a task, the poll of a task, its
// result, and a start), that no task runs twice and no log line is duplicated because of it, and that the server's log
// reports an outage once.
func TestOutageDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		ends   time.Duration // at the latest, after the start
		lines  string        // in the log of +notice
		status string
	}{
		"sla":         {"sla:\n  duration: 00:00:02\n  +notice:\n    echo>: late\n+a:\n  work>: eight\n", 9 * time.Second, "echo>: late", "success"},
		"group retry": {"+g:\n  _retry:\n    limit: 1\n    interval: 3\n  +a:\n    work>: once\n+notice:\n  echo>: said\n", 12 * time.Second, "echo>: said", "success"},
		"task retry":  {"+a:\n  work>: once\n  _retry:\n    limit: 1\n    interval: 3\n+notice:\n  echo>: said\n", 12 * time.Second, "echo>: said", "success"},
		"param_set":   {"+b:\n  param_set>:\n  x: 1\n+notice:\n  echo>: said\n", 9 * time.Second, "echo>: said", "success"},
		"steps":       {"+a:\n  work>: quick\n+notice:\n  echo>: said\n", 9 * time.Second, "echo>: said", "success"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				failed := false
				w.on("eight", lasting(8*time.Second))
				w.on("quick", lasting(time.Second))
				w.on("once", func(context.Context, *operators.Task) (operators.Result, error) {
					if !failed {
						failed = true
						return operators.Result{}, operators.Failf("once")
					}
					return operators.Result{}, nil
				})
				p := w.serve(func(o *node.Options) { o.Limits.StoreRetry, o.Store = 2*time.Second, w.paramStore })
				p.push("main.dig", c.text)
				began := time.Now()
				w.away(time.Millisecond, 6*time.Second)
				a := p.start(1)
				want(t, "status", p.end(a), c.status)
				if took := p.row(a).FinishedAt.Sub(began); took > c.ends {
					t.Errorf("it took %v, want at most %v\n%s", took, c.ends, w.said())
				}
				want(t, "lines of +notice", strings.Count(w.logOf("notice"), c.lines), 1)
				if n := strings.Count(w.said(), "kept and retried"); n > 1 {
					t.Errorf("an outage was reported %d times\n%s", n, w.said())
				}
			})
		})
	}
}

// logOf returns the log text of tasks whose names contain a word.
func (w *world) logOf(word string) (text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for task, log := range w.log {
		if strings.Contains(task, word) {
			text += log
		}
	}
	return text
}
