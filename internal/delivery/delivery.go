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
	attempt *attempt     // held while the message is handled
	guard   string       // of the message, within the attempt
	began   time.Time    // by the monotonic clock
	leased  atomic.Int64 // the last time, counted from began, at which the message's lease was certainly extended
	full    atomic.Bool  // the database was full when the lease was last extended
}

func (w *Worker) received(q host.Queue, d host.Delivery) *delivery {
	return &delivery{Worker: w, queue: q, message: d, began: time.Now()}
}

// keepsLease makes sure that the lease is valid before more work begins. If the store was unavailable for a long time,
// the lease may have ended, and another receiver may be doing the same work. In most cases the heartbeat has just
// extended the lease, and no call is needed.
func (d *delivery) keepsLease(ctx context.Context) error {
	elapsed := max(time.Since(d.began), time.Now().Round(0).Sub(d.began.Round(0))) // the monotonic clock stops while the machine sleeps
	if elapsed-time.Duration(d.leased.Load()) < d.Limits.Lease*2/3 {
		return nil
	}
	return orSuperseded(d.Retry.Do(ctx, "extend a lease", func() error { return d.extend(ctx) }))
}

// extend renews the lease, so that its full time starts now.
func (d *delivery) extend(ctx context.Context) error {
	asked := time.Since(d.began)
	err := d.Tasks.Extend(ctx, d.message, d.Limits.Lease)
	d.noteFull(err)
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

// decide is Worker.decide for this delivery. It writes nothing for a message that the store has given to another
// receiver or has lost, because the request may no longer fit the attempt's current state. The lock is held.
func (d *delivery) decide(ctx context.Context, a *attempt, p *proposal) error {
	p.receipt = d.message.Receipt
	return orSuperseded(d.Worker.decide(ctx, a, p))
}

// orSuperseded replaces an error about a lost lease with errSuperseded.
func orSuperseded(err error) error {
	if errors.Is(err, host.ErrLeaseLost) {
		return errSuperseded
	}
	return err
}

func (d *delivery) safely(do func() error) error {
	return host.Recover(d.Logger, d.message.ID, do)
}

// acknowledge deletes a message unless a newer delivery of it is in progress: that delivery must not lose the message,
// however the queue treats an old receipt.
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

// tryDelete retries until the store is available, because a message that is delivered again would take over runs that
// belong to other messages.
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

// putBack makes the queue deliver a failed message again, each time after a longer delay.
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

// releaseMessage returns a message to the queue. If the store is unavailable, a server retries until the lease must
// have expired, because the message and the messages behind it would be blocked until then. A Lambda function has no
// time for that.
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
