package delivery

import (
	"context"
	"errors"
	"fmt"

	"zerodag/events"
	"zerodag/internal/host"
)

// pause pauses the attempt or lets it continue, and then updates its row: readers of rows read the tasks only if the
// row is marked as paused. The message is delivered again until both are done.
func (d *delivery) pause(ctx context.Context, e events.Event) error {
	err := d.apply(ctx, d.attempt, propose(d.guard, e.Engine(d.guard)...))
	if errors.Is(err, host.ErrGone) || errors.Is(err, host.ErrNotFound) {
		return nil // it has ended; whether it was paused no longer matters
	}
	if err != nil {
		return err
	}
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.ensure(ctx); errors.Is(err, host.ErrGone) {
		return nil
	} else if err != nil {
		return err
	}
	if a.state.Ended() {
		return nil
	}
	if err := d.Attempts.SetPaused(ctx, a.id, a.state.Paused() != nil); err != nil {
		return fmt.Errorf("record the pause of attempt %d: %w", a.id, err)
	}
	a.row.Paused = a.state.Paused() != nil
	return nil
}
