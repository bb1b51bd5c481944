package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestWake proves that a waiting task runs when it is woken, once however often it is woken, and even if it is woken
// before it waits.
func TestWake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   []time.Duration // of wakes
		took [2]time.Duration
	}{
		"waiting":  {[]time.Duration{10 * time.Second}, [2]time.Duration{10 * time.Second, 11 * time.Second}},
		"twice":    {[]time.Duration{10 * time.Second, 10 * time.Second, 11 * time.Second}, [2]time.Duration{10 * time.Second, 11 * time.Second}},
		"too soon": {[]time.Duration{time.Second}, [2]time.Duration{5 * time.Second, 9 * time.Second}},
		"never":    {nil, [2]time.Duration{10 * time.Minute, 11 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("poll", func(_ context.Context, o *operators.Task) (operators.Result, error) {
					if o.RetryCount > 0 {
						return operators.Result{}, nil
					}
					time.Sleep(5 * time.Second)
					return operators.Result{}, &operators.Later{After: 10 * time.Minute}
				})
				p := w.serve()
				a := p.run("+a:\n  work>: poll\n")
				for i, at := range c.at {
					if i == 0 {
						pass(at)
					} else {
						pass(at - c.at[i-1])
					}
					w.must(p.Wake(w.t.Context(), a.ID, engine.Run{Task: 2, Dispatch: 2}))
				}
				want(t, "status", p.end(a), "success")
				row := p.row(a)
				if took := row.FinishedAt.Sub(row.CreatedAt); took < c.took[0] || took > c.took[1] {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				w.must(p.Wake(w.t.Context(), a.ID, engine.Run{Task: 2, Dispatch: 2}))
				pass(20 * time.Minute) // the message that is due later finds nothing to do
				w.wantRuns("+main+a/1", "+main+a/2")
				if said := w.said(); strings.Contains(said, "ERROR") || strings.Contains(said, "left to another delivery") {
					t.Errorf("it says:\n%s", said)
				}
			})
		})
	}
}

// TestWakeTogether proves that tasks woken together need one entry and one message, and that a task that does not wait
// yet is woken when it does.
func TestWakeTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("poll", func(_ context.Context, o *operators.Task) (operators.Result, error) {
			if o.RetryCount > 0 {
				return operators.Result{}, nil
			}
			if strings.HasSuffix(o.TaskName, "=9") {
				time.Sleep(5 * time.Minute)
			}
			return operators.Result{}, &operators.Later{After: 2 * time.Hour}
		})
		p := w.serve(func(o *node.Options) { o.Limits.Pack = 25 })
		a := p.run("+p:\n  _parallel: true\n  for_range>: {from: 0, to: 10, step: 1}\n  _do:\n    work>: poll\n")
		pass(time.Minute)
		var list []host.Delivery
		w.must(p.View(w.t.Context(), a, func(s *engine.State) {
			for _, x := range s.Tasks() {
				if !x.Group && (x.State == engine.RetryWaiting || x.State == engine.Running) {
					run := engine.Run{Task: x.ID, Dispatch: 2}
					list = append(list, host.Delivery{Message: host.Message{ID: fmt.Sprintf("%d/w%d.2", a.ID, x.ID), Body: events.Encode(events.Event{Kind: events.Due, Run: &run})}, Count: 1})
				}
			}
		}))
		want(t, "tasks", len(list), 10)
		q := &deletes{}
		entries, sends := len(w.writes("append")), len(w.writes("send"))
		p.TakeEvents(w.t.Context(), q, list)
		want(t, "done", len(q.done), 10)
		want(t, "entries", len(w.writes("append"))-entries, 1)
		want(t, "sent", w.writes("send")[sends:], []string{"send 1 to tasks", "send 1 to tasks"})
		want(t, "status", p.end(a), "success")
		want(t, "runs", len(w.ran()), 20)
		row := p.row(a)
		if took := row.FinishedAt.Sub(row.CreatedAt); took < 5*time.Minute || took > 8*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
