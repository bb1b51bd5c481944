package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// StartByEvent starts the workflow that an event on the bus, an EventBridge schedule or a rule names. named means that
// the author of such a rule chose the parameters; otherwise they are data, and none may decide what a task does. Events
// with the same ID start it once. An event that can never start anything is logged and announced, but is not an error.
// host.StartsLater reports for which errors the start may succeed later.
func (c *Catalogue) StartByEvent(ctx context.Context, d events.StartDetail, named bool) error {
	r, err := c.startRequest(ctx, d)
	if err == nil {
		r.Params, r.Outside = param.DataMap(r.Params), !named
		_, err = c.Start(ctx, r)
	}
	var user *host.Error
	switch {
	case !errors.As(err, &user) || host.StartsLater(err):
		return err
	case user.Existing != nil:
		return nil
	}
	c.o.Logger.Error("event starts nothing", "event", d.ID, "project", d.Project, "workflow", d.Workflow, "error", err)
	return c.announceRefusal(ctx, d, err)
}

// announceRefusal announces on the bus that an event requested a start that can never succeed.
func (c *Catalogue) announceRefusal(ctx context.Context, d events.StartDetail, why error) error {
	now := c.o.Now().UTC()
	x := events.Announcement{Topic: events.StartRefused, Time: now, Detail: events.AttemptDetail{ID: d.ID + "/start-refused", Project: d.Project, Workflow: d.Workflow,
		SessionTime: d.SessionTime, Status: "refused", CreatedAt: now, Reason: why.Error()}}
	if err := c.o.Bus.Announce(ctx, x); err != nil {
		return fmt.Errorf("announce that event %s starts nothing: %w", d.ID, err)
	}
	return nil
}

func (c *Catalogue) startRequest(ctx context.Context, d events.StartDetail) (StartRequest, error) {
	wrong := func(format string, args ...any) (StartRequest, error) {
		return StartRequest{}, &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
	}
	if d.ID == "" || d.Time.IsZero() && d.SessionTime == "" {
		return wrong(`the input needs "id" and "time" (or "session_time") that stay the same if the event is delivered again: <aws.scheduler.schedule-arn>/<aws.scheduler.scheduled-time> and <aws.scheduler.scheduled-time> of a schedule, $.id and $.time of an event`)
	}
	w, err := c.Newest(ctx, 0, d.Project, d.Workflow)
	if err != nil {
		return StartRequest{}, err
	}
	r := StartRequest{Workflow: w.ID, SessionTime: d.Time.Truncate(time.Second), RetryName: "event-" + d.ID, Once: true, Params: param.New()}
	if d.SessionTime != "" {
		if r.SessionTime, err = c.SessionTime(w, d.SessionTime, ""); err != nil {
			return wrong("session_time: %v", err)
		}
	}
	if len(d.Params) > 0 {
		v, err := param.ParseJSON(string(d.Params))
		if err == nil {
			r.Params, err = param.AsMap("params", v)
		}
		if err != nil {
			return wrong("params: %v", err)
		}
	}
	return r, names.Retry(r.RetryName)
}
