package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// agent receives tasks and runs them, as many at a time as there are slots, until
// accepting ends; work that goes on then is waited for, unless ctx ends too.
func (h *Host) agent(ctx, accepting context.Context) {
	for accepting.Err() == nil {
		free := h.acquire(accepting, maxReceive)
		if free == 0 {
			return
		}
		list, err := h.Tasks.Receive(accepting, free, h.Limits.Lease)
		if err != nil && accepting.Err() == nil {
			h.trouble(accepting, "receive tasks", err)
		}
		h.release(free - len(list))
		for _, d := range list {
			h.working.Add(1)
			go func() {
				defer h.working.Done()
				defer h.release(1)
				h.handle(ctx, h.Tasks, d, h.runTasks)
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

func (h *Host) release(n int) {
	for range n {
		if h.slots != nil {
			<-h.slots
		}
	}
}

// runTasks handles a message of the queue "tasks".
func (h *Host) runTasks(ctx context.Context, l *live, guard string, d Delivery) error {
	m, err := events.DecodeTask(d.Body)
	if err != nil {
		return err
	}
	if m.Then != nil {
		_, err := h.apply(ctx, l, guard, 0, m.Then.Engine(guard))
		return err
	}
	runs, err := h.claim(ctx, l, guard, m.Runs, d)
	if err != nil || len(runs) == 0 {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer h.heartbeat(ctx, d, stop)()
	if len(runs) == 1 {
		return h.work(ctx, l, guard, runs[0], 1)
	}
	failed := make(chan error)
	for _, run := range runs {
		go func() { failed <- h.work(ctx, l, guard, run, 0) }()
	}
	for range runs {
		err = errors.Join(err, <-failed)
	}
	return err
}

// claim says which of a message's tasks are to be run now, under this message. Waiting
// ones are woken; on a second delivery the earlier holder's are taken over.
func (h *Host) claim(ctx context.Context, l *live, guard string, asked []engine.Run, d Delivery) ([]engine.Run, error) {
	again := d.Count > 1
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || again {
		if err := h.load(ctx, l); err != nil {
			return nil, err
		}
	}
	if again {
		for _, e := range l.state.Outstanding(guard) { // what an earlier holder got to
			if x, ok := e.(engine.Dispatch); ok && !x.At.After(l.at) {
				asked = append(asked, x.Run)
			}
		}
	}
	var happened []engine.Event
	var runs []engine.Run
	for _, r := range asked {
		t := l.state.Task(r.Task)
		switch {
		case t == nil || t.Dispatch != r.Dispatch || t.Group || slices.Contains(runs, r):
		case t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting:
			happened = append(happened, engine.Due{By: engine.By{Guard: guard}, Run: r})
			runs = append(runs, r)
		case t.State == engine.Running && again:
			happened = append(happened, engine.Lost{By: engine.By{Guard: guard}, Run: r, Blameless: d.Restarted})
		case t.State == engine.Running:
			runs = append(runs, r)
		}
	}
	if len(happened) > 0 || again {
		if err := h.decide(ctx, l, guard, happened); err != nil {
			return nil, err
		}
		taken, err := h.perform(ctx, l, guard, len(l.state.Tasks()))
		if err != nil {
			return nil, err
		}
		runs = append(runs, taken...)
	}
	return slices.DeleteFunc(runs, func(r engine.Run) bool {
		t := l.state.Task(r.Task)
		return l.state.Ended() || t.State != engine.Running || t.Dispatch != r.Dispatch
	}), nil
}

// work runs a task and, with keep 1, whatever single task comes after it.
func (h *Host) work(ctx context.Context, l *live, guard string, run engine.Run, keep int) error {
	for {
		l.mu.Lock()
		if l.state == nil {
			if err := h.load(ctx, l); err != nil {
				l.mu.Unlock()
				return err
			}
		}
		t := l.state.Task(run.Task)
		if t.State != engine.Running || t.Dispatch != run.Dispatch {
			l.mu.Unlock()
			return nil // somebody else took it over
		}
		job := h.job(l, run, h.clock(l))
		runCtx, stop := context.WithCancel(ctx)
		if !job.Cancel {
			l.stops[run] = stop
		}
		l.mu.Unlock()
		outcome := h.execute(runCtx, l, job)
		stop()
		l.mu.Lock()
		delete(l.stops, run)
		l.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("run task %s of attempt %d: %w", job.TaskName, l.id, err) // it was cut off: no result
		}
		if h.closing.Load() {
			keep = 0
		}
		next, err := h.apply(ctx, l, guard, keep, result(engine.By{Guard: guard}, run, outcome))
		if err != nil || len(next) == 0 {
			return err
		}
		run = next[0]
	}
}

// heartbeat extends the lease until the returned function is called. A lease that is lost
// stops the work: somebody else has it.
func (h *Host) heartbeat(ctx context.Context, d Delivery, lost func()) func() {
	var timer *time.Timer
	timer = time.AfterFunc(h.Limits.Heartbeat, func() {
		err := h.Tasks.Extend(ctx, d, h.Limits.Lease)
		if errors.Is(err, ErrLeaseLost) {
			h.Logger.Warn("lease lost: the task is run elsewhere", "message", d.ID)
			lost()
			return
		}
		if ctx.Err() == nil {
			timer.Reset(h.Limits.Heartbeat)
		}
	})
	return func() { timer.Stop() }
}
