package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/operators"
)

// away makes the store refuse every write for a time; messages are released, as a queue whose
// leases are in memory does also then.
func (w *world) away(from, until time.Duration) {
	began := time.Now()
	w.intercept(func(_ string, done bool) error {
		at := time.Since(began)
		if done || at < from || at >= until {
			return nil
		}
		return host.ErrUnavailable
	})
}

func soonRetried(o *host.Options) { o.Limits.StoreRetry = 2 * time.Second }

// TestOutageDelaysNothing proves that what falls due while the store is away is done within the
// time between two tries after it is back: a time of `sla:`, the next try of a group and of a
// task, the poll of a task, its result, and a start; that no task runs twice for it, no line of
// a log is doubled, and that the server's log tells of an outage once.
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
				p := w.serve(soonRetried)
				p.push("main.dig", c.text)
				a := p.start(1)
				began := time.Now()
				w.away(time.Millisecond, 6*time.Second)
				want(t, "status", p.end(a), c.status)
				if took := p.row(a).FinishedAt.Sub(began); took > c.ends {
					t.Errorf("it took %v, want at most %v\n%s", took, c.ends, w.said())
				}
				want(t, "lines of +notice", strings.Count(w.logOf("notice"), c.lines), 1)
				if n := strings.Count(w.said(), "kept and tried again"); n > 1 {
					t.Errorf("an outage was told %d times\n%s", n, w.said())
				}
			})
		})
	}
}

// logOf is the text of the logs of tasks whose names hold a word.
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
