package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	awsevents "github.com/aws/aws-lambda-go/events"

	"zerodag/events"
	"zerodag/internal/host"
)

// Tick handles calls from EventBridge: one each minute for due work, and workflow triggers, which are events on the
// bus, or schedules and rules that call the function directly with the input that events.StartDetail describes.
func (e *Engine) Tick(ctx context.Context, payload json.RawMessage) error {
	defer e.measure("tick")()
	defer e.awaitBackground(ctx)
	if done, err := e.machineEnded(ctx, payload); done {
		return err
	}
	d, named, err := startOf(payload)
	switch {
	case err != nil:
		e.Logger.Error("event starts nothing", "error", err)
		return nil
	case d == nil:
		return e.tick(ctx)
	}
	return e.StartByEvent(ctx, *d, named)
}

// startOf returns the start that an event requests; nil for a tick. named means that a direct caller of the function
// named its parameters, in a rule or a schedule. Senders of events on the bus are not trusted with names, and values
// from either are data.
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

// tick does the work that is due each minute. Machines are checked even if the rest uses up all the time.
func (e *Engine) tick(ctx context.Context) error {
	var machines error
	var beside sync.WaitGroup
	beside.Go(func() {
		machines = host.Recover(e.Logger, "machines", func() error { return e.tickMachines(ctx) })
	})
	err := e.Ticker.Once(ctx)
	beside.Wait()
	return errors.Join(err, machines)
}

// tickMachines checks the machines that run commands, if there are any.
func (e *Engine) tickMachines(ctx context.Context) error {
	if e.Sandbox == nil {
		return nil
	}
	return e.Sandbox.Tick(ctx, e.Tasks)
}
