package host

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// TakeEvents does what messages of one group of the queue "events" ask for, for who
// receives messages in another way than Run. q is told the end of each: Delete when all
// that it owed is done, Release when it must come again. What comes behind a message that
// failed is released, too.
func (h *Host) TakeEvents(ctx context.Context, q Queue, list []Delivery) {
	if len(list) > 1 && h.takeTogether(ctx, q, list) {
		return
	}
	for i, d := range list {
		if h.handle(ctx, q, d, h.happened) {
			continue
		}
		for _, behind := range list[i+1:] {
			h.release(ctx, q, behind, backOff(d.Count))
		}
		return
	}
}

// TakeTask is TakeEvents for one message of the queue "tasks".
func (h *Host) TakeTask(ctx context.Context, q Queue, d Delivery) {
	if strings.HasPrefix(d.ID, scheduleMessage) {
		h.handleFirings(ctx, q, d)
		return
	}
	h.handle(ctx, q, d, h.runTasks)
}

// takeTogether makes one entry of what several messages bring, all for the first time. It
// is false when they are to be handled one by one, and nothing was done.
func (h *Host) takeTogether(ctx context.Context, q Queue, list []Delivery) bool {
	id, a, logs, ok := together(list)
	if !ok {
		return false
	}
	l := h.hold(id)
	defer h.drop(l)
	h.keepShort(id, logs)
	err := h.safely(list[0], func() error { return h.apply(ctx, l, a) })
	switch {
	case err == nil:
		for i, d := range list {
			h.finished(ctx, q, d, l, a.guards[i])
		}
	case errors.Is(err, errPanic), errors.Is(err, errGone), errors.Is(err, errNoDefinition):
		return false // which of them it is about shows one by one
	case ctx.Err() != nil:
	default:
		for _, d := range list {
			h.giveBack(ctx, q, d, err)
		}
	}
	return true
}

// together joins messages of one attempt into one act; false when one of them needs care.
func together(list []Delivery) (attempt int64, a *act, logs []events.Log, ok bool) {
	a = &act{}
	var happened []engine.Event
	waker := "" // what is woken together is sent together
	for i, d := range list {
		id, guard, err := parseMessageID(d.ID)
		if err != nil || d.Count > 1 || i > 0 && id != attempt {
			return 0, nil, nil, false
		}
		e, err := events.Decode(d.Body)
		if err != nil || e.Kind == events.Check {
			return 0, nil, nil, false
		}
		attempt, logs = id, append(logs, e.Logs...)
		a.guards = append(a.guards, guard)
		a.begins, a.sla = a.begins || e.Kind == events.Start, a.sla || e.Kind == events.SLADue
		if e.Kind == events.Due {
			waker = cmp.Or(waker, guard)
			guard = waker
		}
		happened = append(happened, e.Engine(guard)...)
	}
	a.brings(happened)
	return attempt, a, logs, true
}

// release gives a message back; who cannot be told so waits for the end of the lease.
func (h *Host) release(ctx context.Context, q Queue, d Delivery, delay time.Duration) {
	if err := q.Release(ctx, d, delay); err != nil {
		h.Logger.Error("release message", "message", d.ID, "error", err)
	}
}
