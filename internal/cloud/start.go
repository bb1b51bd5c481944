package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
)

// Tick is what EventBridge calls: each minute for what became due, and for what starts
// workflows: events of the bus, and schedules and rules that call the function themselves
// with the input that events.StartDetail describes.
func (e *Engine) Tick(ctx context.Context, payload json.RawMessage) error {
	defer e.measure("tick")()
	if done, err := e.machineEnded(ctx, payload); done {
		return err
	}
	d, named, err := startOf(payload)
	switch {
	case err != nil:
		e.Logger.Error("event starts nothing", "error", err)
		return nil
	case d == nil:
		return errors.Join(e.TickOnce(ctx), e.checkMachines(ctx))
	}
	return e.startFrom(ctx, *d, named)
}

// startOf says what an event starts; nil when it is a tick. named says that its parameters were
// named by who may call the function, in a rule or a schedule: whoever may put events on the
// bus is not trusted with names, and nobody's values are more than data.
func startOf(payload json.RawMessage) (_ *events.StartDetail, named bool, _ error) {
	var d events.StartDetail
	if err := json.Unmarshal(payload, &d); err == nil && d.Project != "" {
		return &d, true, nil
	}
	var call awsevents.EventBridgeEvent
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, false, fmt.Errorf("read event: %w", err)
	}
	if call.Source != events.StartSource {
		return nil, false, nil
	}
	d = events.StartDetail{}
	if err := json.Unmarshal(call.Detail, &d); err != nil {
		return nil, false, fmt.Errorf("the detail of event %s must be an object with project and workflow: %w", call.ID, err)
	}
	if d.ID == "" {
		d.ID = call.ID
	}
	if d.Time.IsZero() {
		d.Time = call.Time
	}
	return &d, false, nil
}

// startFrom starts a workflow. The same ID twice starts it once. What is wrong with it is
// logged and not tried again.
func (e *Engine) startFrom(ctx context.Context, d events.StartDetail, named bool) error {
	r, err := e.startRequest(ctx, d)
	if err == nil {
		r.Params, r.Outside = param.DataMap(r.Params), !named
		_, err = e.Start(ctx, r)
	}
	var user *host.Error
	if errors.As(err, &user) {
		if user.Existing == nil {
			e.Logger.Error("event starts nothing", "event", d.ID, "project", d.Project, "workflow", d.Workflow, "error", err)
		}
		return nil
	}
	return err
}

func (e *Engine) startRequest(ctx context.Context, d events.StartDetail) (host.StartRequest, error) {
	wrong := func(format string, args ...any) (host.StartRequest, error) {
		return host.StartRequest{}, &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
	}
	if d.ID == "" || d.Time.IsZero() && d.SessionTime == "" {
		return wrong(`the input needs "id" and "time" (or "session_time") that are the same when it comes again: <aws.scheduler.execution-id> and <aws.scheduler.scheduled-time> of a schedule, $.id and $.time of an event`)
	}
	w, err := e.Newest(ctx, 0, d.Project, d.Workflow)
	if err != nil {
		return host.StartRequest{}, err
	}
	r := host.StartRequest{Workflow: w.ID, SessionTime: d.Time.Truncate(time.Second), RetryName: "event-" + d.ID, Params: param.New()}
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
	return r, host.CheckRetryName(r.RetryName)
}
