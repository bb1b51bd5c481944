package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
)

// reaper looks after attempts that live too long, those that wait, and old logs.
func (h *Host) reaper(ctx context.Context) {
	ticker := time.NewTicker(h.Limits.ReapInterval)
	defer ticker.Stop()
	for {
		if err := h.reap(ctx); err != nil && ctx.Err() == nil {
			h.stats.errors.Add(1)
			h.Logger.Error("look after attempts", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// LookAfter looks once after all attempts: those that live too long, and those that wait.
func (h *Host) LookAfter(ctx context.Context) error { return h.reap(ctx) }

// reap looks at all attempts that are not over; trouble with one keeps it from none.
func (h *Host) reap(ctx context.Context) error {
	now := h.Now()
	var failed error
	busy := map[int64]bool{} // sessions with an unfinished attempt
	for after := int64(0); ; {
		list, err := h.Sessions.Active(ctx, AnySite, after, dueAtOnce)
		if err != nil {
			return err
		}
		for _, a := range list {
			after = a.ID
			busy[a.SessionID] = true
			if busy[a.Waits] || ctx.Err() != nil {
				continue
			}
			err := h.safely(Delivery{}, func() error { return h.lookAfter(ctx, a, now) })
			if err != nil && !errors.Is(err, errGone) { // it ended meanwhile
				failed = errors.Join(failed, fmt.Errorf("attempt %d: %w", a.ID, err))
			}
		}
		if len(list) < dueAtOnce {
			break
		}
	}
	_, err := h.Attempts.Expire(ctx, now.Add(-h.Limits.Retention), dueAtOnce)
	return errors.Join(failed, err)
}

func (h *Host) lookAfter(ctx context.Context, a Attempt, now time.Time) error {
	switch {
	case a.Waits != 0:
		return h.startWaiting(ctx, a.Waits)
	case a.Canceled:
		return nil
	case now.Sub(a.CreatedAt) > h.Limits.AttemptTTL:
		return h.timeOut(ctx, a, "Workflow execution timeout")
	case now.Sub(a.CreatedAt) <= h.Limits.TaskTTL:
		return nil // none of its tasks can be that old
	}
	var late []string
	err := h.View(ctx, a, func(s *engine.State) {
		if s == nil {
			return
		}
		for _, t := range s.Tasks() {
			waits := t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting || t.State == engine.Running
			if waits && !t.Cancel && !t.StartedAt.IsZero() && now.Sub(t.StartedAt) > h.Limits.TaskTTL {
				late = append(late, fmt.Sprint(t.ID))
			}
		}
	})
	if err != nil || len(late) == 0 {
		return err
	}
	return h.timeOut(ctx, a, "Task execution timeout: "+strings.Join(late, ","))
}

func (h *Host) timeOut(ctx context.Context, a Attempt, message string) error {
	h.Logger.Warn("attempt is killed", "attempt", a.ID, "why", message)
	if err := h.kill(ctx, a); err != nil {
		return err
	}
	h.tellPeople(ctx, a, message)
	return nil
}

// tellPeople sends a notice about an attempt, in the background: it may be tried again and
// again for minutes.
func (h *Host) tellPeople(ctx context.Context, a Attempt, message string) {
	n := Notice{Message: message, Attempt: a}
	if w, err := h.Workflows.Workflow(ctx, a.Site, a.Workflow.ID); err == nil {
		n.Revision = w.Revision.Name
	}
	h.working.Go(func() {
		if err := h.Notices.Notify(ctx, n); err != nil {
			h.Logger.Error("notification not delivered", "attempt", a.ID, "message", message, "error", err)
		}
	})
}
