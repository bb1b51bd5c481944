package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// Parts selects the loops that Run runs in this process.
type Parts struct {
	Executor, Scheduler, Agent bool
	Executors                  int // events handled concurrently: 16
}

// executors exceeds the number of cores: executors mostly wait for the disk, and writes that wait together are written
// together.
const executors = 16

// Run runs the loops until accepting ends, then waits for the running tasks; when ctx ends, they are cut off and run
// again after the next start.
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
		loops.Go(func() { n.releaser(accepting) })
	}
	if p.Agent {
		loops.Go(func() { n.agent(ctx, accepting) })
		if n.shared {
			watched := n.WatchKills(ctx, killLook)
			defer watched()
		}
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
	n.AwaitBackground(context.WithoutCancel(ctx))
}

// eventLease is long enough for a step and its effects, no matter how many there are.
const eventLease = time.Minute

// executor receives attempt events until accepting ends. If other processes share the attempts, its leases are no
// longer than task leases.
func (n *Node) executor(ctx, accepting context.Context) {
	lease := eventLease
	if n.shared {
		lease = min(lease, n.limits.Lease)
	}
	for accepting.Err() == nil {
		list, err := n.events.Receive(accepting, 1, lease)
		if err != nil && accepting.Err() == nil {
			n.retry.Cool(accepting, "receive events", err)
		}
		for _, d := range list {
			n.worker.TakeEvents(ctx, n.events, []host.Delivery{d})
		}
	}
}

// agent receives tasks and runs them until accepting ends; then it waits for unfinished work, unless ctx also ends. If
// the number of running tasks is limited, it has that many workers, which themselves run the tasks that they receive: a
// handover would take much of a short command's time.
func (n *Node) agent(ctx, accepting context.Context) {
	if n.limits.Threads <= 0 {
		n.receive(accepting, maxReceive, func(d host.Delivery) {
			n.working.Go(func() { n.worker.TakeTask(ctx, n.tasks, d) })
		})
		return
	}
	var workers sync.WaitGroup
	for range n.limits.Threads {
		workers.Go(func() {
			n.receive(accepting, 1, func(d host.Delivery) { n.worker.TakeTask(ctx, n.tasks, d) })
		})
	}
	workers.Wait()
}

// maxReceive is how many messages are requested at once if any number of tasks may run.
const maxReceive = 64

// receive hands messages of the queue "tasks" to do, up to most at a time, until accepting ends.
func (n *Node) receive(accepting context.Context, most int, do func(host.Delivery)) {
	for accepting.Err() == nil {
		list, err := n.tasks.Receive(accepting, most, n.limits.Lease)
		if err != nil && accepting.Err() == nil {
			n.retry.Cool(accepting, "receive tasks", err)
		}
		for _, d := range list {
			do(d)
		}
	}
}

// reaper ends attempts that live too long, begins waiting ones, and deletes old logs.
func (n *Node) reaper(ctx context.Context) {
	ticker := time.NewTicker(n.limits.ReapInterval)
	defer ticker.Stop()
	for {
		err := n.LookAfter(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, host.ErrUnavailable):
			n.retry.Unavailable("maintain attempts", err)
		default:
			n.retry.Failed()
			n.logger.Error("maintain attempts", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// killLook is the longest time between a kill and the stop of a run in another process; it is longer if one check takes
// more than a tenth of it.
const killLook = time.Second

// WatchKills stops this process's runs whose attempts were killed in others, or whose groups failed fast or took too
// long there, until the returned function is called: it checks at the given interval.
func (n *Node) WatchKills(ctx context.Context, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for wait := every; ; {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			began := time.Now()
			if err := n.worker.StopKilled(ctx); err != nil && ctx.Err() == nil {
				n.retry.Failed()
				n.logger.Warn("check for kills", "error", err)
			}
			wait = max(every, 10*time.Since(began))
		}
	}()
	return func() { cancel(); <-ended }
}

// dueAtOnce is how many due schedules are checked together.
const dueAtOnce = 200

// othersLook is how long a process waits before it reads schedules again, because others may have changed them.
const othersLook = 2 * time.Second

// scheduler fires schedules when they are due, until ctx ends.
func (n *Node) scheduler(ctx context.Context) {
	for ctx.Err() == nil {
		next, err := n.fireDue(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.retry.Cool(ctx, "fire schedules", err)
			}
			continue
		}
		if look := n.now().Add(othersLook); n.shared && (next.IsZero() || next.After(look)) {
			next = look
		}
		n.alarm.wait(ctx, next, n.now)
	}
}

// roomLook is the interval at which schedules that wait for room are checked.
const roomLook = 5 * time.Second

// releaser fires schedules that the limit of unfinished attempts has put off, once there is room, until ctx ends.
func (n *Node) releaser(ctx context.Context) {
	ticker := time.NewTicker(roomLook)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := n.FireHeld(ctx); err != nil && ctx.Err() == nil {
			n.retry.Cool(ctx, "fire schedules that were put off", err)
		}
	}
}

// fireDue fires the schedules whose time has come, and returns when to check again; zero if no schedule is upcoming.
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
