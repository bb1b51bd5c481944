package catalogue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/schedule"
	"zerodag/events"
	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
)

// Fire fires the due schedules of a list concurrently. again means that an earlier call may have fired some and ended
// in the middle. The error joins all errors; schedules that failed are still due. A schedule that was moved or deleted
// meanwhile is left to the caller that did so.
func (c scheduling) Fire(ctx context.Context, list []events.Firing, again bool) error {
	return sideBySide(list, func(f events.Firing) error {
		if err := c.fireNamed(ctx, f, again); err != nil {
			return fmt.Errorf("schedule %d: %w", f.Schedule, err)
		}
		return nil
	})
}

// firingSide is the number of schedules that fire concurrently.
const firingSide = 16

func sideBySide[T any](list []T, fire func(T) error) error {
	failed := each(firingSide, list, func(x T) error {
		err := fire(x)
		if errors.Is(err, host.ErrConflict) || errors.Is(err, host.ErrNotFound) {
			return nil
		}
		return err
	})
	if len(failed) == 0 {
		return nil
	}
	return failed[0]
}

// each calls do for each element of a list, up to n at a time, and returns the errors. If n or the length of the list
// is 1, it runs in the caller's goroutine.
func each[T any](n int, list []T, do func(T) error) (failed []error) {
	if n <= 1 || len(list) == 1 {
		for _, x := range list {
			if err := do(x); err != nil {
				failed = append(failed, err)
			}
		}
		return failed
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, n)
	for _, x := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := do(x); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	all.Wait()
	return failed
}

// fireNamed fires a schedule unless it was moved since. again means that an earlier call may have moved it and ended
// before the change was announced.
func (c scheduling) fireNamed(ctx context.Context, f events.Firing, again bool) error {
	s, err := c.o.Schedules.Schedule(ctx, f.Site, f.Schedule)
	switch {
	case err != nil:
		return err
	case !s.DisabledAt.IsZero():
		return nil
	case s.Times.Run.Unix() == f.Run:
		if wait := s.Times.Run.Sub(c.o.Now()); wait > 0 && wait < time.Second {
			c.o.Retry.Wait(ctx, wait)
		}
		return c.fire(ctx, s)
	case again:
		return c.moved(ctx, s)
	}
	return nil
}

// Delays of a schedule whose attempt cannot start (engine.md 2.9).
const (
	afterLimit = 10 * time.Minute
	afterError = time.Hour
	afterPause = time.Minute // while the project is paused
)

