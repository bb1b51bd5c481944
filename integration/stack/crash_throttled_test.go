package stack_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
)

// throttledLeases are short enough to wait for, and the lease of tasks is far longer than a task's own lease of five
// seconds: otherwise a receiver that died with a message could not be distinguished from one that never began.
var throttledLeases = leases{events: 10, tasks: 20}

// Shares of the receives that are dropped. The events of an attempt wait for each other, so each dropped batch of
// events delays all its attempts.
const (
	droppedTasks  = 0.3
	droppedEvents = 0.1
)

// freshCalls is how many calls of functions run at once in a new account, usualCalls in others.
const (
	freshCalls = 10
	usualCalls = 1000
)

// fresh makes the account behave like a new one until the test ends.
func fresh(t *testing.T) {
	t.Helper()
	if err := proxy.Concurrency(t.Context(), freshCalls); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error { return proxy.Concurrency(ctx, usualCalls) })
}

// TestCrashesThrottled checks that nothing is lost or counted twice in an account where ten functions run at once,
// while processes are killed at random moments and receives are dropped, like batches that Lambda gives up on; and that
// no task counts as lost because no receiver had begun it. ZERODAG_KILLS is how many times a process is killed (40).
func TestCrashesThrottled(t *testing.T) {
	s, seed := stack.Alone(t), seed(t)
	kills := number(t, "ZERODAG_KILLS", 40)
	throttledLeases.set(t, s)
	p := attached(t, s, throttledLeases.told())
	fresh(t)
	l := newLoad(t, s, seed)
	l.patience = 30 * time.Second // otherwise attempts pile up behind dropped messages
	p.Trouble(seed, proxy.Faults{Throttle: 0.02})
	drops := dropping(t, s, seed)
	stop := l.begin(20)
	killed := killer{stage: s.Stage, random: rand.New(rand.NewPCG(seed, 1))}
	for range kills {
		killed.one(t)
	}
	until(t, 3*time.Minute, "receives of both queues have come to nothing", func() bool {
		n := drops.count(t)
		return n.tasks >= kills/2 && n.events > 0
	})
	stop()
	dropped := drops.end(t)
	p.Trouble(seed, proxy.Faults{})
	l.drain(lostStart)
	l.check(p.Sent())
	blame := l.blame()
	t.Logf("seed %d: %d kills (%s), %d receives of tasks and %d of events dropped, %d attempts, %d of them killed, %d runs of tasks, %+v, %v", seed, kills, killed.String(),
		dropped.tasks, dropped.events, len(l.started), len(l.killed), l.runs(), blame, met(t, p))
	// Several drops of one message count as one, and work that a killed agent had begun is blamed.
	if blame.blameless < dropped.tasks/10 {
		t.Errorf("%d receives came to nothing, and only %d times a task was taken over without blame", dropped.tasks, blame.blameless)
	}
	// A kill may hit an agent between its claim and the first request of its tasks, of which there are at most four.
	if blame.unexplained > 4*killed.of("agent") {
		t.Errorf("tasks were taken for lost %d times that had not run, more than %d killed agents explain", blame.unexplained, killed.of("agent"))
	}
}

// drops holds the dropped receives of both queues.
type drops struct{ tasks, events proxy.Drops }

// dropping drops receives of both queues until it is ended.
func dropping(t *testing.T, s *stack.Stack, seed uint64) drops {
	t.Helper()
	events, tasks, err := s.Queues(t.Context(), localstack.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	drop := func(q *stack.Queue, share float64) proxy.Drops {
		d, err := proxy.DropReceives(t.Context(), q.URL[strings.LastIndexByte(q.URL, '/')+1:], seed, share)
		if err != nil {
			t.Fatal(err)
		}
		localstack.Cleanup(t, func(ctx context.Context) error {
			d.End(ctx) // an error means that the test has ended them
			return nil
		})
		return d
	}
	return drops{drop(tasks, droppedTasks), drop(events, droppedEvents)}
}

// count returns how many receives of each queue were dropped so far; end ends the drops and returns the final numbers.
func (d drops) count(t *testing.T) leases { return d.ask(t, proxy.Drops.Count) }
func (d drops) end(t *testing.T) leases   { return d.ask(t, proxy.Drops.End) }

func (d drops) ask(t *testing.T, ask func(proxy.Drops, context.Context) (int, error)) leases {
	t.Helper()
	events, err1 := ask(d.events, t.Context())
	tasks, err2 := ask(d.tasks, t.Context())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return leases{events: events, tasks: tasks}
}

// blame is how many times tasks were considered lost.
type blame struct {
	blamed    int // as if their receiver had died
	blameless int // because no receiver had begun them
	// unexplained counts the blamed losses that no run of the task explains: of the runs that began, the last was not
	// lost if the task succeeded.
	unexplained int
}

// blame finds out which tasks were blamed, and checks whether one failed because of that although it had never run.
func (l *load) blame() blame {
	l.t.Helper()
	var b blame
	for _, id := range l.started {
		h := l.history(id)
		for task, name := range h.names {
			key, there := h.key(id, task)
			if !there {
				continue
			}
			l.works.mu.Lock()
			begun, ended := len(l.works.begun[key]), len(l.works.ended[key])
			l.works.mu.Unlock()
			blamed := h.lost[task] - h.blameless[task]
			b.blamed += blamed
			b.blameless += h.blameless[task]
			b.unexplained += max(0, blamed+min(ended, 1)-begun)
			if strings.Contains(h.fail[task], "lost three times") && begun == 0 {
				l.t.Errorf("attempt %s: task %s failed for being lost and had never run", id, name)
			}
		}
	}
	return b
}
