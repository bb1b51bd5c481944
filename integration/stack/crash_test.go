package stack_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
)

// leases holds how long an untouched message stays invisible, in seconds: on LocalStack, a queue's visibility timeout
// may be shorter than its function's time limit.
type leases struct{ events, tasks int }

var (
	// crashLeases let the messages of a dead process reappear soon.
	crashLeases = leases{events: 10, tasks: 5}
	// calmLeases let the messages of a process that could not be started, as happens on a busy machine, reappear, and
	// are long enough for each started process to take its own lease.
	calmLeases = leases{events: 60, tasks: 30}
)

// lostStart is longer than an attempt takes to begin if its first message was lost with the API's process: a tick
// searches for attempts that are two minutes old.
const lostStart = 5 * time.Minute

// TestCrashes checks that nothing is lost and nothing counted twice while the functions' processes are killed at random
// moments, messages arrive twice or while another process is working on them, and AWS calls are throttled, fail, or are
// carried out but return an error. ZERODAG_KILLS is the number of kills (20); ZERODAG_SEED reproduces the faults of an
// earlier run.
//
// It runs alone: it kills processes that other tests of the stack need.
func TestCrashes(t *testing.T) {
	s, seed := stack.Alone(t), seed(t)
	kills := number(t, "ZERODAG_KILLS", 20)
	crashLeases.set(t, s)
	p := attached(t, s, nil)
	l := newLoad(t, s, seed)
	p.Trouble(seed, proxy.Faults{Throttle: 0.02, Before: 0.01, After: 0.02, Duplicate: 0.05, Redeliver: 0.02})
	stop := l.begin(12)
	killed := killer{stage: s.Stage, random: rand.New(rand.NewPCG(seed, 1))}
	for range kills {
		killed.one(t)
	}
	stop()
	p.Trouble(seed, proxy.Faults{})
	l.drain(lostStart)
	l.check(p.Sent())
	t.Logf("seed %d: %d kills (%s), %d attempts, %d of them killed, %d runs of tasks, %v", seed, kills, killed.String(), len(l.started), len(l.killed), l.runs(), met(t, p))
}

// TestFaults checks that without a crash no task runs twice, whatever DynamoDB answers.
func TestFaults(t *testing.T) {
	s, seed := stack.Alone(t), seed(t)
	calmLeases.set(t, s)
	p := attached(t, s, nil)
	l := newLoad(t, s, seed)
	p.Trouble(seed, proxy.Faults{Throttle: 0.05, Before: 0.03, After: 0.05, Services: []string{"dynamodb"}})
	stop := l.begin(8)
	l.atLeast(number(t, "ZERODAG_ATTEMPTS", 20))
	stop()
	p.Trouble(seed, proxy.Faults{})
	l.drain(3 * time.Minute)
	l.check(nil)
	t.Logf("seed %d: %d attempts, %d runs of tasks, %v", seed, len(l.started), l.runs(), met(t, p))
}

// met returns the calls that passed through a proxy, and fails if they are too few to have met faults, because the test
// would prove nothing.
func met(t *testing.T, p *proxy.Proxy) proxy.Bill {
	t.Helper()
	b := p.Take()
	if n := b.Of("dynamodb"); n < 500 {
		t.Errorf("only %d DynamoDB calls could fail", n)
	}
	return b
}

func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(number(t, "ZERODAG_SEED", int(time.Now().UnixNano()%1e6)))
	t.Logf("ZERODAG_SEED=%d", n)
	return n
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// attached puts a proxy between the functions and LocalStack until the test ends, with some of the functions' variables
// replaced.
func attached(t *testing.T, s *stack.Stack, variables map[string]string) *proxy.Proxy {
	t.Helper()
	p := proxy.Start(t, "")
	detach, err := p.Attach(t.Context(), s.Stage, variables)
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, detach)
	return p
}

// set applies the leases to the queues until the test ends.
func (x leases) set(t *testing.T, s *stack.Stack) {
	t.Helper()
	events, tasks, err := s.Queues(t.Context(), localstack.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	for q, lease := range map[*stack.Queue]int{events: x.events, tasks: x.tasks} {
		before, err := q.Visibility(t.Context(), lease)
		if err != nil {
			t.Fatal(err)
		}
		localstack.Cleanup(t, func(ctx context.Context) error {
			_, err := q.Visibility(ctx, before)
			return err
		})
	}
}

// told returns the variables through which infra passes the leases to the functions.
func (x leases) told() map[string]string {
	return map[string]string{"ZERODAG_EVENT_VISIBILITY": fmt.Sprint(x.events, "s"), "ZERODAG_TASK_VISIBILITY": fmt.Sprint(x.tasks, "s")}
}

// path formats the path of an API call.
func path(format string, args ...any) string { return fmt.Sprintf(format, args...) }
