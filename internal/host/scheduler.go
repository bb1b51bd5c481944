package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/schedule"
)

// Bounds of the scheduler: how many schedules are looked at together, how many fire side
// by side, and how often the clock is looked at in case it was set or stood still.
const (
	dueAtOnce  = 200
	firingSide = 16
	clockCheck = time.Second
)

// What a schedule waits when its attempt cannot start (engine.md 2.9).
const (
	afterLimit = 10 * time.Minute
	afterError = time.Hour
)

// scheduler fires schedules at their time, until ctx ends.
func (h *Host) scheduler(ctx context.Context) {
	for ctx.Err() == nil {
		due, err := h.Schedules.Due(ctx, time.Time{}, h.Now(), dueAtOnce)
		if err != nil && ctx.Err() == nil {
			h.trouble(ctx, "read due schedules", err)
			continue
		}
		due, release := h.settled(due)
		if len(due) > 0 {
			if err := h.fireAll(ctx, due); err != nil && ctx.Err() == nil {
				h.trouble(ctx, "fire schedules", err)
			}
			continue
		}
		if !release.IsZero() {
			h.await(ctx, release)
			continue
		}
		next, err := h.Schedules.NextDue(ctx)
		if err != nil {
			if ctx.Err() == nil {
				h.trouble(ctx, "read next schedule", err)
			}
			continue
		}
		h.await(ctx, next)
	}
}

// settleTime is how long a new schedule waits before it catches up on sessions that were
// past when it was made: who pushed it sees it as pushed, and can still correct it.
const settleTime = time.Second

// settled leaves out new schedules that wait, and says until when the first one does.
func (h *Host) settled(due []Schedule) (ready []Schedule, release time.Time) {
	for _, s := range due {
		until := s.CreatedAt.Add(settleTime)
		if now := h.Now(); s.Times.Run.After(s.CreatedAt) || !now.Before(until) || now.Before(s.CreatedAt) { // or the clock was set back
			ready = append(ready, s)
		} else if release.IsZero() || until.Before(release) {
			release = until
		}
	}
	return ready, release
}

// await waits for a time, a change of a schedule, or the end of ctx. It looks at the
// clock again and again: timers do not run while a machine is suspended.
func (h *Host) await(ctx context.Context, next time.Time) {
	for {
		wait := clockCheck
		if !next.IsZero() {
			wait = min(wait, next.Sub(h.Now()))
		}
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-h.rescheduled:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// schedulesChanged makes the scheduler look again.
func (h *Host) schedulesChanged() {
	select {
	case h.rescheduled <- struct{}{}:
	default: // it will look anyway
	}
}

// fireAll fires schedules side by side.
func (h *Host) fireAll(ctx context.Context, due []Schedule) error {
	return sideBySide(due, func(s Schedule) error {
		if err := h.fire(ctx, s); err != nil {
			return fmt.Errorf("schedule %d: %w", s.ID, err)
		}
		return nil
	})
}

// sideBySide fires what a list names. The error is one of them: what failed is still due. A
// schedule that was moved or deleted meanwhile is somebody else's business.
func sideBySide[T any](list []T, fire func(T) error) error {
	slots := make(chan struct{}, firingSide)
	failed := make(chan error, 1)
	for _, x := range list {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			if err := fire(x); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
				select {
				case failed <- err:
				default:
				}
			}
		}()
	}
	for range firingSide {
		slots <- struct{}{}
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// fire starts the attempt of a due schedule, then moves the schedule: never the reverse,
// or a crash between would lose a session.
func (h *Host) fire(ctx context.Context, s Schedule) error {
	var next Times
	err := h.safely(Delivery{}, func() (err error) {
		next, err = h.firing(ctx, s)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return err
	}
	now := h.Now().UTC()
	switch {
	case err == nil:
	case errors.Is(err, ErrUnavailable):
		return err
	case errors.Is(err, errTooManyAttempts):
		h.Logger.Warn("schedule waits: too many attempts are running", "schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name, "for", afterLimit)
		next = s.Times
		next.Run = now.Truncate(time.Second).Add(afterLimit)
	case errors.Is(err, ErrNotFound):
		next = s.Times
		next.Run = s.Times.Run.Add(afterError)
	default:
		h.Logger.Error("schedule cannot start its workflow", "schedule", s.ID, "project", s.Project.Name, "workflow", s.Workflow.Name, "again in", afterError, "error", err)
		next = s.Times
		next.Run = now.Add(afterError)
	}
	old := s.Times
	s.Times = next
	if err := h.Schedules.Update(ctx, s, old, now); err != nil {
		return err
	}
	return h.sendSoon(ctx, s)
}

// firing starts the attempt unless it is to be skipped, and says where the schedule goes.
func (h *Host) firing(ctx context.Context, s Schedule) (Times, error) {
	d, err := h.definition(ctx, s.Site, s.Workflow.ID)
	if err != nil {
		return Times{}, err
	}
	times, err := scheduleOf(d.workflow.Config, d.workflow.Zone)
	if err != nil {
		return Times{}, err
	}
	if times == nil {
		return Times{}, ErrNotFound
	}
	t := s.Times
	next := times.Next(t.Session)
	started := Times{Run: next.RunTime.UTC(), Session: next.Time.UTC(), Last: t.Session}
	skipped := Times{Run: next.RunTime.UTC(), Session: next.Time.UTC(), Last: t.Last}
	there, err := h.isThere(ctx, s)
	if err != nil || there { // fired before, and then we were cut off
		return started, err
	}
	if skip, err := h.skips(ctx, s, times); err != nil || skip {
		return skipped, err
	}
	_, err = h.Start(ctx, StartRequest{Site: s.Site, Workflow: s.Workflow.ID, SessionTime: t.Session, runTime: t.Run, lastExecuted: t.Last})
	var e *Error
	if errors.As(err, &e) && e.Existing != nil {
		return started, nil
	}
	if err == nil {
		h.stats.fired(h.Now().Sub(t.Run))
	}
	return started, err
}

func (h *Host) isThere(ctx context.Context, s Schedule) (bool, error) {
	last, err := h.Sessions.LastSession(ctx, s.Project.ID, s.Workflow.Name, s.Times.Session.Add(time.Second))
	return err == nil && last.Equal(s.Times.Session), err
}

// skips says whether this session is left out (engine.md 2.9).
func (h *Host) skips(ctx context.Context, s Schedule, times *schedule.Schedule) (bool, error) {
	if times.HasSkipDelayed && h.Now().After(s.Times.Run.Add(times.SkipDelayedBy)) {
		return true, nil
	}
	if !times.SkipOnOvertime {
		return false, nil
	}
	for after := int64(0); ; {
		active, err := h.Sessions.Active(ctx, s.Site, after, dueAtOnce)
		if err != nil {
			return false, err
		}
		for _, a := range active {
			if a.Project.ID == s.Project.ID && a.Workflow.Name == s.Workflow.Name {
				return true, nil
			}
			after = a.ID
		}
		if len(active) < dueAtOnce {
			return false, nil
		}
	}
}
