package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"zerodag/engine"
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
	var list []engine.Event
	if x := e.Engine(guard); x != nil {
		list = append(list, x)
	}
	_, err = h.apply(ctx, l, guard, 0, list...)
	return err
}

// panics is how often a message may crash its handler before its attempt is given up.
const panics = 5

// handle does what a message asks for and deletes it last. What fails comes back later,
// each time later: nothing is dropped but what names an attempt that is gone.
func (h *Host) handle(ctx context.Context, q Queue, d Delivery, do func(context.Context, *live, string, Delivery) error) {
	id, guard, err := parseMessageID(d.ID)
	if err != nil {
		h.Logger.Error("message dropped", "error", err)
		h.delete(ctx, q, d)
		return
	}
	l := h.hold(id)
	defer h.drop(l)
	err = h.safely(ctx, l, d, func() error { return do(ctx, l, guard, d) })
	switch {
	case err == nil:
		h.delete(ctx, q, d)
	case errors.Is(err, ErrNotFound):
		h.Logger.Warn("message dropped: its attempt is gone", "message", d.ID, "error", err)
		h.delete(ctx, q, d)
	case ctx.Err() != nil: // shut down or cut off: it comes back when its lease ends
	default:
		h.stats.errors.Add(1)
		delay := min(time.Second<<min(d.Count, 6), time.Minute)
		h.Logger.Error("message failed, will be tried again", "message", d.ID, "count", d.Count, "in", delay, "error", err)
		if err := q.Release(ctx, d, delay); err != nil {
			h.Logger.Error("release message", "message", d.ID, "error", err)
		}
	}
}

func (h *Host) delete(ctx context.Context, q Queue, d Delivery) {
	if err := q.Delete(ctx, d); err != nil {
		h.stats.errors.Add(1)
		h.Logger.Error("delete message: it will come again", "message", d.ID, "error", err)
	}
}

// errPanic is a crash of the handler, a defect of ours.
var errPanic = errors.New("engine error")

// safely turns a panic into an error; a message that panics again and again ends its
// attempt, so that nothing is blocked for ever.
func (h *Host) safely(ctx context.Context, l *live, d Delivery, do func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		h.Logger.Error("panic", "message", d.ID, "panic", p, "stack", string(debug.Stack()))
		l.mu.TryLock() // it may be locked by the call that panicked, by nobody else for long
		l.state = nil
		l.mu.Unlock()
		err = fmt.Errorf("%w: %v", errPanic, p)
		if d.Count >= panics {
			err = h.giveUp(ctx, l)
		}
	}()
	return do()
}

// giveUp ends an attempt that the engine cannot continue.
func (h *Host) giveUp(ctx context.Context, l *live) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.Logger.Error("attempt given up: engine error", "attempt", l.id)
	end := End{At: h.Now().UTC()}
	if err := h.load(ctx, l); err == nil {
		if end.Archive, err = engine.EncodeState(l.state); err != nil {
			return err
		}
	}
	if err := h.Attempts.Finish(ctx, l.id, end); err != nil {
		return err
	}
	l.row.Done = true
	l.tell()
	return nil
}

// trouble waits a little after a port failed, so that an outage does not become a storm.
func (h *Host) trouble(ctx context.Context, what string, err error) {
	h.stats.errors.Add(1)
	h.Logger.Error(what, "error", err)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}
