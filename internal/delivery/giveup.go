package delivery

import (
	"context"
	"errors"
	"fmt"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Limits for a message that causes panics: how many panics in this process, and how many times it was received in
// total. A bug must not block an attempt forever.
const (
	maxPanics   = 5
	maxReceived = 20
)

// isAbout reports whether an error concerns one message or its attempt, as opposed to the store.
func isAbout(err error) bool {
	return errors.Is(err, host.ErrPanic) || errors.Is(err, host.ErrGone) || errors.Is(err, host.ErrNoDefinition)
}

// isHopeless reports whether a message failed in a way that no retry can change.
func (d *delivery) isHopeless(err error) bool {
	if errors.Is(err, host.ErrNoDefinition) && errors.Is(err, host.ErrNotFound) {
		return true
	}
	return errors.Is(err, host.ErrPanic) && d.panicked()
}

// panicked counts a panic and reports whether to give up on the attempt.
func (d *delivery) panicked() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.panics[d.message.ID]++
	return d.panics[d.message.ID] >= maxPanics || d.message.Count >= maxReceived
}

// giveUp ends an attempt that cannot continue.
func (d *delivery) giveUp(ctx context.Context, why error) error {
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	row, err := d.Attempts.Attempt(ctx, host.AnySite, a.id)
	if errors.Is(err, host.ErrNotFound) {
		return fmt.Errorf("%w: %w", host.ErrGone, err)
	}
	if err != nil {
		return fmt.Errorf("abandon attempt %d: %w", a.id, err)
	}
	d.Logger.Error("attempt abandoned", "attempt", a.id, "why", why)
	a.halt()
	end := host.End{At: d.Now().UTC(), GivenUp: true}
	if _, err := a.load(ctx); err == nil {
		end.Archive = d.lastState()
	}
	a.state = nil
	a.row, err = d.Catalogue.End(ctx, row, end)
	return err
}

// lastState returns the state that can still be shown; nil if even that cannot be encoded.
func (d *delivery) lastState() (text []byte) {
	err := d.safely(func() (err error) {
		text, err = engine.EncodeState(d.attempt.state)
		return err
	})
	if err != nil {
		return nil
	}
	return text
}
