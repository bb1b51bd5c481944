package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// agent receives tasks and runs them until accepting ends; work that goes on then is waited for,
// unless ctx ends too. Where the tasks that run at a time are bounded there are as many workers, who
// run what they receive themselves: to hand a task over is a good part of what a short command costs.
func (h *Host) agent(ctx, accepting context.Context) {
	if h.Limits.Threads == 0 {
		h.receive(accepting, maxReceive, func(d Delivery) {
			h.working.Go(func() { h.TakeTask(ctx, h.Tasks, d) })
		})
		return
	}
	var workers sync.WaitGroup
	for range h.Limits.Threads {
		workers.Go(func() {
			h.receive(accepting, 1, func(d Delivery) { h.TakeTask(ctx, h.Tasks, d) })
		})
	}
	workers.Wait()
}

// maxReceive is how many messages are asked for at once where any number of tasks may run.
const maxReceive = 64

// receive hands messages of the queue "tasks" to do, up to n at a time, until accepting ends.
func (h *Host) receive(accepting context.Context, n int, do func(Delivery)) {
	for accepting.Err() == nil {
		list, err := h.Tasks.Receive(accepting, n, h.Limits.Lease)
		if err != nil && accepting.Err() == nil {
			h.trouble(accepting, "receive tasks", err)
		}
		for _, d := range list {
			do(d)
		}
	}
}

// heartbeat extends the lease until the returned function is called. A lease that is lost
// stops the work: somebody else has it. Nearly all tasks are over before the first beat, so there is
// a timer for it and no goroutine.
func (h *Host) heartbeat(ctx context.Context, d Delivery, lost func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.Mutex
	var timer *time.Timer
	beating.Lock()
	defer beating.Unlock()
	timer = time.AfterFunc(h.Limits.Heartbeat, func() {
		beating.Lock()
		defer beating.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := h.Tasks.Extend(ctx, d, h.Limits.Lease); errors.Is(err, ErrLeaseLost) {
			h.Logger.Warn("lease lost: the task is run elsewhere", "message", d.ID)
			lost()
			return
		}
		timer.Reset(h.Limits.Heartbeat)
	})
	return func() {
		cancel()
		timer.Stop()
		beating.Lock() // a beat under way is over
		defer beating.Unlock()
	}
}
