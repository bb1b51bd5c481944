package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// ticked makes a node one of many short-lived ones, with queues that behave like SQS.
func ticked(o *node.Options) {
	o.FiredByMessages, o.Shared = true, true
	o.Inventory = nil
	o.Events.(*seenQueue).traits = host.Traits{Rounding: 300 * time.Millisecond, Remembers: 4 * time.Minute}
	o.Tasks.(*seenQueue).traits = host.Traits{Rounding: 300 * time.Millisecond}
}

// serveTicked runs a host without a scheduler.
func (w *world) serveTicked(edit ...func(*node.Options)) *process {
	o := w.options()
	for _, e := range append(edit, ticked) {
		e(&o)
	}
	return w.serveParts(node.New(o), node.Parts{Executor: true, Agent: true})
}

// tick makes the calls of a tick every minute, for the given time.
func (p *process) tick(d time.Duration, calls int, last *time.Time) {
	p.w.t.Helper()
	for range int(d / time.Minute) {
		until := time.Now().Add(65 * time.Second)
		for range calls {
			p.w.must(p.HandOver(p.w.t.Context(), *last, until, nil))
		}
		*last = until
		pass(time.Minute)
	}
}

// TestTicked proves that schedules, even those that fire every minute, fire on time if nothing but a tick runs each
// minute, if a tick comes twice, and after ticks were missed.
func TestTicked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schedule string
		away     time.Duration // before the first tick
		calls    int
		want     []string
	}{
		"hourly":   {"hourly>: '02:00'", 0, 1, []string{"01T00:00:00 at 01T00:02:00.000"}},
		"minutely": {"cron>: '* * * * *'", 0, 1, []string{"01T00:00:00 at 01T00:00:01.000", "01T00:01:00 at 01T00:01:00.000", "01T00:02:00 at 01T00:02:00.000", "01T00:03:00 at 01T00:03:00.000"}},
		"twice":    {"cron>: '* * * * *'", 0, 2, []string{"01T00:00:00 at 01T00:00:01.000", "01T00:01:00 at 01T00:01:00.000", "01T00:02:00 at 01T00:02:00.000", "01T00:03:00 at 01T00:03:00.000"}},
		"away":     {"hourly>: '02:10'", time.Hour, 1, []string{"01T00:00:00 at 01T01:00:00.000", "01T01:00:00 at 01T01:02:10.000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p, last := w.serveTicked(), time.Now()
				p.push("main.dig", scheduled(c.schedule))
				pass(c.away)
				p.tick(4*time.Minute-time.Second, c.calls, &last)
				want(t, "fired", p.fired(), c.want)
			})
		})
	}
}

// TestTickedMessages proves that schedules due together are fired by few messages, and that schedules that fire every
// minute keep needing one message a minute, however often a tick comes.
func TestTickedMessages(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p, last := w.serveTicked(func(o *node.Options) { o.Limits.Attempts = 1000 }), time.Now()
		var files []string
		for i := range 100 {
			files = append(files, fmt.Sprintf("w%02d.dig", i), scheduled("hourly>: '05:00'"))
		}
		p.push(files...)
		p.tick(6*time.Minute, 1, &last)
		want(t, "fired", len(p.fired()), 100)
		sent := w.writes("send 4 to tasks")
		want(t, "messages", len(sent), 1)

		p.push("main.dig", scheduled("cron>: '* * * * *'"))
		p.tick(10*time.Minute, 3, &last)
		before := len(w.writes("delete schedule/"))
		p.tick(10*time.Minute, 1, &last)
		want(t, "messages in ten minutes", len(w.writes("delete schedule/"))-before, 10)
	})
}

// TestFiringCutOff proves that a schedule still fires in time if the process that moved it ended before it sent the
// next message.
func TestFiringCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p, last := w.serveTicked(), time.Now()
		p.push("main.dig", scheduled("cron>: '* * * * *'"))
		cut := false
		w.intercept(func(call string, done bool) error {
			if call == "send 1 to tasks" && !done && !cut && len(w.writes("update schedule")) == 1 {
				cut = true
				return host.ErrUnavailable
			}
			return nil
		})
		p.tick(3*time.Minute-time.Second, 1, &last)
		want(t, "cut", cut, true)
		want(t, "fired", len(p.fired()), 3)
	})
}

// lose removes an attempt's first message, as if it had never been sent.
func (w *world) lose(a host.Attempt) {
	w.t.Helper()
	list, err := w.db.Queue("events").Receive(w.t.Context(), 1, time.Minute)
	w.must(err)
	if len(list) != 1 || list[0].ID != fmt.Sprintf("%d/start", a.ID) {
		w.t.Fatalf("received %v", list)
	}
	w.must(w.db.Queue("events").Delete(w.t.Context(), list[0]))
}

