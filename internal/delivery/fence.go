package delivery

import (
	"context"
	"errors"
	"syscall"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// errFenced ends a run whose lease could not be extended in time. Its result is dropped.
var errFenced = errors.New("the lease of the task could not be extended in time: another server may run it now")

const (
	// fenceMargin is the fraction of a lease (1/fenceMargin) that is reserved for ending a run's command.
	fenceMargin = 6
	// beatAgain is the interval at which a fenced lease is extended after a failure.
	beatAgain = time.Second
	// fencedMark is the note that replaces the note of a run that was ended by a fence: its end counts against no run.
	fencedMark = "fenced"
)

// isFenced reports whether runs end with their leases. Functions end earlier and do not need that.
func (w *Worker) isFenced() bool { return w.Limits.SelfFencing }

// left returns how long the lease certainly remains valid, less the margin.
func (d *delivery) left() time.Duration {
	return time.Duration(d.leased.Load()) + d.Limits.Lease - d.Limits.Lease/fenceMargin - time.Since(d.began)
}

// fence calls end shortly before the lease ends, unless the lease is extended by then. It returns a function that
// removes the fence.
func (d *delivery) fence(ctx context.Context, task string, end func(error)) (remove func()) {
	if !d.isFenced() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for wait := d.left(); retry.Sleep(ctx, wait) == nil; {
			switch left := d.left(); {
			case left > 0:
				wait = left
			case d.full.Load(): // no server can take the task until there is space; this one then extends the lease at once
				wait = beatAgain
			default:
				d.Logger.Warn("a run was ended because its lease could not be extended: another server may run the task now", "message", d.message.ID, "task", task)
				end(errFenced)
				return
			}
		}
	}()
	return cancel
}

// noteFull records whether the database refused to extend the lease because the database is full.
func (d *delivery) noteFull(err error) { d.full.Store(errors.Is(err, syscall.ENOSPC)) }

// beat returns how long to wait before the next extension of the lease; err is the error of the last one.
func (d *delivery) beat(err error) time.Duration {
	if err != nil && d.isFenced() {
		return min(beatAgain, d.Limits.Heartbeat)
	}
	return d.Limits.Heartbeat
}

// giveBack returns a fenced run's message to the queue as soon as the store is available, unless another server has it.
func (d *delivery) giveBack(ctx context.Context) {
	err := d.Retry.Do(ctx, "give a task back", func() error {
		if q, marks := d.Tasks.(host.Marker); marks {
			if _, err := q.Begin(ctx, d.message, fencedMark, host.Entry{}); err != nil {
				return err
			}
		}
		return d.queue.Release(ctx, d.message, 0)
	})
	switch {
	case errors.Is(err, host.ErrLeaseLost):
		d.Observer.LeaseLost()
	case err != nil && ctx.Err() == nil:
		d.Retry.Failed()
		d.Logger.Error("give a task back", "message", d.message.ID, "error", err)
	}
}
