package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// connection is a server's connection to the queue of tasks.
type connection struct {
	*seenQueue
	fails func() error
	// stays is added to each lease: while all servers are cut off from PostgreSQL, no server judges leases.
	stays time.Duration
}

func (c connection) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	for {
		if err := c.fails(); err != nil {
			return nil, err
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		list, err := c.seenQueue.Receive(soon, n, lease+c.stays)
		cancel()
		if len(list) > 0 || ctx.Err() != nil {
			return list, err
		}
	}
}

func (c connection) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	if err := c.fails(); err != nil {
		return err
	}
	return c.seenQueue.Extend(ctx, d, lease+c.stays)
}

func (c connection) Begin(ctx context.Context, d host.Delivery, name string, known host.Entry) (bool, error) {
	if err := c.fails(); err != nil {
		return false, err
	}
	return c.seenQueue.Begin(ctx, d, name, known)
}

func (c connection) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	if err := c.fails(); err != nil {
		return err
	}
	return c.seenQueue.Release(ctx, d, delay)
}

// span is the duration of one run.
type span struct{ begin, end time.Duration }

// TestSelfFencing proves what happens to a run whose lease cannot be extended: with agent.self-fencing it ends before
// another server can begin the task, or when the whole database is away; a short interruption and a full database end
// nothing. Without the setting it continues alongside its second run. Its result counts once in every case.
func TestSelfFencing(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("no route: %w", host.ErrUnavailable)
	full := fmt.Errorf("%w: %w", host.ErrUnavailable, syscall.ENOSPC)
	const begin = 65 * time.Second // of the outage
	for name, c := range map[string]struct {
		fencing bool
		err     error
		lasts   time.Duration
		others  bool // other servers have the same error
		ended   int  // runs that were ended
		runs    int
		beside  bool // two runs at the same time
	}{
		"one server is cut off":                      {true, away, 10 * time.Minute, false, 1, 2, false},
		"one server is cut off, without the setting": {false, away, 10 * time.Minute, false, 0, 2, true},
		"for a short time":                           {true, away, 10 * time.Second, false, 0, 1, false},
		"the database is away":                       {true, away, 2 * time.Minute, true, 1, 2, false},
		"the database is full":                       {true, full, 2 * time.Minute, true, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				began := time.Now()
				var mu sync.Mutex
				var spans []span
				w.on("long", func(ctx context.Context, task *operators.Task) (operators.Result, error) {
					from := time.Since(began)
					result, err := lasting(5*time.Minute)(ctx, task)
					mu.Lock()
					defer mu.Unlock()
					spans = append(spans, span{from, time.Since(began)})
					return result, err
				})
				failing := func() error {
					if at := time.Since(began); at < begin || at > begin+c.lasts {
						return nil
					}
					return c.err
				}
				serve := func(parts node.Parts, fails func() error, crashes int) *process {
					o := w.options()
					shared(&o)
					o.Limits.Lease, o.Limits.Heartbeat, o.Limits.StoreRetry, o.Limits.SelfFencing, o.Limits.Crashes = 30*time.Second, 10*time.Second, 2*time.Second, c.fencing, crashes
					tasks := connection{seenQueue: o.Tasks.(*seenQueue), fails: fails}
					if c.others {
						tasks.stays = time.Hour
					}
					o.Tasks = tasks
					return w.serveParts(node.New(o), parts)
				}
				p := serve(node.Parts{Executor: true, Agent: true}, failing, 1) // a run that was ended does not count as crashed
				a := p.run("+a:\n  work>: long\n")
				pass(time.Second)
				if c.others {
					serve(node.Parts{Agent: true}, failing, 1)
				} else {
					serve(node.Parts{Agent: true}, func() error { return nil }, -1) // it cannot know how the other one ended
				}
				want(t, "status", p.end(a), "success")
				pass(time.Hour)
				mu.Lock()
				defer mu.Unlock()
				slices.SortFunc(spans, func(a, b span) int { return int(a.begin - b.begin) })
				want(t, "runs", len(spans), c.runs)
				want(t, "runs that were ended", strings.Count(w.said(), "a run was ended because its lease"), c.ended)
				if beside := len(spans) > 1 && spans[1].begin < spans[0].end; beside != c.beside {
					t.Errorf("two runs at the same time: %t, want %t: %v", beside, c.beside, spans)
				}
				if c.ended > 0 && spans[0].end > begin+26*time.Second {
					t.Errorf("the run was ended at %v, want before the end of the lease", spans[0].end)
				}
				if t.Failed() {
					t.Log(w.said())
				}
			})
		})
	}
}
