package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// runTasks handles a message of the queue "tasks".
func (h *Host) runTasks(ctx context.Context, l *live, guard string, d Delivery) error {
	m, err := events.DecodeTask(d.Body)
	if err != nil {
		return err
	}
	if m.Then != nil {
		a := acting(guard, m.Then.Engine(guard)...)
		a.sla = m.Then.Kind == events.SLADue
		return h.apply(ctx, l, a)
	}
	if h.Relay && d.Count > 1 {
		return h.relay(ctx, l, guard, m, d)
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	defer h.heartbeat(ctx, d, lost)()
	runs, err := h.claim(ctx, l, guard, m, d)
	if errors.Is(err, errEarly) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return h.putOff(ctx, l, guard, m.Runs)
	}
	if err != nil || len(runs) == 0 {
		return err
	}
	if len(runs) == 1 {
		return h.work(ctx, l, duty{guard: guard, keep: 1}, runs[0])
	}
	return h.workTogether(ctx, l, guard, runs, d)
}

// relay sends a message that came again on under a name of its own, for the first time: who
// had it before cannot delete that one. Then this one owes nothing more.
func (h *Host) relay(ctx context.Context, l *live, guard string, m events.Task, d Delivery) error {
	m.From = append(m.From, guard)
	next := Message{ID: messageID(l.id, guard+"~"+strconv.Itoa(d.Count)), Share: d.Share, Body: events.EncodeTask(m)}
	if err := h.Tasks.Send(ctx, next); err != nil {
		return fmt.Errorf("send message %s on: %w", d.ID, err)
	}
	return nil
}

// work runs a task and, if it may keep one, whatever single task comes after it.
func (h *Host) work(ctx context.Context, l *live, u duty, run engine.Run) error {
	began := h.Now()
	for {
		var outcome engine.Event
		err := h.insist(ctx, "run a task", func() (err error) {
			outcome, err = h.runOne(ctx, l, u.guard, run)
			return err
		})
		if err != nil || outcome == nil {
			return err
		}
		if most := h.Limits.ChainTime; h.closing.Load() || most > 0 && h.Now().Sub(began) >= most {
			u.keep = 0
		}
		next, err := h.conclude(ctx, l, u, outcome)
		if err != nil || len(next) == 0 {
			return err
		}
		run = next[0]
	}
}

// runOne runs a task and returns how it ended; nil when somebody else took it over.
func (h *Host) runOne(ctx context.Context, l *live, guard string, run engine.Run) (engine.Event, error) {
	runCtx, stop := h.limited(ctx)
	defer stop()
	j, err := h.begin(ctx, l, guard, run, stop)
	if err != nil || j == nil {
		return nil, err
	}
	prepared := h.prepare(runCtx, j)
	outcome, err := h.execute(runCtx, j)
	prepared()
	l.mu.Lock()
	delete(l.stops, run)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // it was cut off: no result
		return nil, fmt.Errorf("run task %s of attempt %d: %w", j.TaskName, l.id, err)
	}
	if late := (tooLong{}); outcome.Error != nil && errors.As(context.Cause(runCtx), &late) {
		outcome.Error = engine.ErrorObject(late)
	}
	return Result(engine.By{Guard: guard}, run, outcome), nil
}

// tooLong ends a run that takes all the time of whoever runs it.
type tooLong struct{ most time.Duration }

func (l tooLong) Error() string {
	return fmt.Sprintf("a run of a task may take %v at a time in this deployment: split the work, or let it poll", l.most)
}

// limited bounds a run: what could not end in time must not be lost with its process.
func (h *Host) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	most := h.Limits.RunTime
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, tooLong{most})
}

// begin prepares a run that a kill can stop; nil when the run is not the current one.
func (h *Host) begin(ctx context.Context, l *live, guard string, run engine.Run, stop context.CancelFunc) (*job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		if err := h.load(ctx, l, nil); err != nil {
			return nil, err
		}
	}
	if !current(l.state)(run) {
		return nil, l.superseded(guard)
	}
	j := h.job(l, run, h.clock(l))
	if !j.Cancel {
		l.stops[run] = stop
	}
	if h.Near != nil && !j.Cancel && j.RetryCount == 0 {
		j.near = h.near(l, run.Task)
	}
	return j, nil
}

// conclude brings in the result of a run and carries out what the message owes then. While
// the store cannot work the result is kept: to lose it would be to run the task again.
func (h *Host) conclude(ctx context.Context, l *live, u duty, e engine.Event) (next []engine.Run, err error) {
	decided := false
	var s sending
	a := acting(u.guard, e)
	err = h.insist(ctx, "keep the result of a task", func() (err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case !decided:
			if err := h.decide(ctx, l, a); err != nil {
				return err
			}
			if !a.applied {
				if err := l.superseded(u.guard); err != nil {
					return err
				}
			}
			decided = true
		case l.state == nil:
			if err := h.load(ctx, l, nil); err != nil {
				return err
			}
		}
		next, err = h.perform(ctx, l, u, &s)
		return err
	})
	return next, err
}
