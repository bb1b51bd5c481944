package catalogue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// MostReason is the most characters of the reason of a pause.
const MostReason = 1000

// Pause asks that nothing new begins in an attempt, and Unpause that it continues; both return it as it was before. Who
// asks for what is so already asks for nothing. Each call has a message of its own name: one of before may still be on
// its way.
func (c lifecycle) Pause(ctx context.Context, site, id int64, who, reason string) (host.Attempt, error) {
	if err := checkReason(reason); err != nil {
		return host.Attempt{}, err
	}
	return c.sendPause(ctx, site, id, events.Event{Kind: events.Pause, Who: who, Reason: reason})
}

func checkReason(reason string) error {
	if n := len([]rune(reason)); n > MostReason {
		return host.Invalidf("A reason has at most %d characters, this one has %d", MostReason, n)
	}
	if strings.ContainsFunc(reason, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return host.Invalidf("A reason is one line of text, without control characters: %q", reason)
	}
	return nil
}

// Unpause lets an attempt go on that Pause has stopped.
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
		return host.Attempt{}, host.Conflictf("Session attempt has not begun: it waits for another session")
	}
	if err := c.o.Events.Send(ctx, host.EventMessage(a.ID, string(e.Kind)+"-"+rand.Text(), e)); err != nil {
		return host.Attempt{}, fmt.Errorf("send %s: %w", e.Kind, err)
	}
	return a, nil
}

// Paused says who has paused an attempt, nil when nobody has. Only of one whose row says so are the tasks read.
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

// PauseProject lets no attempt of a project start, and UnpauseProject lets them start again; both return the project as
// it is then. Attempts that there are continue. Who asks for what is so already changes nothing: the first one to pause
// it stays the one who did.
func (c pushing) PauseProject(ctx context.Context, site, id int64, who, reason string) (host.Project, error) {
	if err := checkReason(reason); err != nil {
		return host.Project{}, err
	}
	return c.setPause(ctx, site, id, host.Pause{By: who, Reason: reason, At: c.o.Now().UTC().Truncate(time.Microsecond)})
}

// UnpauseProject is described there. Schedules fire what they have held at once, and within a minute where this process ends in between.
func (c *Catalogue) UnpauseProject(ctx context.Context, site, id int64) (host.Project, error) {
	p, err := c.setPause(ctx, site, id, host.Pause{})
	if err != nil {
		return p, err
	}
	if err := c.fireHeld(ctx, p); err != nil {
		c.o.Logger.Warn("schedules of a project that goes on fire within a minute", "project", p.Name, "error", err)
	}
	return p, nil
}

// fireHeld has schedules of a project fire now whose sessions are held: their run time was moved by less than afterPause. It is again
// the time at which the session was to run: what the file says of sessions that are too late counts from there.
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
