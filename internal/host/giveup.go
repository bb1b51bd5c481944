package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"zerodag/engine"
)

// errPanic is a crash of ours: a defect.
var errPanic = errors.New("engine error")

// errNoDefinition says that the workflow of an attempt is gone, or cannot be compiled.
var errNoDefinition = errors.New("the workflow definition cannot be used")

// errGone says that there is nothing left of an attempt that a message could change.
var errGone = errors.New("the attempt is gone")

// safely turns a panic into an error.
func (h *Host) safely(d Delivery, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.Logger.Error("panic", "message", d.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return do()
}

// Bounds of patience with a message that panics: how often in this process, or how often
// it was received at all. A defect must not block an attempt for ever.
const (
	maxPanics   = 5
	maxReceived = 20
)

// panicked counts a panic and says whether the attempt is to be given up.
func (h *Host) panicked(d Delivery) bool {
	c := &h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics[d.ID]++
	return c.panics[d.ID] >= maxPanics || d.Count >= maxReceived
}

// giveUp ends an attempt that cannot go on.
func (h *Host) giveUp(ctx context.Context, l *live, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	row, err := h.Attempts.Attempt(ctx, AnySite, l.id)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	if err != nil {
		return fmt.Errorf("give up attempt %d: %w", l.id, err)
	}
	h.Logger.Error("attempt given up", "attempt", l.id, "why", why)
	l.halt()
	end := End{At: h.Now().UTC()}
	if err := h.load(ctx, l, nil); err == nil {
		end.Archive = h.lastState(l)
	}
	l.state = nil
	if err := h.Attempts.Finish(ctx, l.id, end); err != nil {
		return fmt.Errorf("give up attempt %d: %w", l.id, err)
	}
	if !row.Done {
		h.stats.ended(false)
		h.tellPeople(ctx, row, "Workflow session attempt failed")
	}
	l.row = row
	l.row.Done, l.row.FinishedAt = true, end.At
	l.over.Store(true)
	l.tell()
	if err := h.startWaiting(ctx, row.SessionID); err != nil {
		return err
	}
	return h.announceEnd(ctx, l.row)
}

// lastState is what is left to be shown; nil when not even that can be written.
func (h *Host) lastState(l *live) (text []byte) {
	err := h.safely(Delivery{}, func() (err error) {
		text, err = engine.EncodeState(l.state)
		return err
	})
	if err != nil {
		return nil
	}
	return text
}
