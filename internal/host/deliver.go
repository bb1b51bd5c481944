package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/events"
)

// TakeEvent does what a message of the queue "events" asks for, for who receives
// messages in another way than Run. q is told the end: Delete when all that the message
// owed is done, Release when it must come again.
func (h *Host) TakeEvent(ctx context.Context, q Queue, d Delivery) { h.handle(ctx, q, d, h.happened) }

// TakeTask is TakeEvent for the queue "tasks".
func (h *Host) TakeTask(ctx context.Context, q Queue, d Delivery) {
	if strings.HasPrefix(d.ID, scheduleMessage) {
		h.handleFiring(ctx, q, d)
		return
	}
	h.handle(ctx, q, d, h.runTasks)
}

// scheduleMessage begins the ids of messages that fire schedules.
const scheduleMessage = "schedule/"

// Tick is what somebody must ask for every minute where no scheduler runs: what is overdue
// is fired, what is due before horizon is sent as a message for its time. To call it twice,
// late, or by several at once changes nothing.
func (h *Host) Tick(ctx context.Context, horizon time.Duration) error {
	for {
		now := h.Now()
		due, err := h.Schedules.Due(ctx, now, dueAtOnce)
		if err != nil {
			return fmt.Errorf("read due schedules: %w", err)
		}
		due, _ = h.settled(due)
		if len(due) == 0 {
			break
		}
		if err := h.fireAll(ctx, due); err != nil {
			return fmt.Errorf("fire schedules: %w", err)
		}
	}
	soon, err := h.Schedules.Due(ctx, h.Now().Add(horizon), 0)
	if err != nil {
		return fmt.Errorf("read schedules due soon: %w", err)
	}
	var messages []Message
	for _, s := range soon {
		messages = append(messages, firing(s))
	}
	if len(messages) > 0 {
		if err := h.Tasks.Send(ctx, messages...); err != nil {
			return fmt.Errorf("send schedules due soon: %w", err)
		}
	}
	return h.reap(ctx)
}

// firing is the message that fires a schedule at its time.
func firing(s Schedule) Message {
	id := scheduleMessage + strconv.FormatInt(s.Site, 10) + "/" + strconv.FormatInt(s.ID, 10) + "/" + strconv.FormatInt(s.Times.Run.Unix(), 10)
	return Message{ID: id, Body: events.EncodeTask(events.Task{}), Due: s.Times.Run}
}

// handleFiring fires a schedule unless it was moved meanwhile.
func (h *Host) handleFiring(ctx context.Context, q Queue, d Delivery) {
	err := h.safely(d, func() error { return h.fireNamed(ctx, strings.TrimPrefix(d.ID, scheduleMessage)) })
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		h.delete(ctx, q, d)
		return
	}
	h.giveBack(ctx, q, d, err)
}

func (h *Host) fireNamed(ctx context.Context, name string) error {
	var site, id, run int64
	if _, err := fmt.Sscanf(name, "%d/%d/%d", &site, &id, &run); err != nil {
		return fmt.Errorf("%w: message names no schedule: %q", ErrNotFound, name)
	}
	s, err := h.Schedules.Schedule(ctx, site, id)
	if err != nil {
		return err
	}
	if s.Times.Run.Unix() != run || !s.DisabledAt.IsZero() {
		return nil // moved, fired or stopped meanwhile
	}
	return h.fire(ctx, s)
}
