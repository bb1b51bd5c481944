package catalogue

import (
	"context"
	"crypto/rand"
	"fmt"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// MostReason is the most characters of the reason of a pause.
const MostReason = 1000

// Pause asks that nothing new begins in an attempt, and Unpause that it goes on; both return it as it was before. Who asks for
// what is so already asks for nothing. Each call has a message of its own name: one of before may still be on its way.
func (c lifecycle) Pause(ctx context.Context, site, id int64, who, reason string) (host.Attempt, error) {
	if n := len([]rune(reason)); n > MostReason {
		return host.Attempt{}, host.Invalidf("A reason has at most %d characters, this one has %d", MostReason, n)
	}
	return c.sendPause(ctx, site, id, events.Event{Kind: events.Pause, Who: who, Reason: reason})
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
	case a.Waits != 0:
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