// fire starts the attempt of a due schedule, then moves the schedule. In the reverse order, a crash in between would
// lose a session.
func (c scheduling) fire(ctx context.Context, s host.Schedule) error {
	var next host.Times
	err := host.Recover(c.o.Logger, fmt.Sprintf("schedule %d", s.ID), func() (err error) {
		next, err = c.startScheduled(ctx, s)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return err
	}
	now, full := c.o.Now().UTC(), errors.Is(err, host.ErrTooManyAttempts)
	log := c.o.Logger.With("schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name)
	switch {
	case err == nil:
	case errors.Is(err, host.ErrUnavailable):
		return err
	case full:
		log.Warn("schedule waits: too many attempts are running", "at most", afterLimit)
		next = s.Times
		next.Run = now.Truncate(time.Second).Add(afterLimit)
	case errors.Is(err, host.ErrPaused):
		log.Info("schedule waits", "for", afterPause, "why", err)
		next = s.Times
		next.Run = now.Truncate(time.Second).Add(afterPause)
	case errors.Is(err, host.ErrNotFound):
		next = s.Times
		next.Run = s.Times.Run.Add(afterError)
	default:
		log.Error("schedule cannot start its workflow", "again in", afterError, "error", err)
		c.notify(ctx, s, host.Attempt{}, host.NoticeStartFailed, "Schedule could not start the workflow: "+err.Error())
		next = s.Times
		next.Run = now.Add(afterError)
	}
	old := s.Times
	s.Times = next
	if err := c.o.Schedules.Update(ctx, s, old, now); err != nil {
		return err
	}
	if full {
		if c.held.put(s) {
			c.notify(ctx, s, host.Attempt{}, host.NoticeStartFailed, "Schedule waits to start the workflow: too many attempts are running")
		}
	} else {
		c.held.forget(s.ID)
	}
	return c.moved(ctx, s)
}

// notify notifies users about a schedule, and about the attempt that it started, if any. A server without an outbox sends
// no such notices, and a notice that cannot be stored is only logged: schedules do not wait for notices.
func (c scheduling) notify(ctx context.Context, s host.Schedule, a host.Attempt, kind host.NoticeKind, message string) {
	if c.o.Keeper == nil {
		return
	}
	a.Site, a.Project, a.Workflow, a.SessionTime = s.Site, s.Project, s.Workflow, s.Times.Session
	n := host.Notice{Kind: kind, Message: engine.Shortened(message), Attempt: a}
	if w, err := c.o.Workflows.Workflow(ctx, s.Site, s.Workflow.ID); err == nil {
		n.Revision, n.Tags, n.Attempt.Zone = w.Revision.Name, keys.TagsOf(w.Config), w.Zone
	}
	if err := c.o.Keeper.Keep(ctx, n, fmt.Sprintf("schedule %d/%s/%d", s.ID, kind, s.Times.Session.Unix())); err != nil {
		c.o.Logger.Error("notification not stored", "schedule", s.ID, "message", message, "error", err)
	}
}

// startScheduled starts the attempt unless it must be skipped, and returns the schedule's next times. It may be called
// again for the same session, after a crash or by another process: then the attempt already exists, and only the
// schedule advances.
func (c scheduling) startScheduled(ctx context.Context, s host.Schedule) (host.Times, error) {
	d, err := c.o.Reader.Definition(ctx, s.Site, s.Workflow.ID)
	if err != nil {
		return host.Times{}, err
	}
	times, err := scheduleOf(d.Workflow.Config, d.Workflow.Zone)
	if err != nil {
		return host.Times{}, err
	}
	if times == nil {
		return host.Times{}, host.ErrNotFound
	}
	t := s.Times
	next := times.Next(t.Session)
	started := host.Times{Run: next.RunTime.UTC(), Session: next.Time.UTC(), Last: t.Session}
	skipped := host.Times{Run: next.RunTime.UTC(), Session: next.Time.UTC(), Last: t.Last}
	there, err := c.isThere(ctx, s)
	if err != nil || there { // an earlier call fired it but was interrupted
		return started, err
	}
	if to, late := c.tooLate(times, t, t.Run); late {
		return to, nil
	}
	if skip, err := c.skips(ctx, s, times); err != nil || skip {
		return skipped, err
	}
	a, err := c.attempts.Start(ctx, StartRequest{Site: s.Site, Workflow: s.Workflow.ID, SessionTime: t.Session, Once: true, runTime: t.Run, lastExecuted: t.Last})
	var e *host.Error
	switch {
	case errors.As(err, &e) && e.Existing != nil:
		return started, nil
	case errors.Is(err, host.ErrAtLimit):
		c.o.Logger.Info("schedule skips a session", "schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name, "session", sessiontime.Text(t.Session), "why", e.Message)
		return skipped, nil
	case errors.Is(err, host.ErrPaused): // the session is held, unless the file's rules make it too late
		if to, late := c.tooLate(times, t, times.RunTime(t.Session)); late {
			c.o.Logger.Info("schedule skips a session", "schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name, "session", sessiontime.Text(t.Session), "why", err)
			return to, nil
		}
		return started, err
	case errors.Is(err, host.ErrForgotten):
		c.o.Logger.Warn("schedule skips a session that was removed", "schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name, "session", sessiontime.Text(t.Session))
		return started, nil
	}
	if err == nil {
		c.counts.fired.Add(1)
		now, due := c.o.Now(), t.Run
		if due.After(now) { // it was put off, and FireHeld fires it earlier
			due = times.RunTime(t.Session)
		}
		delay := now.Sub(due)
		c.counts.delay.Store(int64(delay))
		if delay > host.LateStart {
			c.o.Observer.StartedLate(host.Attempt{Site: s.Site, Project: s.Project, Workflow: s.Workflow})
			c.notify(ctx, s, a, host.NoticeLate, fmt.Sprintf("Workflow was started %v late", delay.Round(time.Second)))
		}
	}
	return started, err
}

// tooLate reports whether `catch_up` or `skip_delayed_by` skips the session that is due (engine.md 2.9), and if so
// returns the schedule's next times. run is when the session was due to run.
func (c scheduling) tooLate(times *schedule.Schedule, t host.Times, run time.Time) (host.Times, bool) {
	now := c.o.Now()
	to := times.CaughtUp(t.Session, run, now)
	if to.Time.Equal(t.Session) {
		if !times.HasSkipDelayed || !now.After(run.Add(times.SkipDelayedBy)) {
			return t, false
		}
		to = times.Next(t.Session)
	}
	return host.Times{Run: to.RunTime.UTC(), Session: to.Time.UTC(), Last: t.Last}, true
}

func (c scheduling) isThere(ctx context.Context, s host.Schedule) (bool, error) {
	last, err := c.o.Sessions.LastSession(ctx, s.Project.ID, s.Workflow.Name, s.Times.Session.Add(time.Second))
	return err == nil && last.Equal(s.Times.Session), err
}

// atOnce is how many rows one query reads.
const atOnce = 200

// skips reports whether a session is skipped because of `skip_on_overtime` (engine.md 2.9) or `skip_if_successful`.
func (c scheduling) skips(ctx context.Context, s host.Schedule, times *schedule.Schedule) (bool, error) {
	if times.SkipIfSuccessful {
		if done, err := c.doneByHand(ctx, s, times); err != nil || done {
			return done, err
		}
	}
	if !times.SkipOnOvertime {
		return false, nil
	}
	active, err := c.activeOf(ctx, host.Workflow{Site: s.Site, Project: s.Project, Name: s.Workflow.Name}, 1, func(a host.Attempt) bool { return !a.StartsAt.After(c.o.Now()) })
	return len(active) > 0, err
}

// doneByHand reports whether the workflow has succeeded since the session before this one was due, in an attempt
// outside the schedule's own sessions. The schedule's sessions prove nothing about this one: each is for a different
// time, and when it ends depends on its duration, on retries, and on how many sessions catch up at once. Only the
// workflow's newest attempts are read.
func (c scheduling) doneByHand(ctx context.Context, s host.Schedule, times *schedule.Schedule) (bool, error) {
	since := times.Before(s.Times.Session)
	list, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: s.Site, Project: s.Project.ID, Workflow: s.Workflow.Name, Retried: true, Count: atOnce})
	if err != nil {
		return false, fmt.Errorf("read attempts: %w", err)
	}
	for _, a := range list {
		own := times.Has(a.SessionTime) || a.SessionTime.Equal(s.Times.Last)
		if a.Success && !own && (since.IsEnded() || a.FinishedAt.After(since.RunTime)) {
			return true, nil
		}
	}
	return false, nil
}
