package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestKill proves that a kill takes effect at once: running tasks are cut off, waiting and queued ones are cleaned up
// and never run, nothing else runs, not even _error, and the attempt ends.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		runs    []string
		cleaned []string
	}{
		"running":     {text: "_error:\n  work>: handler\n+a:\n  work>: long\n  _error:\n    work>: handler\n+b:\n  work>: b\n", runs: []string{"+main+a/1"}},
		"waiting":     {text: "+a:\n  work>: poll\n+b:\n  work>: b\n", runs: []string{"+main+a/1"}, cleaned: []string{"+main+a"}},
		"queued":      {text: "_parallel: true\n+a:\n  work>: long\n+b:\n  work>: long\n", runs: []string{"+main+a/1"}, cleaned: []string{"+main+b"}},
		"nested":      {text: "+g:\n  +h:\n    _retry: 3\n    +i:\n      work>: long\n  _error:\n    work>: handler\n+z:\n  work>: z\n", runs: []string{"+main+g+h+i/1"}},
		"group waits": {text: "_retry: {limit: 3, interval: 3600}\n+a:\n  work>: fails\n", runs: []string{"+main+a/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(5*time.Hour))
				w.on("fails", failing)
				w.on("poll", func(context.Context, *operators.Task) (operators.Result, error) {
					return operators.Result{}, &operators.Later{After: time.Hour}
				})
				p := w.serve(func(o *node.Options) { o.Limits.Threads = 1 })
				a := p.run(c.text)
				pass(time.Minute)
				before, err := p.Kill(w.t.Context(), a.Site, a.ID)
				w.must(err)
				want(t, "flag before", before.Canceled, false)
				pass(0)
				row := p.row(a)
				want(t, "status", row.Status(), "killed")
				want(t, "time it took", row.FinishedAt.Sub(row.CreatedAt), time.Minute)
				if strings.HasPrefix(c.text, "_parallel") { // either of the two may be first
					want(t, "number of runs", len(w.ran()), 1)
					want(t, "number of clean-ups", len(w.cleaned), 1)
				} else {
					w.wantRuns(c.runs...)
					want(t, "cleaned", w.cleaned, c.cleaned)
				}
				want(t, "notices", len(w.told()), 0)
				for _, task := range p.tasks(a) {
					if _, state, _ := strings.Cut(task, " "); state != "canceled" && state != "blocked" && state != "error" {
						t.Errorf("task %s", task)
					}
				}
				_, err = p.Kill(w.t.Context(), a.Site, a.ID)
				want(t, "code of a second kill", code(err), host.Conflict)
			})
		})
	}
}

// TestKillAfterCrash proves that the next process carries out an acknowledged kill and runs no task of the attempt.
func TestKillAfterCrash(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(5*time.Hour))
		p := w.serve()
		a := p.run("+a:\n  work>: long\n")
		pass(time.Minute)
		p.crash()
		_, err := p.Kill(w.t.Context(), a.Site, a.ID) // of a process whose loops have ended
		w.must(err)
		p = w.serve()
		want(t, "status", p.end(a), "killed")
		w.wantRuns("+main+a/1")
		want(t, "cleaned", w.cleaned, []string{"+main+a"})
	})
}

// TestKillBetweenTurns proves that a kill does not have to wait for a long series of tasks without I/O.
func TestKillBetweenTurns(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := node.New(w.options())
		q := &process{Node: p, w: w}
		a := q.run("+g:\n  for_range>: {from: 0, to: 900, step: 1}\n  _do:\n    +x:\n      for_range>: {from: 0, to: 10, step: 1}\n      _do:\n        echo>: x\n")
		_, err := p.Kill(w.t.Context(), a.Site, a.ID)
		w.must(err)
		r := w.serveParts(p, node.Parts{Executor: true, Agent: true})
		want(t, "status", r.end(a), "killed")
	})
}

// lateEnds cannot store an attempt's end before a given time.
type lateEnds struct {
	host.Attempts
	from time.Time
}

func (l lateEnds) Finish(ctx context.Context, id int64, e host.End) error {
	if time.Now().Before(l.from) {
		return host.ErrUnavailable
	}
	return l.Attempts.Finish(ctx, id, e)
}

// TestKillTooLate proves that a kill is refused as soon as all tasks have ended, although the attempt's row has not
// been updated yet: reporting that the attempt is killed would be wrong.
func TestKillTooLate(t *testing.T) {
	t.Parallel()
	for end, text := range map[string]string{"success": "+a: {work>: a}\n", "error": "+a: {fail>: no}\n"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", func(context.Context, *operators.Task) (operators.Result, error) { return operators.Result{}, nil })
				p := w.serve(func(o *node.Options) { o.Attempts = lateEnds{o.Attempts, time.Now().Add(time.Minute)} })
				a := p.run(text)
				pass(10 * time.Second)
				want(t, "done", p.row(a).Done, false)
				var refused *host.Error
				if _, err := p.Kill(t.Context(), a.Site, a.ID); !errors.As(err, &refused) || refused.Code != host.Conflict {
					t.Errorf("the kill is answered with %v", err)
				}
				if end == "success" {
					want(t, "status", p.end(a), end)
				}
			})
		})
	}
}
