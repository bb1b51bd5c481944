package node_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// forgetful is a queue that loses messages but claims to have them.
type forgetful struct {
	host.Queue

	mu     sync.Mutex
	loses  func(host.Message) bool // selects the messages to lose
	lost   int
	leased map[string]host.Delivery // by ID of the message
}

func (q *forgetful) Send(ctx context.Context, list ...host.Message) error {
	q.mu.Lock()
	var kept []host.Message
	for _, m := range list {
		if q.loses != nil && q.loses(m) {
			q.lost++
		} else {
			kept = append(kept, m)
		}
	}
	q.mu.Unlock()
	if len(kept) == 0 {
		return nil
	}
	return q.Queue.Send(ctx, kept...)
}

func (q *forgetful) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	list, err := q.Queue.Receive(ctx, n, lease)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range list {
		q.leased[d.ID] = d
	}
	return list, err
}

// loseLeased loses the leased messages and returns their number.
func (q *forgetful) loseLeased(ctx context.Context) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.leased {
		if q.Queue.Extend(ctx, d, time.Hour) == nil {
			n++
			err = errors.Join(err, q.Queue.Delete(ctx, d))
		}
	}
	return n, err
}

// serveForgetful runs a host whose queues lose all messages for which loses returns true.
func (w *world) serveForgetful(loses func(host.Message) bool, edit ...func(*node.Options)) (p *process, events, tasks *forgetful) {
	w.t.Helper()
	over := func(q host.Queue) *forgetful {
		return &forgetful{Queue: q, loses: loses, leased: map[string]host.Delivery{}}
	}
	p = w.serve(append(edit, func(o *node.Options) {
		events, tasks = over(o.Events), over(o.Tasks)
		o.Events, o.Tasks = events, tasks
	})...)
	return p, events, tasks
}

// first selects only the first message that the given function selects.
func first(is func(host.Message) bool) func(host.Message) bool {
	var found atomic.Bool
	return func(m host.Message) bool { return is(m) && !found.Swap(true) }
}

// TestLostMessages proves that an attempt whose messages are gone still ends, because of the check that a server makes
// every minute, and that each of its tasks runs once, except a task that was running.
func TestLostMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		runs int
	}{
		"work":             {"+a: {work>: a}\n+b: {work>: b}\n", 2},
		"nothing but echo": {"+a: {echo>: a}\n", 0},
		"deadlines":        {"zerodag: 1\nsla:\n  duration: 03:00:00\n  +late: {echo>: late}\n+a:\n  _timeout: 2h\n  work>: a\n", 1},
		"slots":            {"zerodag: 1\n+a:\n  _pool: {name: p, limit: 1}\n  work>: a\n+b: {work>: b}\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serveParts(node.New(w.options()), node.Parts{})
				a := p.run(c.text)
				w.lose(a)
				p = w.serve()
				want(t, "status", p.end(a), "success")
				want(t, "runs", len(w.ran()), c.runs)
				if took := p.row(a).FinishedAt.Sub(a.CreatedAt); took > 10*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestLostSends checks the same for messages that an attempt sends while it runs.
func TestLostSends(t *testing.T) {
	t.Parallel()
	const text = "zerodag: 1\n+a:\n  _parallel: true\n  +w: {work>: a}\n  +x: {work>: a}\n  +y:\n    _pool: {name: p, limit: 1}\n    work>: a\n  +z:\n    _pool: {name: p, limit: 1}\n    work>: a\n+b: {work>: b}\n"
	for n := range 7 {
		t.Run(fmt.Sprint("number ", n), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(time.Second))
				var sent atomic.Int64
				p, events, tasks := w.serveForgetful(func(host.Message) bool { return sent.Add(1) == int64(n+1) })
				a := p.run(text)
				want(t, "status", p.end(a), "success")
				want(t, "runs", len(w.ran()), 5)
				want(t, "lost", events.lost+tasks.lost, 1)
				if took := p.row(a).FinishedAt.Sub(a.CreatedAt); took > 10*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestLostTimer proves that a run that waits for its time begins at that time although its message is gone.
func TestLostTimer(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"poll":        "+a: {work>: poll}\n",
		"group retry": "+g:\n  _retry: {limit: 1, interval: 3600}\n  +a: {work>: fail}\n",
		"beside work": "_parallel: true\n+long: {work>: long}\n+a: {work>: poll}\n",
		"time limit":  "zerodag: 1\n+g:\n  _timeout: 1h\n  +a: {work>: long}\n  _ignore_error: true\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				var times []time.Duration
				began := time.Now()
				note := func(_ context.Context, o *operators.Task) {
					times = append(times, time.Since(began).Round(10*time.Minute))
				}
				w.on("poll", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					if note(ctx, o); o.RetryCount > 0 {
						return operators.Result{}, nil
					}
					return operators.Result{}, &operators.Later{After: time.Hour}
				})
				w.on("fail", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					if note(ctx, o); len(times) > 1 {
						return operators.Result{}, nil
					}
					return operators.Result{}, operators.Failf("no")
				})
				w.on("long", lasting(3*time.Hour))
				p, _, tasks := w.serveForgetful(first(func(m host.Message) bool { return m.Relative }))
				a := p.run(text)
				want(t, "status", p.end(a), "success")
				want(t, "lost", tasks.lost, 1)
				took := p.row(a).FinishedAt.Sub(a.CreatedAt).Round(10 * time.Minute)
				switch name {
				case "time limit":
					want(t, "time", took, time.Hour)
				case "beside work":
					want(t, "time", took, 3*time.Hour)
					fallthrough
				default:
					want(t, "runs", fmt.Sprint(times), fmt.Sprint([]time.Duration{0, time.Hour}))
				}
			})
		})
	}
}

// TestLostUnderWay proves that a run whose message is gone is not disturbed if its process continues, and is otherwise
// stopped before it runs again.
func TestLostUnderWay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("a", d.busy(4*time.Minute))
		p, events, tasks := w.serveForgetful(nil, func(o *node.Options) { o.Limits = host.Limits{Lease: time.Minute, Heartbeat: 20 * time.Second} })
		a := p.run("_parallel: true\n+a: {work>: a}\n+b: {work>: b}\n")
		pass(3 * time.Second)
		n, err := tasks.loseLeased(t.Context())
		w.must(err)
		want(t, "lost", n, 1)
		want(t, "lost events", events.lost, 0)
		want(t, "status", p.end(a), "success")
		want(t, "at once", d.most, 1)
		want(t, "runs", len(w.ran()), 3)
	})
}

// TestReviveTogether proves that a revival by hand restores lost messages at once, without waiting for the next
// minute's check, and sends nothing to an attempt that lost none.
func TestReviveTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(20*time.Minute))
		p := w.serve()
		a := p.run("+a: {work>: a}\n+b: {work>: b}\n")
		pass(time.Second)
		for range 5 {
			r, err := p.ReviveAll(t.Context(), 0)
			w.must(err)
			if !r.Together || r.Attempts != 1 || r.Wait != 5*time.Minute {
				t.Errorf("revived %+v", r)
			}
			pass(time.Minute)
		}
		want(t, "status", p.end(a), "success")
		want(t, "runs", len(w.ran()), 2)
		if n := len(w.writes("append")); n != 2 {
			t.Errorf("%d entries, want 2: %v", n, w.writes("append"))
		}
	})
}
