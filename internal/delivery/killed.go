package delivery

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// StopKilled stops this process's runs whose attempts were killed, or have ended, in another process: the process that
// received the kill can stop only its own runs. Their results no longer count, so stopping them late or twice changes
// nothing.
func (w *Worker) StopKilled(ctx context.Context) error {
	var errs []error
	for _, a := range w.Live.inUse() {
		if a.underWay() {
			if err := w.stopKilled(ctx, a); err != nil {
				errs = append(errs, fmt.Errorf("attempt %d: %w", a.id, err))
			}
		}
		w.Live.drop(a)
	}
	return errors.Join(errs...)
}

// stopKilled relies on the log, not the row: until the kill is in the log, an interrupted run would count as failed.
// Only the log shows a group that fails fast or has taken too long, and the cleanup after a kill.
func (w *Worker) stopKilled(ctx context.Context, a *attempt) error {
	row, err := w.Attempts.Attempt(ctx, host.AnySite, a.id)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	ends := a.state != nil && a.state.EndsTasks()
	if !row.Canceled && !row.Done && !ends {
		return nil
	}
	if !row.Done {
		if _, err := a.load(ctx); err != nil {
			a.state = nil
			return err
		}
		if !a.state.Ended() && (!a.state.Canceled() || a.state.Spares()) {
			a.haltFlagged()
			return nil
		}
	}
	a.halt()
	return nil
}

// inUse holds the attempts that are in use and returns them; each needs a drop.
func (c *Attempts) inUse() []*attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*attempt
	for _, a := range c.lives {
		if a.holders > 0 {
			a.holders++
			list = append(list, a)
		}
	}
	return list
}

// underWay reports whether a run of the attempt is under way in this process.
func (a *attempt) underWay() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.stops) > 0
}
