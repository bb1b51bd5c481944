package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// horizon is how far ahead a tick looks: to the next one, and a little.
const horizon = 65 * time.Second

// timersAtOnce bounds what is handed over together.
const timersAtOnce = 500

// TickOnce does what is due every minute: schedules, messages that had to wait longer than
// a queue can delay them, attempts that live too long.
func (e *Engine) TickOnce(ctx context.Context) error {
	return errors.Join(e.sendTimers(ctx), e.Tick(ctx, horizon))
}

// sendTimers sends first and deletes then: a crash in between sends twice, which the log
// of the attempt notices.
func (e *Engine) sendTimers(ctx context.Context) error {
	for {
		list, err := e.DB.DueTimers(ctx, time.Now().Add(horizon), timersAtOnce)
		if err != nil {
			return fmt.Errorf("read due messages: %w", err)
		}
		for _, t := range list {
			q := host.Queue(e.Tasks)
			if t.Queue == e.Events.Name {
				q = e.Events
			}
			if err := q.Send(ctx, t.Message); err != nil {
				return fmt.Errorf("send due message: %w", err)
			}
			if err := e.DB.DeleteTimer(ctx, t); err != nil {
				return fmt.Errorf("delete sent message: %w", err)
			}
		}
		if len(list) < timersAtOnce {
			return nil
		}
	}
}

// StartSource is the source of events on the bus that start workflows.
const StartSource = "zerodag.start"

// StartFrom starts a workflow for an event: {"project", "workflow", "params",
// "session_time"}. The same event twice starts it once. What is wrong with the event is
// logged and not tried again.
func (e *Engine) StartFrom(ctx context.Context, id string, at time.Time, detail json.RawMessage) error {
	r, err := e.startRequest(ctx, id, at, detail)
	if err == nil {
		_, err = e.Start(ctx, r)
	}
	var user *host.Error
	if errors.As(err, &user) {
		if user.Existing == nil {
			e.Logger.Error("event starts nothing", "event", id, "error", err)
		}
		return nil
	}
	return err
}

func (e *Engine) startRequest(ctx context.Context, id string, at time.Time, detail json.RawMessage) (host.StartRequest, error) {
	wrong := func(format string, args ...any) (host.StartRequest, error) {
		return host.StartRequest{}, &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
	}
	var d struct {
		Project     string          `json:"project"`
		Workflow    string          `json:"workflow"`
		Params      json.RawMessage `json:"params"`
		SessionTime string          `json:"session_time"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return wrong("the detail must be a JSON object: %v", err)
	}
	w, err := e.Newest(ctx, 0, d.Project, d.Workflow)
	if err != nil {
		return host.StartRequest{}, err
	}
	r := host.StartRequest{Workflow: w.ID, SessionTime: at.Truncate(time.Second), RetryName: "event-" + id, Params: param.New()}
	if d.SessionTime != "" {
		if r.SessionTime, err = e.SessionTime(w, d.SessionTime, ""); err != nil {
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
	return r, nil
}
