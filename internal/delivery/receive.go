package delivery

import (
	"context"
	"errors"
	"strings"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// TakeEvents handles messages that belong to one group in the queue "events". It finishes each message with a call to
// q: Delete if everything that it owed is done, Release if it must be delivered again. Messages behind a failed one are
// also released.
func (w *Worker) TakeEvents(ctx context.Context, q host.Queue, list []host.Delivery) {
	if len(list) > 1 && w.takeTogether(ctx, q, list) {
		return
	}
	for i, d := range list {
		if w.received(q, d).handle(ctx, (*delivery).event) {
			continue
		}
		for _, behind := range list[i+1:] {
			w.received(q, behind).releaseMessage(ctx, retry.BackOff(d.Count))
		}
		return
	}
}

// TakeTask is like TakeEvents, for one message of the queue "tasks".
func (w *Worker) TakeTask(ctx context.Context, q host.Queue, d host.Delivery) {
	if strings.HasPrefix(d.ID, host.FiringsMark) {
		w.received(q, d).fire(ctx)
		return
	}
	if strings.HasPrefix(d.ID, host.StartsMark) {
		w.received(q, d).start(ctx)
		return
	}
	w.received(q, d).handle(ctx, (*delivery).task)
}

// takeTogether handles several messages with one entry, all of them received for the first time. If they must be
// handled one by one, it does nothing and returns false.
func (w *Worker) takeTogether(ctx context.Context, q host.Queue, list []host.Delivery) bool {
	j, ok := join(list)
	if !ok {
		return false
	}
	a := w.Live.hold(j.attempt)
	defer w.Live.drop(a)
	w.keepShort(j.attempt, j.logs)
	all := make([]*delivery, len(list))
	for i, d := range list {
		all[i] = w.received(q, d)
		all[i].attempt, all[i].guard = a, j.proposal.guards[i]
	}
	err := host.Recover(w.Logger, list[0].ID, func() error { return w.apply(ctx, a, j.proposal) })
	switch {
	case err == nil:
		for _, d := range all {
			d.acknowledge(ctx)
		}
	case isAbout(err):
		return false // handling them one by one shows which message the error concerns
	case ctx.Err() != nil:
	default:
		for _, d := range all {
			d.putBack(ctx, err)
		}
	}
	return true
}

// joined holds the events of several messages of one attempt.
type joined struct {
	attempt  int64
	proposal *proposal
	logs     []events.Log
}

// join combines messages of one attempt into one proposal; it returns false if one of them must be handled separately.
func join(list []host.Delivery) (joined, bool) {
	j := joined{proposal: &proposal{}}
	var happened []engine.Event
	waker := "" // tasks that are woken together are sent together
	for i, d := range list {
		id, guard, err := host.ParseMessageID(d.ID)
		if err != nil || d.Count > 1 || i > 0 && id != j.attempt {
			return joined{}, false
		}
		e, err := events.Decode(d.Body)
		if err != nil || alone(e.Kind) {
			return joined{}, false
		}
		j.attempt, j.logs = id, append(j.logs, e.Logs...)
		j.proposal.guards = append(j.proposal.guards, guard)
		j.proposal.noteKind(e.Kind)
		if e.Kind == events.Due {
			if waker == "" {
				waker = guard
			}
			guard = waker
		}
		happened = append(happened, e.Engine(guard)...)
	}
	j.proposal.bring(happened)
	return j, true
}

// handle handles a message and deletes it last. After a failure the message is delivered again, with a longer delay
// each time; only messages that name a missing attempt are dropped. handle reports whether the message is finished.
func (d *delivery) handle(ctx context.Context, do func(*delivery, context.Context) error) bool {
	id, guard, err := host.ParseMessageID(d.message.ID)
	if err != nil {
		d.Logger.Error("message dropped", "error", err)
		d.delete(ctx)
		return true
	}
	d.attempt, d.guard = d.Live.hold(id), guard
	defer d.Live.drop(d.attempt)
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
	case errors.Is(err, errFenced):
		d.giveBack(ctx)
		return false
	case ctx.Err() != nil: // shutdown or interruption: the message is delivered again when its lease ends
		return false
	default:
		d.putBack(ctx, err)
		return false
	}
	return true
}
