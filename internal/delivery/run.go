package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/operators"
)

// run runs a task of a run that is in the log, and returns how it ended; nil when another delivery took it over.
func (d *delivery) run(ctx context.Context, run engine.Run) (engine.Event, error) {
	runCtx, stop := d.limited(ctx)
	defer stop(nil)
	j, err := d.begin(ctx, run, func() { stop(operators.ErrEnded) })
	if err != nil || j == nil {
		return nil, err
	}
	over := func() {}
	j.begins = func(ctx context.Context) (err error) {
		over, err = d.mark(ctx, j, run)
		return err
	}
	prepared := d.prewarm(runCtx, j)
	outcome, err := d.execute(runCtx, j)
	over()
	prepared()
	a := d.attempt
	a.mu.Lock()
	delete(a.stops, run)
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // it was cut off: no result
		return nil, fmt.Errorf("run task %s of attempt %d: %w", j.TaskName, a.id, err)
	}
	if late := (tooLong{}); outcome.Error != nil && errors.As(context.Cause(runCtx), &late) {
		outcome.Error = engine.ErrorObject(late)
	}
	return execution.Result(engine.By{Guard: d.guard}, run, outcome), nil
}

// tooLong ends a run that takes all the time that its process has.
type tooLong struct{ most time.Duration }

func (l tooLong) Error() string {
	return fmt.Sprintf("a single run of a task may take at most %v in this deployment: split the work, or let it poll", l.most)
}

// Is reports whether the task ends with the run.
func (tooLong) Is(target error) bool { return target == operators.ErrEnded }

// limited limits a run: work that could not end in time must not be lost with its process. It ends earlier when the
// returned function is called, with the cause.
func (d *delivery) limited(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	most := d.Limits.RunTime
	if most == 0 {
		return ctx, stop
	}
	ctx, late := context.WithTimeoutCause(ctx, most, tooLong{most})
	return ctx, func(why error) {
		stop(why)
		late()
	}
}

// begin prepares a run that a kill can stop; nil when the run is not the current one.
func (d *delivery) begin(ctx context.Context, run engine.Run, stop func()) (*job, error) {
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.ensure(ctx); err != nil {
		return nil, err
	}
	if !current(a.state)(run) {
		return nil, a.superseded(d.guard)
	}
	j := d.job(a, run, a.clock(d.Now().UTC()))
	if !j.Cancel {
		a.stops[run] = stop
	}
	if !j.Cancel && j.RetryCount == 0 {
		j.next = d.next(a.state, run.Task)
	}
	return j, nil
}

// conclude brings in the result of a run and carries out what the message owes then. While
// the store cannot work the result is kept: to lose it would be to run the task again.
func (d *delivery) conclude(ctx context.Context, h holder, e engine.Event) (next []engine.Run, err error) {
	decided := false
	var out outbox
	a, p := d.attempt, propose(d.guard, e)
	p.keeps = h.keep == 1
	err = d.Retry.Do(ctx, "store the result of a task", func() (err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !decided {
			if err := d.decide(ctx, a, p); err != nil {
				return err
			}
			if !p.applied {
				if err := a.superseded(d.guard); err != nil {
					return err
				}
			}
			decided = true
		}
		if err := a.ensure(ctx); err != nil {
			return err
		}
		next, err = d.perform(ctx, a, h, &out)
		return err
	})
	return next, err
}

// heartbeat extends the lease until the returned function is called. A lease that is lost
// stops the work: another process has it. Nearly all tasks are over before the first beat, so there
// is a timer for it and no goroutine.
func (d *delivery) heartbeat(ctx context.Context, lost func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.Mutex
	var timer *time.Timer
	beating.Lock()
	defer beating.Unlock()
	timer = time.AfterFunc(d.Limits.Heartbeat, func() {
		beating.Lock()
		defer beating.Unlock()
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		if err := d.extend(ctx); errors.Is(err, host.ErrLeaseLost) {
			d.Logger.Warn("lease lost: the task runs elsewhere", "message", d.message.ID)
			lost()
			return
		}
		timer.Reset(max(0, d.Limits.Heartbeat-time.Since(began))) // after a call that hung at once: the lease continues
	})
	return func() {
		cancel()
		timer.Stop()
		beating.Lock() // a beat under way is over
		defer beating.Unlock()
	}
}
