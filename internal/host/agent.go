package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// agent receives tasks and runs them, as many at a time as there are slots, until
// accepting ends; work that goes on then is waited for, unless ctx ends too.
func (h *Host) agent(ctx, accepting context.Context) {
	for accepting.Err() == nil {
		slots := h.acquire(accepting, maxReceive)
		if slots == 0 {
			return
		}
		list, err := h.Tasks.Receive(accepting, slots, h.Limits.Lease)
		if err != nil && accepting.Err() == nil {
			h.trouble(accepting, "receive tasks", err)
		}
		h.free(slots - len(list))
		for _, d := range list {
			h.working.Add(1)
			go func() {
				defer h.working.Done()
				defer h.free(1)
				h.TakeTask(ctx, h.Tasks, d)
			}()
		}
	}
}

// maxReceive is how many messages are asked for at once.
const maxReceive = 64

// acquire takes up to n slots, at least one; 0 when ctx ended.
func (h *Host) acquire(ctx context.Context, n int) int {
	if h.slots == nil {
		return n
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for got := 1; got < n; got++ {
		select {
		case h.slots <- struct{}{}:
		default:
			return got
		}
	}
	return n
}

func (h *Host) free(n int) {
	for range n {
		if h.slots != nil {
			<-h.slots
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
