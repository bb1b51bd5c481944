package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// What follows is for deployments that are ticked: nothing runs between two messages, so
// schedules become messages for their time, and somebody asks for that every minute.

// Times of a ticked deployment.
const (
	// soon is how near a schedule's time may be for whoever moves it to send its message:
	// the tick may have passed it already.
	soon = 2 * time.Minute
	// early is how much before its time the message of a schedule may arrive. Queues delay
	// by whole seconds, rounded up: so it is on average at the time.
	early = 300 * time.Millisecond
	// remembered is how long a queue surely knows the id of a message that it had (SQS: 5
	// minutes): until then to send a first message again is safe.
	remembered = 4 * time.Minute
	// neverBegun is when an attempt with nothing but its first entry has not begun: no run
	// of a task lasts so long, nor does a message wait.
	neverBegun = time.Hour
)

// firingsAtOnce is how many schedules one message fires.
const firingsAtOnce = 25

// scheduleMessage begins the ids of messages that fire schedules.
const scheduleMessage = "schedule/"

// HandOver sends messages for the schedules that are due after from and until until. To do
// so twice, late, or in two places at once changes nothing.
func (h *Host) HandOver(ctx context.Context, from, until time.Time) error {
	due, err := h.Schedules.Due(ctx, from, until, 0)
	if err != nil {
		return fmt.Errorf("read schedules due soon: %w", err)
	}
	return h.sendFirings(ctx, due)
}

func (h *Host) sendFirings(ctx context.Context, due []Schedule) error {
	byTime := map[time.Time][]events.Firing{}
	var times []time.Time
	for _, s := range due {
		at := s.Times.Run.Add(-early)
		if !s.Times.Run.After(s.CreatedAt) { // see settled
			at = s.CreatedAt.Add(settleTime)
		}
		if byTime[at] == nil {
			times = append(times, at)
		}
		byTime[at] = append(byTime[at], events.Firing{Site: s.Site, Schedule: s.ID, Run: s.Times.Run.Unix()})
	}
	var messages []Message
	for _, at := range times {
		for some := range slices.Chunk(byTime[at], firingsAtOnce) {
			messages = append(messages, firingMessage(some, at))
		}
	}
	if len(messages) == 0 {
		return nil
	}
	if err := h.Tasks.Send(ctx, messages...); err != nil {
		return fmt.Errorf("send schedules due soon: %w", err)
	}
	return nil
}

// firingMessage names exactly these firings.
func firingMessage(list []events.Firing, due time.Time) Message {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = fmt.Sprintf("%d/%d", f.Schedule, f.Run)
	}
	return Message{ID: scheduleMessage + listID(names), Body: events.EncodeTask(events.Task{Fire: list}), Due: due}
}

// sendSoon lets schedules that were made or moved fire in time: the tick that was may have
// looked beyond their times already.
func (h *Host) sendSoon(ctx context.Context, list ...Schedule) error {
	if !h.Ticked {
		return nil
	}
	limit := h.Now().Add(soon)
	return h.sendFirings(ctx, slices.DeleteFunc(list, func(s Schedule) bool { return !s.DisabledAt.IsZero() || s.Times.Run.After(limit) }))
}

// schedulesPushed lets the schedules of a project that was pushed fire in time.
func (h *Host) schedulesPushed(ctx context.Context, p Project) error {
	h.schedulesChanged()
	if !h.Ticked {
		return nil
	}
	list, err := h.Schedules.Schedules(ctx, ScheduleQuery{Site: p.Site, Project: p.ID})
	if err != nil {
		return fmt.Errorf("read schedules of project %d: %w", p.ID, err)
	}
	return h.sendSoon(ctx, list...)
}

// handleFirings fires the schedules that a message names.
func (h *Host) handleFirings(ctx context.Context, q Queue, d Delivery) {
	err := h.safely(d, func() error {
		m, err := events.DecodeTask(d.Body)
		if err != nil {
			return err
		}
		return sideBySide(m.Fire, func(f events.Firing) error { return h.fireNamed(ctx, f, d.Count > 1) })
	})
	if err == nil {
		h.delete(ctx, q, d)
		return
	}
	h.giveBack(ctx, q, d, err)
}

// fireNamed fires a schedule unless it was moved since. again: somebody may have moved it
// and ended before the next message was sent.
func (h *Host) fireNamed(ctx context.Context, f events.Firing, again bool) error {
	s, err := h.Schedules.Schedule(ctx, f.Site, f.Schedule)
	switch {
	case err != nil:
		return err
	case !s.DisabledAt.IsZero():
		return nil
	case s.Times.Run.Unix() == f.Run:
		if wait := s.Times.Run.Sub(h.Now()); wait > 0 && wait < time.Second {
			h.pause(ctx, wait)
		}
		return h.fire(ctx, s)
	case again:
		return h.sendSoon(ctx, s)
	}
	return nil
}

// Revive looks whether the attempts that were made after from and until until have begun: a
// process may have ended between an attempt's start and its first message.
func (h *Host) Revive(ctx context.Context, from, until time.Time) error {
	after := int64(0)
	if h.IDAt != nil {
		after = h.IDAt(from)
	}
	var failed error
	for {
		list, err := h.Sessions.Active(ctx, AnySite, after, dueAtOnce)
		if err != nil {
			return fmt.Errorf("read active attempts: %w", err)
		}
		for _, a := range list {
			after = a.ID
			if a.CreatedAt.After(until) {
				return failed // ids ascend with time
			}
			if a.CreatedAt.After(from) && a.Waits == 0 {
				failed = errors.Join(failed, h.revive(ctx, a))
			}
		}
		if len(list) < dueAtOnce {
			return failed
		}
	}
}

// revive sends the first message of an attempt again while the queue knows whether it had
// it. Of one that should have begun long ago what it began with is taken over.
func (h *Host) revive(ctx context.Context, a Attempt) error {
	stored, err := h.Log.Load(ctx, a.ID)
	if errors.Is(err, ErrNotFound) || err == nil && (stored.Snapshot != nil || len(stored.Entries) != 1) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether attempt %d has begun: %w", a.ID, err)
	}
	name, e := startGuard, events.Event{Kind: events.Start} // what the start sends, or should have
	switch age := h.Now().Sub(stored.Entries[0].At); {
	case age < remembered:
	case age > neverBegun:
		name, e.Kind = "check"+strconv.FormatInt(h.Now().Unix(), 10), events.Check
	default:
		return nil
	}
	if err := h.Events.Send(ctx, eventMessage(a.ID, name, e)); err != nil {
		return fmt.Errorf("let attempt %d begin: %w", a.ID, err)
	}
	return nil
}

// takeOverStart plans that what entry 1 ordered is ordered anew by the message of this
// guard, if nothing came of it. Should it be under way after all its results count no more.
// What is left to the first message then is the timer of `sla:`, and carried out as well.
func (a *act) takeOverStart(l *live, guard string) {
	a.plan = func(s *engine.State) (list []engine.Event, applies bool) {
		a.guards = []string{guard}
		if l.seq != 1 {
			return nil, true
		}
		a.guards, a.begins = append(a.guards, startGuard), true
		by := engine.By{Guard: guard}
		for _, e := range s.Outstanding(startGuard) {
			switch e := e.(type) {
			case engine.Dispatch:
				list = append(list, engine.Lost{By: by, Run: e.Run, Blameless: true})
			case engine.Continue:
				list = append(list, engine.GoOn{By: by})
			}
		}
		return list, true
	}
}
