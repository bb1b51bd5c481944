package delivery

import (
	"context"
	"errors"
	"math"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// errSuperseded is said of work that another delivery of the same message goes on with.
// Nothing is done about the message: that one deletes it, or it comes back.
var errSuperseded = errors.New("the work goes on elsewhere")

// delivery is one delivery of a message, from its receipt to its acknowledgement.
type delivery struct {
	*Worker
	queue   host.Queue
	message host.Delivery
	attempt *attempt // held while the message is handled
	guard   string   // of the message, within the attempt
}

func (w *Worker) received(q host.Queue, d host.Delivery) *delivery {
	return &delivery{Worker: w, queue: q, message: d}
}

// handle does what a message asks for and deletes it last. What fails comes back later,
// each time later: nothing is dropped but what names an attempt that is gone. It says
// whether the message is done with.
func (d *delivery) handle(ctx context.Context, do func(*delivery, context.Context) error) bool {
	id, guard, err := host.ParseMessageID(d.message.ID)
	if err != nil {
		d.Logger.Error("message dropped", "error", err)
		d.delete(ctx)
		return true
	}
	d.attempt, d.guard = d.Attempts.hold(id), guard
	defer d.Attempts.drop(d.attempt)
	if d.message.Crashed {
		d.attempt.careful.Store(true)
	}
	err = d.safely(func() error { return do(d, ctx) })
	if d.isHopeless(err) {
		err = d.safely(func() error { return d.giveUp(ctx, err) })
	}
	switch {
	case err == nil:
		d.acknowledge(ctx)
	case errors.Is(err, host.ErrGone):
		d.Logger.Warn("message dropped: its attempt is gone", "message", d.message.ID, "error", err)
		d.delete(ctx)
	case errors.Is(err, errSuperseded):
		d.Logger.Warn("message left to another delivery of it", "message", d.message.ID)
	case ctx.Err() != nil: // shut down or cut off: it comes back when its lease ends
		return false
	default:
		d.putBack(ctx, err)
		return false
	}
	return true
}

// event handles a message of the queue "events".
func (d *delivery) event(ctx context.Context) error {
	e, err := events.Decode(d.message.Body)
	if err != nil {
		return err
	}
	if d.message.Count > 1 || e.Kind == events.Check {
		d.attempt.forget() // what an earlier receiver of the message, or any process, did must be seen
	}
	d.keepShort(d.attempt.id, e.Logs)
	p := &proposal{guards: []string{d.guard}, crashed: d.message.Crashed}
	p.bring(e.Engine(d.guard))
	p.noteKind(e.Kind)
	if e.Kind == events.Check {
		p.takeOverStart(d.attempt, d.guard)
	}
	return d.apply(ctx, d.attempt, p)
}

// fire handles a message that names schedules whose time has come.
func (d *delivery) fire(ctx context.Context) {
	err := d.safely(func() error {
		m, err := events.DecodeTask(d.message.Body)
		if err != nil {
			return err
		}
		return d.Catalogue.Fire(ctx, m.Fire, d.message.Count > 1)
	})
	if err == nil {
		d.delete(ctx)
		return
	}
	d.putBack(ctx, err)
}

func (d *delivery) safely(do func() error) error {
	return host.Recover(d.Logger, d.message.ID, do)
}

// deleting is above every number of a delivery.
const deleting = math.MaxInt

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

// delete removes a message that asks for nothing.
func (d *delivery) delete(ctx context.Context) { d.deleted(d.tryDelete(ctx)) }

// tryDelete tries until the store is available: a message that comes again takes over what runs
// under others.
func (d *delivery) tryDelete(ctx context.Context) error {
	return d.Retry.Do(ctx, "delete message "+d.message.ID, func() error { return d.queue.Delete(ctx, d.message) })
}

// deleted notes what became of the deletion.
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
		d.Logger.Error("delete message: it will come again", "message", d.message.ID, "error", err)
	}
}

// putBack lets a message that failed come again, each time later.
func (d *delivery) putBack(ctx context.Context, err error) {
	m := d.message
	if errors.Is(err, host.ErrUnavailable) {
		d.Retry.Unavailable("handle message "+m.ID, err)
		d.release(ctx, d.Retry.Delay(m.Count))
		return
	}
	d.Retry.Failed()
	delay := retry.BackOff(m.Count)
	d.Logger.Error("message failed, will be tried again", "message", m.ID, "count", m.Count, "in", delay, "error", err)
	d.release(ctx, delay)
}

// release gives a message back; where the queue cannot be told, the end of the lease does.
func (d *delivery) release(ctx context.Context, delay time.Duration) {
	if err := d.queue.Release(ctx, d.message, delay); err != nil {
		d.Logger.Error("release message", "message", d.message.ID, "error", err)
	}
}
