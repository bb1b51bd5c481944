package node

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// Parts says which loops Run runs in this process.
type Parts struct {
	Executor, Scheduler, Agent bool
	Executors                  int // events handled side by side: 16
}

// executors is more than there are cores: most of their time they wait for the disk, and
// what waits together is written together.
const executors = 16

// Run runs the loops until accepting ends, then waits for the tasks under way; when ctx
// ends they are cut off, and run again after the next start.
func (n *Node) Run(ctx, accepting context.Context, p Parts) {
	n.closing.Store(false)
	var loops sync.WaitGroup
	if p.Executor {
		for range cmp.Or(p.Executors, executors) {
			loops.Go(func() { n.executor(ctx, accepting) })
		}
		loops.Go(func() { n.reaper(accepting) })
	}
	if p.Scheduler {
		loops.Go(func() { n.scheduler(accepting) })
	}
	if p.Agent {
		loops.Go(func() { n.agent(ctx, accepting) })
	}
	<-accepting.Done()
	n.closing.Store(true)
	if n.stopping != nil {
		n.stopping()
	}
	if _, running := n.worker.Runs(); running > 0 {
		n.logger.Info(fmt.Sprintf("Waiting for completion of %d running tasks...", running))
	}
	loops.Wait()
	n.working.Wait()
	n.Wait()
}

// eventLease is long enough for a step and its effects, however many they are.
const eventLease = time.Minute

// executor receives events of attempts, until accepting ends.
func (n *Node) executor(ctx, accepting context.Context) {
	for accepting.Err() == nil {
		list, err := n.events.Receive(accepting, 1, eventLease)
		if err != nil && accepting.Err() == nil {
			n.retry.Cool(accepting, "receive events", err)
		}
		for _, d := range list {
			n.worker.TakeEvents(ctx, n.events, []host.Delivery{d})
		}
	}
}

// agent receives tasks and runs them, as many at a time as there are slots, until
// accepting ends; work that goes on then is waited for, unless ctx ends too.
func (n *Node) agent(ctx, accepting context.Context) {
	for accepting.Err() == nil {
		free := n.slots.acquire(accepting, maxReceive)
		if free == 0 {
			return
		}
		list, err := n.tasks.Receive(accepting, free, n.limits.Lease)
		if err != nil && accepting.Err() == nil {
			n.retry.Cool(accepting, "receive tasks", err)
		}
		n.slots.release(free - len(list))
		for _, d := range list {
			n.working.Add(1)
			go func() {
				defer n.working.Done()
				defer n.slots.release(1)
				n.worker.TakeTask(ctx, n.tasks, d)
			}()
		}
	}
}

// maxReceive is how many messages are asked for at once.
const maxReceive = 64

// slots are how many tasks may run at the same time; nil is no limit.
type slots chan struct{}

func newSlots(n int) slots {
	if n <= 0 {
		return nil
	}
	return make(slots, n)
}

// acquire takes up to n slots, at least one; 0 when ctx ended.
func (s slots) acquire(ctx context.Context, n int) int {
	if s == nil {
		return n
	}
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for got := 1; got < n; got++ {
		select {
		case s <- struct{}{}:
		default:
			return got
		}
	}
	return n
}

func (s slots) release(n int) {
	for range n {
		if s != nil {
			<-s
		}
	}
}

// reaper looks after attempts that live too long, those that wait, and old logs.
func (n *Node) reaper(ctx context.Context) {
	ticker := time.NewTicker(n.limits.ReapInterval)
	defer ticker.Stop()
	for {
		if err := n.LookAfter(ctx); err != nil && ctx.Err() == nil {
			n.retry.Failed()
			n.logger.Error("look after attempts", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// dueAtOnce is how many due schedules are looked at together.
const dueAtOnce = 200

// scheduler fires schedules at their time, until ctx ends.
func (n *Node) scheduler(ctx context.Context) {
	for ctx.Err() == nil {
		next, err := n.fireDue(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.retry.Cool(ctx, "fire schedules", err)
			}
			continue
		}
		n.alarm.wait(ctx, next, n.now)
	}
}

// fireDue fires the schedules whose time has come, and says when to look again; zero when no
// schedule is to come.
func (n *Node) fireDue(ctx context.Context) (next time.Time, err error) {
	list, err := n.Firings(ctx, time.Time{}, n.now(), dueAtOnce)
	if err != nil {
		return time.Time{}, err
	}
	now, due := n.now(), []catalogue.Firing{}
	for _, f := range list {
		switch {
		case !f.At.After(now):
			due = append(due, f)
		case next.IsZero() || f.At.Before(next):
			next = f.At
		}
	}
	switch {
	case len(due) > 0:
		return now, n.Fire(ctx, catalogue.Names(due), false)
	case !next.IsZero():
		return next, nil
	}
	return n.NextFiring(ctx)
}
