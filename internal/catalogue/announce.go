package catalogue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/schedule"
	"zerodag/events"
	"zerodag/internal/host"
)

// Announce publishes an attempt's event on the bus. A caller that gets an error announces the event again, because the
// message that caused the call is deleted only afterwards.
func (c lifecycle) Announce(ctx context.Context, a host.Attempt, topic events.Topic, at time.Time) error {
	session := a.SessionTime
	if zone, err := schedule.Zone(a.Zone); err == nil {
		session = session.In(zone)
	}
	id := strconv.FormatInt(a.ID, 10)
	x := events.Announcement{Topic: topic, Time: at, Detail: events.AttemptDetail{
		ID: id + "/" + strings.ToLower(strings.ReplaceAll(string(topic), " ", "-")), SiteID: a.Site,
		ProjectID: strconv.FormatInt(a.Project.ID, 10), Project: a.Project.Name, Workflow: a.Workflow.Name,
		SessionID: strconv.FormatInt(a.SessionID, 10), SessionUUID: a.SessionUUID, SessionTime: session.Format(time.RFC3339),
		AttemptID: id, RetryAttemptName: a.RetryName, Status: a.Status(), CreatedAt: a.CreatedAt, FinishedAt: a.FinishedAt,
	}}
	if err := c.o.Bus.Announce(ctx, x); err != nil {
		return fmt.Errorf("announce %q of attempt %d: %w", topic, a.ID, err)
	}
	return nil
}

// trace delivers the trace of an attempt that has ended, in the background. AwaitBackground waits for the delivery.
func (c lifecycle) trace(ctx context.Context, a host.Attempt, final *engine.State) {
	if c.o.Traces == nil {
		return
	}
	deliver := c.o.Traces.Trace(a, final) // created here because the state may change or be dropped later
	ctx = context.WithoutCancel(ctx)
	c.telling.begin(func() {
		err := host.Recover(c.o.Logger, fmt.Sprintf("trace of attempt %d", a.ID), func() error { return deliver(ctx) })
		if err != nil {
			c.o.Logger.Error("trace not delivered", "attempt", a.ID, "error", err)
		}
	})
}

// notifying changes an attempt and notifies users of the change. A notice that is stored comes first: nothing checks a
// changed attempt again, so no one would be notified if this process died in between.
func (c lifecycle) notifying(ctx context.Context, a host.Attempt, message string, change func() error) error {
	first, second := change, func() error { return c.NotifyOf(ctx, a, host.Notice{Kind: host.NoticeFailure, Message: message}) }
	if c.o.Keeper != nil {
		first, second = second, first
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// NotifyOf notifies users about an attempt; n has the kind, the message and the task. It returns once a Keeper has
// stored the notice; after an error, the caller tries again. Without a Keeper, it sends the notice in the background,
// even after the caller's ctx has ended, and returns no error; AwaitBackground waits for it.
func (c lifecycle) NotifyOf(ctx context.Context, a host.Attempt, n host.Notice) error {
	n.Attempt = a
	w, err := c.o.Workflows.Workflow(ctx, a.Site, a.Workflow.ID)
	switch {
	case err == nil:
		n.Revision, n.Tags = w.Revision.Name, keys.TagsOf(w.Config)
	case c.o.Keeper != nil && !errors.Is(err, host.ErrNotFound): // without its tags, routes would miss the notice
		return fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	if c.o.Keeper != nil {
		return c.o.Keeper.Keep(ctx, n, fmt.Sprintf("%d/%s", a.ID, n.Task))
	}
	ctx = context.WithoutCancel(ctx)
	c.telling.begin(func() {
		err := host.Recover(c.o.Logger, fmt.Sprintf("notice of attempt %d", a.ID), func() error { return c.o.Notices.Notify(ctx, n) })
		if err != nil {
			c.o.Logger.Error("notification not delivered", "attempt", a.ID, "message", n.Message, "error", err)
			c.o.Observer.NoticeLost(a)
		}
	})
	return nil
}
