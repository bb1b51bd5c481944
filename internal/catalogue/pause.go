package catalogue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// Pause stops new work from beginning in an attempt, and Unpause lets it continue; both return the attempt as it was
// before. If the attempt is already in the requested state, they do nothing. Each call sends a message with its own
// name, because an earlier one may still be on its way.
func (c lifecycle) Pause(ctx context.Context, site, id int64, who, reason string) (host.Attempt, error) {
	if err := names.Reason(reason); err != nil {
		return host.Attempt{}, err
	}
	return c.sendPause(ctx, site, id, events.Event{Kind: events.Pause, Who: who, Reason: reason})
}

// Unpause lets a paused attempt continue.
func (c lifecycle) Unpause(ctx context.Context, site, id int64) (host.Attempt, error) {
	return c.sendPause(ctx, site, id, events.Event{Kind: events.Unpause})
}

func (c lifecycle) sendPause(ctx context.Context, site, id int64, e events.Event) (host.Attempt, error) {
	a, err := c.attempt(ctx, site, id)
	switch {
	case err != nil:
		return host.Attempt{}, err
	case a.Done || a.Canceled:
		return host.Attempt{}, errKilled()
	case a.AfterSession != 0:
		return host.Attempt{}, host.Conflictf("Session attempt has not started yet: it waits for another session")
	}
	if err := c.o.Events.Send(ctx, host.EventMessage(a.ID, string(e.Kind)+"-"+rand.Text(), e)); err != nil {
		return host.Attempt{}, fmt.Errorf("send %s: %w", e.Kind, err)
	}
	return a, nil
}

// Paused returns an attempt's pause with the user who requested it, nil if the attempt is not paused. Tasks are read
// only if the row marks it as paused.
func (c lifecycle) Paused(ctx context.Context, a host.Attempt) (paused *engine.Paused, err error) {
	if !a.Paused || a.Done {
		return nil, nil
	}
	err = c.View(ctx, a, func(s *engine.State) {
		if s != nil && !s.Ended() {
			paused = s.Paused()
		}
	})
	return paused, err
}

// PauseProject stops attempts of a project from starting, and UnpauseProject lets them start again; both return the
// updated project. Existing attempts continue. A repeated request changes nothing: the user who paused the project
// first stays on record.
func (c pushing) PauseProject(ctx context.Context, site, id int64, who, reason string) (host.Project, error) {
	if err := names.Reason(reason); err != nil {
		return host.Project{}, err
	}
	return c.setPause(ctx, site, id, host.Pause{By: who, Reason: reason, At: c.o.Now().UTC().Truncate(time.Microsecond)})
}

// UnpauseProject undoes PauseProject. Schedules fire their held sessions at once, or within a minute if this process
// ends in between.
func (c *Catalogue) UnpauseProject(ctx context.Context, site, id int64) (host.Project, error) {
	p, err := c.setPause(ctx, site, id, host.Pause{})
	if err != nil {
		return p, err
	}
	if err := c.fireHeld(ctx, p); err != nil {
		c.o.Logger.Warn("schedules of an unpaused project fire within a minute", "project", p.Name, "error", err)
	}
	return p, nil
}

// fireHeld fires the held sessions of a project's schedules now: their run time was moved by less than afterPause. The
// run time is reset to the time at which the session was due, because the file's rules for late sessions count from
// that time.
func (c scheduling) fireHeld(ctx context.Context, p host.Project) error {
	list, err := c.o.Schedules.Schedules(ctx, host.ScheduleQuery{Site: p.Site, Project: p.ID})
	if err != nil {
		return fmt.Errorf("read schedules: %w", err)
	}
	return errors.Join(each(firingSide, list, func(s host.Schedule) error {
		now := c.o.Now().UTC().Truncate(time.Second)
		isHeld := func(t host.Times) bool { return t.Run.After(now) && !t.Run.After(now.Add(afterPause)) }
		if !isHeld(s.Times) {
			return nil
		}
		_, err := c.change(ctx, s.Site, s.ID, false, func(p *planned) error {
			if due := p.times.RunTime(p.Times.Session).UTC(); isHeld(p.Times) && due.Before(now) {
				p.Times.Run = due
			}
			return nil
		})
		return err
	})...)
}

func (c pushing) setPause(ctx context.Context, site, id int64, pause host.Pause) (host.Project, error) {
	p, err := c.LivingProject(ctx, site, id)
	if err != nil || p.Paused.IsZero() == pause.IsZero() {
		return p, err
	}
	if err := c.o.Projects.PauseProject(ctx, site, id, pause); err != nil {
		return host.Project{}, fmt.Errorf("pause project: %w", err)
	}
	p.Paused = pause
	return p, nil
}