// TestRevive proves that an attempt whose first message was never sent begins, with the same message if the revival
// comes soon and by taking over if it comes long after, and that a begun attempt is not disturbed.
func TestRevive(t *testing.T) {
	t.Parallel()
	const text = "sla:\n  duration: 03:00:00\n  +late:\n    echo>: late\n+e:\n  echo>: x\n+a:\n  work>: a\n+b:\n  work>: b\n"
	for name, c := range map[string]struct {
		after time.Duration
		want  string
	}{"soon": {2 * time.Minute, "success"}, "between": {30 * time.Minute, "running"}, "long after": {2 * time.Hour, "success"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serveParts(node.New(w.options()), node.Parts{})
				p.push("main.dig", text)
				a := p.start(1)
				w.lose(a)
				p = w.serveTicked()
				pass(c.after)
				from := time.Now()
				w.must(p.Revive(w.t.Context(), time.Time{}, from))
				w.must(p.Revive(w.t.Context(), time.Time{}, from)) // the tick came twice
				pass(time.Minute)
				row := p.row(a)
				want(t, "status", row.Status(), c.want)
				if c.want == "success" {
					want(t, "order", firsts(w.ran()), []string{"+main+a", "+main+b"})
					want(t, "runs", len(w.ran()), 2)
				}
			})
		})
	}
	t.Run("has begun", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(50*time.Minute))
			p := w.serveTicked()
			a := p.run("+a:\n  work>: a\n") // its log has one entry until +a ends
			for range 10 {
				pass(5 * time.Minute)
				w.must(p.Revive(w.t.Context(), time.Now().Add(-time.Hour), time.Now()))
			}
			pass(time.Hour)
			row := p.row(a)
			want(t, "status", row.Status(), "success")
			w.wantRuns("+main+a/1")
		})
	})
	t.Run("its sla", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(4*time.Hour))
			p := w.serveParts(node.New(w.options()), node.Parts{})
			p.push("main.dig", text)
			a := p.start(1)
			w.lose(a)
			p = w.serveTicked()
			pass(2 * time.Hour)
			w.must(p.Revive(w.t.Context(), time.Time{}, time.Now()))
			pass(2 * time.Hour)
			want(t, "tasks of sla", slices.ContainsFunc(p.tasks(a), func(s string) bool { return strings.HasPrefix(s, "^sla+late success") }), true)
		})
	})
}

// TestViewOfOthers proves that a host that only reads sees the changes that others made since its last read.
func TestViewOfOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Hour))
		o := w.options()
		o.Shared = true
		looks := w.serveParts(node.New(o), node.Parts{})
		p := w.serveTicked()
		a := p.run("+a:\n  work>: a\n+b:\n  work>: a\n")
		pass(time.Minute)
		want(t, "first", looks.tasks(a)[1:], []string{"+a running", "+b blocked"})
		pass(time.Hour)
		want(t, "later", looks.tasks(a)[1:], []string{"+a success", "+b running"})
	})
}

// deletes is a queue that only records deletions.
type deletes struct {
	host.Queue
	done     []string
	released []string
}

func (q *deletes) Delete(_ context.Context, d host.Delivery) error {
	q.done = append(q.done, d.ID)
	return nil
}

func (q *deletes) Release(_ context.Context, d host.Delivery, _ time.Duration) error {
	q.released = append(q.released, d.ID)
	return nil
}

// TestTakeEvents proves that messages of one attempt that arrive together form one entry, in their order, and that all
// of them are redelivered if one fails.
func TestTakeEvents(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serveParts(node.New(w.options()), node.Parts{Executor: true})
		a := p.run("+p:\n  _parallel: true\n  +a: {work>: a}\n  +b: {work>: b}\n  +c: {work>: c}\n+z: {work>: z}\n")
		pass(time.Second)
		message := func(n int, tasks ...engine.TaskID) host.Delivery {
			e := events.Event{Kind: events.Results}
			for _, id := range tasks {
				e.Results = append(e.Results, events.ResultOf(engine.Succeeded{Run: engine.Run{Task: id, Dispatch: 1}, Result: engine.Outcome{Stores: param.New(fmt.Sprint("from", id), true)}}))
			}
			return host.Delivery{Message: host.Message{ID: fmt.Sprintf("%d/r%d", a.ID, n), Body: events.Encode(e)}, Count: 1}
		}
		ids := map[string]engine.TaskID{}
		w.must(p.View(w.t.Context(), a, func(s *engine.State) {
			for _, x := range s.Tasks() {
				ids[x.Name] = x.ID
			}
		}))
		q := &deletes{}
		w.intercept(func(call string, done bool) error {
			if strings.HasPrefix(call, "append") && !done {
				return host.ErrUnavailable
			}
			return nil
		})
		list := []host.Delivery{message(1, ids["+main+p+a"]), message(2, ids["+main+p+b"], ids["+main+p+c"])}
		p.TakeEvents(w.t.Context(), q, list)
		want(t, "released", q.released, []string{list[0].ID, list[1].ID})
		w.intercept(nil)
		before := len(w.writes("append"))
		p.TakeEvents(w.t.Context(), q, list)
		want(t, "done", q.done, []string{list[0].ID, list[1].ID})
		want(t, "entries", len(w.writes("append"))-before, 1)
		want(t, "tasks", p.tasks(a)[1:], []string{"+p success", "+p+a success", "+p+b success", "+p+c success", "+z running"})
		want(t, "sent", w.writes("send")[len(w.writes("send"))-1], "send 1 to tasks")
		p.TakeEvents(w.t.Context(), q, list) // a duplicate changes nothing
		want(t, "entries after a duplicate", len(w.writes("append"))-before, 1)
	})
}

// TestPackResults proves that the results of a pack form few entries, whatever its tasks store, and that each task ran
// once and is in the log.
func TestPackResults(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", func(_ context.Context, o *operators.Task) (operators.Result, error) {
					time.Sleep(time.Duration(o.TaskID%7) * 300 * time.Millisecond)
					if size > 1000 && o.TaskID%20 != 0 {
						return operators.Result{}, nil
					}
					return operators.Result{Store: param.New("s", strings.Repeat("x", size))}, nil
				})
				p := w.serve(func(o *node.Options) { o.Limits.Pack = 25 })
				a := p.run("+p:\n  _parallel: true\n  for_range>: {from: 0, to: 100, step: 1}\n  _do:\n    work>: a\n+z: {work>: z}\n")
				want(t, "status", p.end(a), "success")
				want(t, "runs", len(w.ran()), 101)
				if n := len(w.writes("append")); n > 40 {
					t.Errorf("%d entries", n)
				}
			})
		})
	}
}
