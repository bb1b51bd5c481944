package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// standard is a queue that does not recognize IDs, like a standard SQS queue.
type standard struct {
	host.Queue
	mu   sync.Mutex
	n    int
	ids  map[string]string // by receipt
	sent []string
}

func (q *standard) Traits() host.Traits { return host.Traits{StaleDeletes: true} }

func (q *standard) Send(ctx context.Context, list ...host.Message) error {
	out := make([]host.Message, len(list))
	q.mu.Lock()
	for i, m := range list {
		q.n++
		q.sent = append(q.sent, m.ID)
		out[i] = m
		out[i].ID = fmt.Sprintf("%s!%d", m.ID, q.n)
	}
	q.mu.Unlock()
	return q.Queue.Send(ctx, out...)
}

func (q *standard) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	list, err := q.Queue.Receive(ctx, n, lease)
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range list {
		q.ids[list[i].Receipt+list[i].ID] = list[i].ID
		full := list[i].ID
		list[i].ID, _, _ = strings.Cut(full, "!")
		q.ids[list[i].Receipt] = full
	}
	return list, err
}

func (q *standard) full(d host.Delivery) host.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	d.ID = q.ids[d.Receipt]
	return d
}

func (q *standard) Extend(ctx context.Context, d host.Delivery, l time.Duration) error {
	return q.Queue.Extend(ctx, q.full(d), l)
}
func (q *standard) Delete(ctx context.Context, d host.Delivery) error {
	return q.Queue.Delete(ctx, q.full(d))
}
func (q *standard) Release(ctx context.Context, d host.Delivery, l time.Duration) error {
	return q.Queue.Release(ctx, q.full(d), l)
}

// TestSecondLookLate proves that a check of fenced runs that is received twice, the second time while the runs that the
// first took over are in progress, sends nothing again.
func TestSecondLookLate(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"control": false, "second look 10 min late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(14*time.Minute))
				tasks := &standard{Queue: w.db.Queue("tasks"), ids: map[string]string{}}
				opt := func(o *node.Options) {
					o.Limits = host.Limits{ProcessTime: 15 * time.Minute, Lease: 30 * 24 * time.Hour, ChainTime: time.Second}
					o.Tasks = tasks
				}
				p := w.serve(opt)
				a := p.run("+a: {work>: a}\n")
				pass(time.Minute)
				p.crash() // its message is lost
				p = w.serve(opt)
				_, err := p.ReviveAll(t.Context(), 0)
				w.must(err)
				pass(25 * time.Minute) // taken over at 20 min, running for five
				want(t, "runs", len(w.ran()), 2)
				if late { // the other copy of the check, identical to the message that sentAgain sends
					var look string
					for _, id := range tasks.sent {
						if strings.HasSuffix(id, "-due") {
							look = id
						}
					}
					guard := "fence-" + strings.TrimSuffix(strings.TrimPrefix(strings.SplitN(look, "/", 2)[1], "again-"), "-due")
					then := events.Event{Kind: events.TakeOver, Guard: guard}
					w.must(tasks.Send(t.Context(), host.Message{ID: look, Share: "1", Body: events.EncodeTask(events.Task{Then: &then})}))
				}
				want(t, "status", p.end(a), "success")
				want(t, "runs", len(w.ran()), 2)
			})
		})
	}
}

// TestRevivedTwice proves that a waiting task runs once if the message of a revival is handled twice, for example
// because its receiver was cut off after it had sent the wakes.
func TestRevivedTwice(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int{"no revival": 0, "once": 1, "twice": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("poll", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					if o.RetryCount > 0 {
						return lasting(9*time.Minute)(ctx, o)
					}
					return operators.Result{}, &operators.Later{After: 10 * time.Minute}
				})
				tasks := &standard{Queue: w.db.Queue("tasks"), ids: map[string]string{}}
				p := w.serve(func(o *node.Options) {
					o.Limits = host.Limits{ProcessTime: 15 * time.Minute, RunTime: 10 * time.Minute, Lease: time.Minute, Heartbeat: 20 * time.Second, ChainTime: time.Second}
					o.Tasks = tasks
				})
				a := p.run("+a: {work>: poll}\n")
				pass(time.Minute)
				m := host.ReviveMessage(a.ID, "1")
				for n := range times {
					q := &deletes{}
					p.TakeEvents(t.Context(), q, []host.Delivery{{Message: m, Count: n + 1}})
				}
				want(t, "status", p.end(a), "success")
				want(t, "runs", len(w.ran()), 2)
			})
		})
	}
}

// TestRevivedLoop proves that a revival does not hold up a healthy attempt that generates a large loop in portions.
func TestRevivedLoop(t *testing.T) {
	t.Parallel()
	for name, revived := range map[string]bool{"control": false, "revived": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", lasting(time.Second))
				p := w.serve(func(o *node.Options) {
					o.Limits = host.Limits{ProcessTime: 15 * time.Minute, Pack: 25, Tasks: 50_000}
				})
				a := p.run("+l:\n  for_range>: {from: 0, to: 8000, step: 1}\n  _parallel: true\n  _do:\n    work>: a\n")
				if revived {
					_, err := p.ReviveAll(t.Context(), 0)
					w.must(err)
				}
				want(t, "status", p.end(a), "success")
				took := p.row(a).FinishedAt.Sub(a.CreatedAt)
				if took > 10*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// away is a queue that accepts no messages for a while.
type away struct {
	*standard
	until time.Time
}

func (q *away) Send(ctx context.Context, list ...host.Message) error {
	if time.Now().Before(q.until) {
		return host.ErrUnavailable
	}
	return q.standard.Send(ctx, list...)
}

// TestSentOnAfterItsLease proves that a task runs exactly once more if, after a crash, the receivers of its message
// could not send it on until long after their leases ended, so that many of them send it.
func TestSentOnAfterItsLease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(8*time.Minute))
		tasks := &away{standard: &standard{Queue: w.db.Queue("tasks"), ids: map[string]string{}}}
		serve := func() *process {
			return w.serve(func(o *node.Options) {
				o.Limits = host.Limits{ProcessTime: 15 * time.Minute, Lease: time.Minute, Heartbeat: 20 * time.Second, ChainTime: time.Second}
				o.Tasks = tasks
			})
		}
		p := serve()
		a := p.run("+a: {work>: a}\n")
		pass(10 * time.Second)
		tasks.until = time.Now().Add(10 * time.Minute)
		p.crash()
		p = serve()
		serve()
		before := len(tasks.sent)
		pass(11 * time.Minute)
		if n := len(tasks.sent) - before; n < 3 {
			t.Errorf("the message was sent on %d times", n)
		}
		want(t, "status", p.end(a), "success")
		want(t, "runs", len(w.ran()), 2)
	})
}
