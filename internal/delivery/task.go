package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/execution"
	"zerodag/internal/host"
)

// task handles a message of the queue "tasks".
func (d *delivery) task(ctx context.Context) error {
	m, err := events.DecodeTask(d.message.Body)
	if err != nil {
		return err
	}
	if m.Then != nil {
		p := propose(d.guard, m.Then.Engine(d.guard)...)
		p.sla = m.Then.Kind == events.SLADue
		return d.apply(ctx, d.attempt, p)
	}
	if d.message.Count > 1 && d.Tasks.Traits().StaleDeletes {
		return d.reenqueue(ctx, m)
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	defer d.heartbeat(ctx, lost)()
	runs, err := d.claimRuns(ctx, m)
	if errors.Is(err, errEarly) {
		d.attempt.mu.Lock()
		defer d.attempt.mu.Unlock()
		return d.postpone(ctx, d.attempt, d.guard, m.Runs)
	}
	if err != nil || len(runs) == 0 {
		return err
	}
	if len(runs) == 1 {
		return d.chain(ctx, runs[0])
	}
	return d.together(ctx, runs)
}

// reenqueue sends a message that came again once more, under an ID of its own: an earlier
// receiver cannot delete that one. Then this one owes nothing more.
func (d *delivery) reenqueue(ctx context.Context, m events.Task) error {
	m.From = append(m.From, d.guard)
	next := host.Message{ID: host.MessageID(d.attempt.id, d.guard+"~"+strconv.Itoa(d.message.Count)), Share: d.message.Share, Body: events.EncodeTask(m)}
	if err := d.Tasks.Send(ctx, next); err != nil {
		return fmt.Errorf("send message %s on: %w", d.message.ID, err)
	}
	return nil
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
		if err := d.Tasks.Extend(ctx, d.message, d.Limits.Lease); errors.Is(err, host.ErrLeaseLost) {
			d.Logger.Warn("lease lost: the task is run elsewhere", "message", d.message.ID)
			lost()
			return
		}
		timer.Reset(d.Limits.Heartbeat)
	})
	return func() {
		cancel()
		timer.Stop()
		beating.Lock() // a beat under way is over
		defer beating.Unlock()
	}
}

// chain runs a task and then, for as long as the message may take, each single task that comes
// after it.
func (d *delivery) chain(ctx context.Context, run engine.Run) error {
	h := holder{guard: d.guard, keep: 1}
	began := d.Now()
	for {
		var outcome engine.Event
		err := d.Retry.Do(ctx, "run a task", func() (err error) {
			outcome, err = d.run(ctx, run)
			return err
		})
		if err != nil || outcome == nil {
			return err
		}
		if most := d.Limits.ChainTime; d.Closing() || most > 0 && d.Now().Sub(began) >= most {
			h.keep = 0
		}
		next, err := d.conclude(ctx, h, outcome)
		if err != nil || len(next) == 0 {
			return err
		}
		run = next[0]
	}
}

// run runs a task and returns how it ended; nil when another delivery took it over.
func (d *delivery) run(ctx context.Context, run engine.Run) (engine.Event, error) {
	runCtx, stop := d.limited(ctx)
	defer stop()
	j, err := d.begin(ctx, run, stop)
	if err != nil || j == nil {
		return nil, err
	}
	prepared := d.Runtime.prewarm(runCtx, j)
	outcome, err := d.execute(runCtx, j)
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
	return fmt.Sprintf("a run of a task may take %v at a time in this deployment: split the work, or let it poll", l.most)
}

// limited bounds a run: what could not end in time must not be lost with its process.
func (d *delivery) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	most := d.Limits.RunTime
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, tooLong{most})
}

// begin prepares a run that a kill can stop; nil when the run is not the current one.
func (d *delivery) begin(ctx context.Context, run engine.Run, stop context.CancelFunc) (*job, error) {
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == nil {
		if err := a.load(ctx, nil); err != nil {
			return nil, err
		}
	}
	if !current(a.state)(run) {
		return nil, a.superseded(d.guard)
	}
	j := d.job(a, run, a.clock(d.Now().UTC()))
	if !j.Cancel {
		a.stops[run] = stop
	}
	if !j.Cancel && j.RetryCount == 0 {
		j.next = d.Runtime.next(a.state, run.Task)
	}
	return j, nil
}

// conclude brings in the result of a run and carries out what the message owes then. While
// the store cannot work the result is kept: to lose it would be to run the task again.
func (d *delivery) conclude(ctx context.Context, h holder, e engine.Event) (next []engine.Run, err error) {
	decided := false
	var out outbox
	a, p := d.attempt, propose(d.guard, e)
	err = d.Retry.Do(ctx, "keep the result of a task", func() (err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case !decided:
			if err := d.decide(ctx, a, p); err != nil {
				return err
			}
			if !p.applied {
				if err := a.superseded(d.guard); err != nil {
					return err
				}
			}
			decided = true
		case a.state == nil:
			if err := a.load(ctx, nil); err != nil {
				return err
			}
		}
		next, err = d.perform(ctx, a, h, &out)
		return err
	})
	return next, err
}
