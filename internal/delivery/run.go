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
	"zerodag/operators/run"
)

// run executes a run that is in the log, and returns its result; nil if another delivery took it over.
func (d *delivery) run(ctx context.Context, run engine.Run) (engine.Event, error) {
	if d.isFenced() {
		if err := d.keepsLease(ctx); err != nil {
			return nil, err
		}
	}
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
	remove := d.fence(ctx, j.TaskName, stop)
	prepared := d.prewarm(runCtx, j)
	began := time.Now()
	outcome, err := d.execute(runCtx, j)
	took := time.Since(began)
	remove()
	over()
	prepared()
	a := d.attempt
	a.mu.Lock()
	delete(a.stops, run)
	a.mu.Unlock()
	if cause := context.Cause(runCtx); errors.Is(cause, errFenced) {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // it was interrupted: there is no result
		return nil, fmt.Errorf("run task %s of attempt %d: %w", j.TaskName, a.id, err)
	}
	if late := (tooLong{}); outcome.Error != nil && errors.As(context.Cause(runCtx), &late) {
		outcome.Error = engine.ErrorObject(late)
	}
	if !j.Prepare {
		d.Observer.TaskRan(j.SiteID, j.operator, resultOf(outcome), took)
	}
	return execution.Result(engine.By{Guard: d.guard}, run, outcome), nil
}

// resultOf returns how a run ended, for metrics.
func resultOf(o run.Outcome) host.RunResult {
	switch {
	case o.Later != nil:
		return host.RunAgain
	case o.Error != nil:
		return host.RunFailed
	}
	return host.RunSucceeded
}

// tooLong is the error for a run that uses up all the time that its process has.
type tooLong struct{ most time.Duration }

func (l tooLong) Error() string {
	return fmt.Sprintf("a single run of a task may take at most %v in this deployment: split the work, or let it poll", l.most)
}

// Is makes the error match operators.ErrEnded, so that the task ends with the run.
func (tooLong) Is(target error) bool { return target == operators.ErrEnded }

// limited returns a context that limits a run's duration: work that cannot end in time must not be lost with its
// process. The returned function ends the run earlier, with a cause.
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

// begin prepares a run that a kill can stop; nil if the run is not the current one.
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

// conclude records a run's result and carries out what the message then owes. It keeps the result while the store is
// unavailable, because the task would have to run again if the result were lost.
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

// heartbeat extends the lease until the returned function is called. If the lease is lost, the work stops, because
// another process has it. Most tasks end before the first beat, so it uses a timer instead of a goroutine.
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
		err := d.extend(ctx)
		if errors.Is(err, host.ErrLeaseLost) {
			d.Logger.Warn("lease lost: the task runs elsewhere", "message", d.message.ID)
			d.Observer.LeaseLost()
			lost()
			return
		}
		timer.Reset(max(0, d.beat(err)-time.Since(began))) // after a call that hung at once: the lease continues
	})
	return func() {
		cancel()
		timer.Stop()
		beating.Lock() // waits until a beat under way has finished
		defer beating.Unlock()
	}
}
