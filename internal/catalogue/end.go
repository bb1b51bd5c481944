package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// End ends an attempt for any reason: it stores the row and the archive, notifies the watchers, begins the attempts
// that waited for its session, and announces the end on the bus. It returns the updated row. A repeated call changes
// nothing, so after an error the caller ends the attempt again.
//
// The steps are in order of importance: a crash after the row is written leaves an ended attempt whose message is
// delivered again; a crash before it leaves an unfinished attempt.
func (c lifecycle) End(ctx context.Context, a host.Attempt, e host.End) (host.Attempt, error) {
	finish := func() error {
		if err := c.o.Attempts.Finish(ctx, a.ID, e); err != nil {
			return fmt.Errorf("finish attempt %d: %w", a.ID, err)
		}
		return nil
	}
	var err error
	if e.GivenUp && !a.Done {
		err = c.notifying(ctx, a, "Workflow session attempt failed", finish)
	} else {
		if e.Success && !a.Done && c.o.Keeper != nil { // before the change, like a notice of a failure
			err = c.o.Keeper.Succeeded(ctx, a)
		}
		if err == nil {
			err = finish()
		}
	}
	if err != nil {
		return a, err
	}
	if !a.Done {
		c.counts.finished.Add(1)
		if !e.Success {
			c.counts.failed.Add(1)
		}
		// The values come from the store: a requested kill stays recorded, and an attempt that had already ended keeps its
		// outcome, no matter why the caller ends it again.
		a.Done, a.Success, a.Canceled, a.FinishedAt, a.HasOutputs, a.Ignored = true, e.Success, a.Canceled || e.Canceled, e.At, e.HasOutputs, e.Ignored
		c.ended(ctx, a, e)
	}
	c.o.Live.Over(a.ID)
	if a.Canceled && c.o.Inventory != nil { // the session that it waited for may not be due for weeks
		if err := c.o.Inventory.Discard(ctx, a.ID); err != nil {
			return a, fmt.Errorf("remove the messages of attempt %d: %w", a.ID, err)
		}
	}
	if err := c.startWaiting(ctx, a.SessionID); err != nil {
		return a, err
	}
	if err := c.fillOn(ctx, a); err != nil {
		return a, err
	}
	return a, c.announceEnd(ctx, a)
}

// endUnasked is End for callers without a message that would be delivered again: it announces the end first, and again
// if the row could not be stored. Once the row is stored, nothing revisits the attempt.
func (c lifecycle) endUnasked(ctx context.Context, a host.Attempt, e host.End) error {
	over := a
	over.Done, over.Success, over.Canceled, over.FinishedAt = true, e.Success, a.Canceled || e.Canceled, e.At
	if err := c.announceEnd(ctx, over); err != nil {
		return err
	}
	if err := c.o.Attempts.Finish(ctx, a.ID, e); err != nil {
		return fmt.Errorf("finish attempt %d: %w", a.ID, err)
	}
	c.counts.finished.Add(1)
	c.counts.failed.Add(1)
	c.ended(ctx, over, e)
	c.o.Live.Over(a.ID)
	if err := c.startWaiting(ctx, a.SessionID); err != nil {
		return err
	}
	return c.fillOn(ctx, over)
}

// announceEnd announces an attempt's outcome on the bus.
func (c lifecycle) announceEnd(ctx context.Context, a host.Attempt) error {
	topic := events.AttemptFailed
	switch {
	case a.Success:
		topic = events.AttemptSucceeded
	case a.Canceled:
		topic = events.AttemptKilled
	}
	return c.Announce(ctx, a, topic, a.FinishedAt)
}

// ended records an attempt's end once: in a trace, in the counters, and in the program's own log, with the outcome and
// the reason for a failure.
func (c lifecycle) ended(ctx context.Context, a host.Attempt, e host.End) {
	c.trace(ctx, a, e.Final)
	c.o.Observer.AttemptEnded(a)
	line := append(named(a), "status", a.Status(), "took", max(0, a.FinishedAt.Sub(a.BeginsAt())).Round(time.Millisecond))
	if a.Success || a.Canceled {
		c.o.Logger.Info("attempt ended", line...)
		return
	}
	c.o.Logger.Warn("attempt failed", append(line, "task", e.Failed, "error", e.Why)...)
}

