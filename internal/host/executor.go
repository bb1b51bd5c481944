package host

import (
	"context"
	"errors"
	"time"

	"zerodag/events"
)

// executor receives events of attempts, until accepting ends.
func (h *Host) executor(ctx, accepting context.Context) {
	for accepting.Err() == nil {
		list, err := h.Events.Receive(accepting, 1, eventLease)
		if err != nil && accepting.Err() == nil {
			h.trouble(accepting, "receive events", err)
		}
		for _, d := range list {
			h.handle(ctx, h.Events, d, h.happened)
		}
	}
}

// eventLease is long enough for a step and its effects, however many they are.
const eventLease = time.Minute

// happened handles a message of the queue "events".
func (h *Host) happened(ctx context.Context, l *live, guard string, d Delivery) error {
	e, err := events.Decode(d.Body)
	if err != nil {
		return err
	}
	if d.Count > 1 || e.Kind == events.Check {
		h.forget(l) // what an earlier holder of the message, or anybody, did must be seen
	}
	h.keepShort(l.id, e.Logs)
	a := &act{guards: []string{guard}, crashed: d.Crashed}
	a.brings(e.Engine(guard))
	a.begins, a.sla = e.Kind == events.Start, e.Kind == events.SLADue
	if e.Kind == events.Check {
		a.takeOverStart(l, guard)
	}
	return h.apply(ctx, l, a)
}

// handle does what a message asks for and deletes it last. What fails comes back later,
// each time later: nothing is dropped but what names an attempt that is gone. It says
// whether the message is done with.
func (h *Host) handle(ctx context.Context, q Queue, d Delivery, do func(context.Context, *live, string, Delivery) error) bool {
	id, guard, err := parseMessageID(d.ID)
	if err != nil {
		h.Logger.Error("message dropped", "error", err)
		h.delete(ctx, q, d)
		return true
	}
	l := h.hold(id)
	defer h.drop(l)
	if d.Crashed {
		l.careful.Store(true)
	}
	err = h.safely(d, func() error { return do(ctx, l, guard, d) })
	if lost := errors.Is(err, errNoDefinition) && errors.Is(err, ErrNotFound); lost || errors.Is(err, errPanic) && h.panicked(d) {
		err = h.safely(d, func() error { return h.giveUp(ctx, l, err) })
	}
	switch {
	case err == nil:
		h.finished(ctx, q, d, l, guard)
	case errors.Is(err, errGone):
		h.Logger.Warn("message dropped: its attempt is gone", "message", d.ID, "error", err)
		h.delete(ctx, q, d)
	case errors.Is(err, errSuperseded):
		h.Logger.Warn("message left to another delivery of it", "message", d.ID)
	case ctx.Err() != nil: // shut down or cut off: it comes back when its lease ends
		return false
	default:
		h.giveBack(ctx, q, d, err)
		return false
	}
	return true
}

// giveBack lets a message that failed come again, each time later.
func (h *Host) giveBack(ctx context.Context, q Queue, d Delivery, err error) {
	if errors.Is(err, ErrUnavailable) {
		h.away("handle message "+d.ID, err)
		h.release(ctx, q, d, h.patience(d.Count))
		return
	}
	h.stats.errors.Add(1)
	delay := backOff(d.Count)
	h.Logger.Error("message failed, will be tried again", "message", d.ID, "count", d.Count, "in", delay, "error", err)
	h.release(ctx, q, d, delay)
}

// finished deletes a message unless a later delivery of it is at what it owes: whatever the
// queue makes of this one's receipt, that one must not lose it.
func (h *Host) finished(ctx context.Context, q Queue, d Delivery, l *live, guard string) {
	if !l.claim(guard, d.Count, deleting) {
		h.deleted(d, errSuperseded)
		return
	}
	err := h.insist(ctx, "delete message "+d.ID, func() error { return q.Delete(ctx, d) })
	l.unclaim(guard)
	h.deleted(d, err)
}

// delete removes a message that asks for nothing. It insists: one that comes again takes
// over what runs under others.
func (h *Host) delete(ctx context.Context, q Queue, d Delivery) {
	h.deleted(d, h.insist(ctx, "delete message "+d.ID, func() error { return q.Delete(ctx, d) }))
}

func (h *Host) deleted(d Delivery, err error) {
	switch {
	case err == nil:
		h.back()
		h.cache.mu.Lock()
		defer h.cache.mu.Unlock()
		delete(h.cache.panics, d.ID)
	case errors.Is(err, errSuperseded):
		h.Logger.Warn("message left to another delivery of it", "message", d.ID)
	default:
		h.stats.errors.Add(1)
		h.Logger.Error("delete message: it will come again", "message", d.ID, "error", err)
	}
}

// trouble waits a little after a port failed, so that an outage does not become a storm.
func (h *Host) trouble(ctx context.Context, what string, err error) {
	if errors.Is(err, ErrUnavailable) {
		h.away(what, err)
	} else {
		h.stats.errors.Add(1)
		h.Logger.Error(what, "error", err)
	}
	h.pause(ctx, time.Second)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
