package node_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// heldLogs cannot store the logs of ended runs until a given time; asked counts the requests to store them.
type heldLogs struct {
	host.Logs
	until    time.Time
	unstored []string
	asked    atomic.Int64
}

// Settle fails until then.
func (l *heldLogs) Settle(int64) ([]string, error) {
	l.asked.Add(1)
	if time.Now().Before(l.until) {
		return nil, errors.New("the disk is full")
	}
	return l.unstored, nil
}

// TestResultsWaitForLogs proves that no result is stored before its run's log, that nothing runs twice in the meantime,
// and that a kill does not wait.
func TestResultsWaitForLogs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"success":  "+a:\n  work>: a\n+b:\n  work>: b\n",
		"failure":  "+a:\n  work>: bad\n",
		"inline":   "+a:\n  echo>: x\n+b:\n  work>: a\n",
		"parallel": "_parallel: true\n+a:\n  work>: a\n+b:\n  work>: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				logs := &heldLogs{until: time.Now().Add(20 * time.Second)}
				var runs atomic.Int64
				counted := func(err error) work {
					return func(context.Context, *operators.Task) (operators.Result, error) {
						runs.Add(1)
						return operators.Result{}, err
					}
				}
				w.on("a", counted(nil))
				w.on("b", counted(nil))
				w.on("bad", counted(operators.Failf("bad")))
				p := w.serve(func(o *node.Options) { logs.Logs, o.Logs = o.Logs, logs })
				a := p.run(text)
				pass(19 * time.Second)
				if row := p.row(a); row.Done || logs.asked.Load() == 0 {
					t.Errorf("done is %v before the log is stored, which was tried %d times", row.Done, logs.asked.Load())
				}
				wanted := "success"
				if name == "failure" {
					wanted = "error"
				}
				want(t, "status", p.end(a), wanted)
				many := map[string]int{"success": 2, "failure": 1, "inline": 1, "parallel": 2}[name]
				want(t, "runs", int(runs.Load()), many)
			})
		})
	}
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			logs := &heldLogs{until: time.Now().Add(30 * time.Second)}
			w.on("a", lasting(time.Hour))
			p := w.serve(func(o *node.Options) { logs.Logs, o.Logs = o.Logs, logs })
			a := p.run("+a: {work>: a}\n")
			pass(time.Second)
			want(t, "asked", logs.asked.Load(), int64(0))
			_, err := p.Kill(w.t.Context(), 0, a.ID)
			w.must(err)
			pass(time.Second)
			want(t, "canceled", p.row(a).Canceled, true)
			want(t, "status", p.end(a), "killed")
		})
	})
}

// failingLogs cannot store logs, and reports that when a log ends.
type failingLogs struct{ host.Logs }

func (l failingLogs) Open(id operators.Identity, created time.Time) host.TaskLog {
	return failingLog{l.Logs.Open(id, created)}
}

type failingLog struct{ host.TaskLog }

func (l failingLog) Close() error {
	return errors.Join(errors.New("the store does not answer"), l.TaskLog.Close())
}

// TestIncompleteLogs proves that a task whose log could not be stored reports it: either when the log ends, or when its
// result stops waiting for the log. A task that never ran has no log that could be incomplete.
func TestIncompleteLogs(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(host.Logs) host.Logs{
		"close":  func(l host.Logs) host.Logs { return failingLogs{l} },
		"settle": func(l host.Logs) host.Logs { return &heldLogs{Logs: l, unstored: []string{"+main+a", "+main+d"}} },
		"sound":  func(l host.Logs) host.Logs { return l },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", func(context.Context, *operators.Task) (operators.Result, error) { return operators.Result{}, nil })
				w.on("bad", func(context.Context, *operators.Task) (operators.Result, error) {
					return operators.Result{}, operators.Failf("bad")
				})
				p := w.serve(func(o *node.Options) { o.Logs = broken(o.Logs) })
				a := p.run("+a:\n  work>: a\n+b:\n  echo>: x\n+c:\n  work>: bad\n+d:\n  echo>: never\n")
				want(t, "status", p.end(a), "error")
				w.must(p.View(t.Context(), p.row(a), func(s *engine.State) {
					for _, x := range s.Tasks() {
						wanted := name == "close" && !x.Group && !x.StartedAt.IsZero() || name == "settle" && strings.HasSuffix(x.Name, "+a")
						if x.LogIncomplete != wanted {
							t.Errorf("%s: incomplete is %v, want %v", x.Name, x.LogIncomplete, wanted)
						}
					}
				}))
			})
		})
	}
}