// startWaiting begins attempts that wait for a session, once all of its attempts have ended.
func (c lifecycle) startWaiting(ctx context.Context, session int64) error {
	waiting, err := c.o.Sessions.Waiting(ctx, session)
	if err != nil || len(waiting) == 0 {
		return err
	}
	before, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: waiting[0].Site, Session: session, Retried: true})
	if err != nil {
		return err
	}
	for _, a := range before {
		if !a.Done {
			return nil
		}
	}
	for _, a := range waiting {
		if err := c.beginWaiting(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// beginWaiting starts an attempt that waited, unless its project is paused: then the next sweep tries again. If its
// definition is missing or too large, the attempt ends at once, because the attempts behind it must not wait forever.
func (c lifecycle) beginWaiting(ctx context.Context, a host.Attempt) error {
	p, err := c.o.Projects.Project(ctx, a.Site, a.Project.ID)
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		return fmt.Errorf("read project: %w", err)
	}
	if !p.Paused.IsZero() {
		return nil
	}
	d, err := c.o.Reader.Definition(ctx, a.Site, a.Workflow.ID)
	if err != nil && !errors.Is(err, host.ErrNoDefinition) {
		return err
	}
	if err == nil {
		err = d.Compiled.CheckLimit(c.o.Limits.Tasks)
	}
	if err != nil {
		c.o.Logger.Error("attempt of a backfill cannot start", "attempt", a.ID, "error", err)
		return c.endUnasked(ctx, a, host.End{At: c.o.Now().UTC()})
	}
	first, err := c.first(d, a.Params, a.SessionTime, c.o.Now().UTC(), backfilling())
	if err != nil {
		return err
	}
	err = c.o.Attempts.Begin(ctx, a.ID, first, host.StartMessage())
	switch {
	case err == nil:
		c.began(a)
		return nil
	case !errors.Is(err, host.ErrConflict):
		return fmt.Errorf("begin attempt %d: %w", a.ID, err)
	}
	return c.revive(ctx, a) // perhaps this process began it and was interrupted before the first message
}

// Kill requests that an attempt be killed, and returns the attempt as it was before.
func (c lifecycle) Kill(ctx context.Context, site, id int64) (host.Attempt, error) {
	a, err := c.attempt(ctx, site, id)
	if err != nil {
		return host.Attempt{}, err
	}
	if a.Done || a.AfterSession != 0 {
		return host.Attempt{}, errKilled()
	}
	if a.Canceled {
		return a, c.killAgain(ctx, a)
	}
	if err := c.kill(ctx, a); err != nil {
		return host.Attempt{}, err
	}
	// The attempt may have ended since it was read: then no one is notified of a kill.
	if c.endedFirst(ctx, a) {
		return host.Attempt{}, errKilled()
	}
	if now, err := c.attempt(ctx, site, id); err == nil && now.Done && (now.Success || !now.Canceled) {
		return host.Attempt{}, errKilled()
	}
	return a, nil
}

// killWait is the maximum time that the response to a kill request waits for the kill to be in the log.
const killWait = 2 * time.Second

// endedFirst waits until a kill is in the log, after which no run of the attempt begins, and reports whether the
// attempt ended before the kill arrived. If that takes too long, because the store is slow or no process handles
// events, the kill is acknowledged anyway: each run checks the row before it begins.
func (c lifecycle) endedFirst(ctx context.Context, a host.Attempt) bool {
	if c.o.Inventory == nil {
		return false // a message takes too long through queues outside the store
	}
	began := time.Now()
	for wait := time.Millisecond; time.Since(began) < killWait; wait = min(2*wait, 50*time.Millisecond) {
		l, err := c.o.Reader.Load(ctx, a.ID)
		if err != nil || l.State.Canceled() {
			return false
		}
		if l.State.Ended() {
			return true
		}
		time.Sleep(wait)
	}
	return false
}

func errKilled() error { return host.Conflictf("Session attempt already killed or finished") }

// killAgain requests that `_cancel` and `_finally` tasks that the first kill left running be killed. It reads the log
// instead of the attempt in memory, whose lock may be held for as long as a store is unavailable. The engine decides
// whether the kill still applies when it arrives.
func (c lifecycle) killAgain(ctx context.Context, a host.Attempt) error {
	l, err := c.o.Reader.Load(ctx, a.ID)
	if errors.Is(err, host.ErrGone) || err == nil && !l.State.Spares() {
		return errKilled()
	}
	if err != nil {
		return err
	}
	if err := c.o.Events.Send(ctx, host.EventMessage(a.ID, "kill-again", events.Event{Kind: events.Kill, Force: true})); err != nil {
		return fmt.Errorf("send kill: %w", err)
	}
	return nil
}

// kill sends the event first: if the flag were set without an event, the next request would be refused.
func (c lifecycle) kill(ctx context.Context, a host.Attempt) error {
	if err := c.o.Events.Send(ctx, host.EventMessage(a.ID, "kill", events.Event{Kind: events.Kill})); err != nil {
		return fmt.Errorf("send kill: %w", err)
	}
	if err := c.o.Attempts.Cancel(ctx, a.ID); err != nil {
		return fmt.Errorf("flag attempt %d: %w", a.ID, err)
	}
	return nil
}

// Wake immediately runs a task that is waiting for its next run, because the event that it waits for has happened. See
// host.WakeMessage.
func (c lifecycle) Wake(ctx context.Context, attempt int64, run engine.Run) error {
	if err := c.o.Events.Send(ctx, host.WakeMessage(attempt, run)); err != nil {
		return fmt.Errorf("wake task %d of attempt %d: %w", run.Task, attempt, err)
	}
	return nil
}
