package delivery

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// delivery is one delivery of a message, from its receipt to its acknowledgement.
type delivery struct {
	*Worker
	queue   host.Queue
	message host.Delivery
	attempt *attempt // held while the message is handled
	guard   string   // of the message, within the attempt
	taken   time.Time
	leased  atomic.Int64 // how long after that the message was surely under its lease for the last time
}

func (w *Worker) received(q host.Queue, d host.Delivery) *delivery {
	return &delivery{Worker: w, queue: q, message: d, taken: w.Now()}
}

// keepsLease makes sure of the lease before more work is begun under it. If the store was unavailable for long, the
// lease may have ended, and another receiver may be doing the same work. Nearly always the heartbeat has just extended
// it, and no call is made.
func (d *delivery) keepsLease(ctx context.Context) error {
	if d.Now().Sub(d.taken)-time.Duration(d.leased.Load()) < d.Limits.Lease*2/3 {
		return nil
	}
	return orSuperseded(d.Retry.Do(ctx, "extend a lease", func() error { return d.extend(ctx) }))
}

// extend makes the lease last from now on.
func (d *delivery) extend(ctx context.Context) error {
	asked := d.Now().Sub(d.taken)
	err := d.Tasks.Extend(ctx, d.message, d.Limits.Lease)
	if err == nil {
		d.leased.Store(int64(asked))
	}
	return err
}

// apply is Worker.apply for this delivery: see decide.
func (d *delivery) apply(ctx context.Context, a *attempt, p *proposal) error {
	p.receipt = d.message.Receipt
	return orSuperseded(d.Worker.apply(ctx, a, p))
}

// decide is Worker.decide for this delivery. Nothing is written for a message that the store has given to another
// receiver, or has lost: what the message asked for need not be true of the attempt as it is now. The lock is held.
func (d *delivery) decide(ctx context.Context, a *attempt, p *proposal) error {
	p.receipt = d.message.Receipt
	return orSuperseded(d.Worker.decide(ctx, a, p))
}

// orSuperseded is errSuperseded in place of the loss of a lease.
func orSuperseded(err error) error {
	if errors.Is(err, host.ErrLeaseLost) {
		return errSuperseded
	}
	return err
}

func (d *delivery) safely(do func() error) error {
	return host.Recover(d.Logger, d.message.ID, do)
}

// acknowledge deletes a message unless a later delivery of it is at what it owes: whatever the
// queue makes of this one's receipt, that one must not lose it.
func (d *delivery) acknowledge(ctx context.Context) {
	if !d.attempt.register(d.guard, d.message.Count, deleting) {
		d.deleted(errSuperseded)
		return
	}
	err := d.tryDelete(ctx)
	d.attempt.unregister(d.guard)
	d.deleted(err)
}

// delete removes a message that needs no work.
func (d *delivery) delete(ctx context.Context) { d.deleted(d.tryDelete(ctx)) }

// tryDelete tries until the store is available: a message that comes again would take over runs of others.
func (d *delivery) tryDelete(ctx context.Context) error {
	return d.Retry.Do(ctx, "delete message "+d.message.ID, func() error { return d.queue.Delete(ctx, d.message) })
}

// deleted records the outcome of the deletion.
func (d *delivery) deleted(err error) {
	switch {
	case err == nil:
		d.Retry.Available()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.panics, d.message.ID)
	case errors.Is(err, errSuperseded):
		d.Logger.Warn("message left to another delivery of it", "message", d.message.ID)
	default:
		d.Retry.Failed()
		d.Logger.Error("delete message: it will be delivered again", "message", d.message.ID, "error", err)
	}
}

// putBack lets a message that failed come again, each time later.
func (d *delivery) putBack(ctx context.Context, err error) {
	m := d.message
	if errors.Is(err, host.ErrUnavailable) {
		d.Retry.Unavailable("handle message "+m.ID, err)
		d.releaseMessage(ctx, d.Retry.Delay(m.Count))
		return
	}
	d.Retry.Failed()
	delay := retry.BackOff(m.Count)
	d.Logger.Error("message failed, will be retried", "message", m.ID, "count", m.Count, "in", delay, "error", err)
	d.releaseMessage(ctx, delay)
}

// releaseMessage gives a message back. If the store is not available, a server tries again until the lease must have
// expired: the message, and the messages behind it, would be blocked until then. A Lambda function has no time for
// that.
func (d *delivery) releaseMessage(ctx context.Context, delay time.Duration) {
	give := func() error { return d.queue.Release(ctx, d.message, delay) }
	err := give()
	if errors.Is(err, host.ErrUnavailable) && d.Limits.ProcessTime == 0 {
		bounded, cancel := context.WithTimeout(ctx, d.Limits.Lease)
		defer cancel()
		err = d.Retry.Do(bounded, "release message "+d.message.ID, give)
	}
	if err != nil {
		d.Logger.Error("release message", "message", d.message.ID, "error", err)
	}
}
