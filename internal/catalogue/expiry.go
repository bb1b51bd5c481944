package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// LookAfter checks all unfinished attempts once, kills attempts that live too long, begins waiting ones if possible,
// and deletes old logs and attempts. A problem with one attempt does not affect the others.
func (c lifecycle) LookAfter(ctx context.Context) error {
	_, _, failed := c.Sweep(ctx, 0)
	_, err := c.o.Attempts.Expire(ctx, c.o.Now().Add(-c.o.Limits.Retention), atOnce)
	return errors.Join(failed, err, c.forgetSome(ctx))
}

// Sweep checks the attempts with ids above after, as LookAfter does, until there are no more (over) or ctx ends. next
// is the last id that it reached. An error concerns either single attempts, which the next sweep checks again, or the
// store.
func (c lifecycle) Sweep(ctx context.Context, after int64) (next int64, over bool, err error) {
	var failed []error
	for now := c.o.Now(); ; {
		list, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: host.AnySite, After: after, Count: atOnce})
		if err != nil {
			return after, false, errors.Join(append(failed, err)...)
		}
		busy := map[int64]bool{} // sessions with an unfinished attempt
		for _, a := range list {
			busy[a.SessionID] = true
		}
		// Only a few at a time, so that even an interrupted call has made progress.
		for some := range slices.Chunk(list, max(1, c.o.Limits.Looks)) {
			wrong := c.lookAfterSome(ctx, some, busy, now)
			if ctx.Err() != nil { // some attempts were not checked: the next sweep checks all of these again
				return after, false, errors.Join(failed...)
			}
			failed, after = append(failed, wrong...), some[len(some)-1].ID
		}
		if len(list) < atOnce {
			return after, true, errors.Join(append(failed, c.checkPools(ctx), c.checkBackfills(ctx), c.checkMessages(ctx))...)
		}
	}
}

// lookAfterSome checks attempts concurrently. Attempts that wait for a busy session begin when it ends.
func (c lifecycle) lookAfterSome(ctx context.Context, some []host.Attempt, busy map[int64]bool, now time.Time) []error {
	return each(c.o.Limits.Looks, some, func(a host.Attempt) error {
		if busy[a.AfterSession] || ctx.Err() != nil {
			return ctx.Err()
		}
		err := host.Recover(c.o.Logger, fmt.Sprintf("attempt %d", a.ID), func() error { return c.lookAfter(ctx, a, now) })
		if err != nil && !errors.Is(err, host.ErrGone) { // ErrGone: it ended meanwhile
			return fmt.Errorf("attempt %d: %w", a.ID, err)
		}
		return nil
	})
}

// lookAfter checks one attempt: a waiting attempt may begin; an attempt that is too old, or has a task that has been
// under way for too long, is killed. Tasks are read only if the attempt is old enough to have such a task.
func (c lifecycle) lookAfter(ctx context.Context, a host.Attempt, now time.Time) error {
	switch {
	case a.AfterSession != 0:
		return c.startWaiting(ctx, a.AfterSession)
	case c.mayNeverHaveBegun(a, now):
		if err := c.revive(ctx, a); err != nil {
			return err
		}
	}
	switch {
	case a.Canceled:
		return c.endKilled(ctx, a, now)
	case now.Sub(a.BeginsAt()) > c.o.Limits.AttemptTTL:
		return c.timeOut(ctx, a, "Workflow execution timeout")
	case now.Sub(a.BeginsAt()) <= c.o.Limits.TaskTTL:
		return nil // none of its tasks can be that old
	}
	var late []string
	err := c.View(ctx, a, func(s *engine.State) {
		if s != nil {
			late = startedBefore(s, now.Add(-c.o.Limits.TaskTTL))
		}
	})
	if err != nil || len(late) == 0 {
		return err
	}
	return c.timeOut(ctx, a, "Task execution timeout: "+strings.Join(late, ","))
}

// startedBefore returns the ids of tasks that started before a given time and are running or waiting for a retry.
func startedBefore(s *engine.State, start time.Time) (tasks []string) {
	for _, t := range s.Tasks() {
		underWay := t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting || t.State == engine.Running
		if underWay && !t.Cancel && !t.StartedAt.IsZero() && t.StartedAt.Before(start) {
			tasks = append(tasks, fmt.Sprint(t.ID))
		}
	}
	return tasks
}

// timeOut kills an attempt and notifies users of the reason.
func (c lifecycle) timeOut(ctx context.Context, a host.Attempt, message string) error {
	return c.notifying(ctx, a, message, func() error {
		c.o.Logger.Warn("attempt is killed", "attempt", a.ID, "why", message)
		return c.kill(ctx, a)
	})
}

// silence is the margin that is added to the longest duration that a task may have: a killed attempt in which nothing
// has happened for that long is ended.
const silence = time.Hour

// endKilled ends an attempt that was killed long ago and in which nothing has happened since: its runs no longer exist,
// for example because a table was restored or the queues were lost, and it would count against the limit of attempts
// forever. Work that its operators started elsewhere is not stopped.
func (c lifecycle) endKilled(ctx context.Context, a host.Attempt, now time.Time) error {
	most := c.o.Limits.TaskTTL + silence
	if now.Sub(a.CreatedAt) <= most {
		return nil
	}
	var last time.Time
	var archive []byte
	var wrong error
	err := c.View(ctx, a, func(s *engine.State) {
		if s == nil || !s.Canceled() {
			last = now // its kill has not been processed yet
			return
		}
		for _, t := range s.Tasks() {
			if t.UpdatedAt.After(last) {
				last = t.UpdatedAt
			}
		}
		archive, wrong = engine.EncodeState(s)
	})
	if err = errors.Join(err, wrong); err != nil || now.Sub(last) <= most {
		return err
	}
	c.o.Logger.Warn("killed attempt is ended: it made no more progress", "attempt", a.ID, "since", last.Format(time.RFC3339))
	return c.endUnasked(ctx, a, host.End{At: now.UTC(), Canceled: true, Archive: archive})
}
