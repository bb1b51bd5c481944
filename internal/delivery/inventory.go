package delivery

import (
	"context"
	"fmt"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// Each effect that an attempt still owes always has a message: first the message of its guard, later the message that
// the guard sent for it. Therefore an effect that was owed both before and after the messages were listed, and that
// none of them carries, has lost its message.

// all treats every effect as one that may lack its message.
func all(engine.Effect) bool { return true }

// none treats no effect as one that lacks its message.
func none(engine.Effect) bool { return false }

// lacking returns the attempt's effects that have no message. It uses the state that was read before the messages; a
// later read must show whether an effect is still owed. The lock is held.
func (d *delivery) lacking(ctx context.Context) (func(engine.Effect) bool, error) {
	if d.Inventory == nil {
		return all, nil
	}
	a := d.attempt
	if err := a.ensure(ctx); err != nil {
		return nil, err
	}
	messages, err := d.Inventory.MessagesOf(ctx, a.id)
	if err != nil {
		return nil, fmt.Errorf("list the messages of attempt %d: %w", a.id, err)
	}
	c := carried{state: a.state, effects: map[any]bool{}}
	for _, m := range messages {
		if m.ID != d.message.ID && !c.message(m) {
			return none, nil
		}
	}
	return func(e engine.Effect) bool { return !c.effects[nameOf(e)] }, nil
}

// nameOf identifies an effect within its attempt.
func nameOf(e engine.Effect) any {
	switch e := e.(type) {
	case engine.Dispatch:
		return e.Run
	case engine.Timer:
		return e.Run
	case engine.Acquire:
		return e.Run
	case engine.TimeoutTimer:
		return e.Expiry
	}
	return fmt.Sprintf("%T", e) // there is only one effect of this type
}

// Runners returns the names of the servers that run an attempt's tasks: by task, according to the leased messages. A
// task whose message was just passed on may be missing.
func Runners(s *engine.State, held []host.Held) map[engine.TaskID]string {
	if s == nil {
		return nil
	}
	found, is := map[engine.TaskID]string{}, current(s)
	add := func(r engine.Run, holder string) {
		if is(r) {
			found[r.Task] = holder
		}
	}
	for _, m := range held { // a message whose receiver runs several tasks in turn names only the first task
		_, guard, err := host.ParseMessageID(m.ID)
		if err != nil {
			continue
		}
		for _, e := range s.Outstanding(guard) {
			if x, ok := e.(engine.Dispatch); ok && x.At.IsZero() {
				add(x.Run, m.Holder)
			}
		}
	}
	for _, m := range held { // these have separate messages
		if t, err := events.DecodeTask(m.Body); err == nil {
			for _, r := range t.Runs {
				add(r, m.Holder)
			}
		}
	}
	return found
}

// carried holds the effects for which there is a message.
type carried struct {
	state   *engine.State
	effects map[any]bool
}

// message records which effects a message carries; it returns false if that is unknown.
func (c *carried) message(m host.Message) bool {
	_, guard, err := host.ParseMessageID(m.ID)
	if err != nil || m.Body == nil {
		return false
	}
	for _, e := range c.state.Outstanding(guard) {
		c.effects[nameOf(e)] = true
	}
	if m.Group != "" {
		e, err := events.Decode(m.Body)
		return err == nil && c.event(e)
	}
	t, err := events.DecodeTask(m.Body)
	if err != nil {
		return false
	}
	for _, r := range t.Runs {
		if x := c.state.Task(r.Task); !t.Wait || x == nil || x.State != engine.Running { // else another message woke it, and this one has no effect
			c.effects[r] = true
		}
	}
	for _, guard := range t.From {
		for _, e := range c.state.Outstanding(guard) {
			c.effects[nameOf(e)] = true
		}
	}
	return t.Then == nil || c.event(*t.Then)
}

// event records which effects an event carries, now or when it is due.
func (c *carried) event(e events.Event) bool {
	switch e.Kind {
	case events.Due:
		c.effects[*e.Run] = true
	case events.TimedOut:
		c.effects[*e.Expiry] = true
	case events.StartDue:
		c.effects[nameOf(engine.StartTimer{})] = true
	case events.SLADue:
		c.effects[nameOf(engine.SLATimer{})] = true
	case events.GoOn:
		c.effects[nameOf(engine.Continue{})] = true
	case events.TakeOver:
		for _, x := range c.state.Outstanding(e.Guard) {
			c.effects[nameOf(x)] = true
		}
	case events.Slots:
		if use, run := c.state.UseOf(e.Slots.Task); use != nil && use.Try == e.Slots.Try && e.Slots.By == 0 {
			c.effects[run] = true
		}
	}
	return true
}
