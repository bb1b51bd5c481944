package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zerodag/engine"
	"zerodag/events"
)

// Wake has a task run now that waits for its next run: what it waits for has happened. It
// may be said too soon, more than once, or in vain: the message that is due later remains.
//
// It is an event, so that an executor wakes all at once whose commands end side by side:
// they are packs then, as at their first run.
func (h *Host) Wake(ctx context.Context, attempt int64, run engine.Run) error {
	m := eventMessage(attempt, wakeMark+runID(run), events.Event{Kind: events.Due, Run: &run})
	if err := h.Events.Send(ctx, m); err != nil {
		return fmt.Errorf("wake task %d of attempt %d: %w", run.Task, attempt, err)
	}
	return nil
}

// wakeMark begins the guards of messages that wake, nowMark those of what they send: a run
// that waits has a message of its own, which must not stand for another.
const (
	wakeMark = "w"
	nowMark  = "n"
)

// tooSoon says that a task is about to wait for this run.
func tooSoon(s *engine.State, r engine.Run) bool {
	t := s.Task(r.Task)
	return t != nil && t.State == engine.Running && t.Dispatch+1 == r.Dispatch
}

// brings plans what events bring, but for wakes that come too soon: these are put off.
func (a *act) brings(happened []engine.Event) {
	a.plan = func(s *engine.State) ([]engine.Event, bool) {
		a.early = nil
		var list []engine.Event
		for _, e := range happened {
			if due, isDue := e.(engine.Due); isDue && tooSoon(s, due.Run) {
				a.early = append(a.early, due.Run)
			} else {
				list = append(list, e)
			}
		}
		return list, len(a.early) == 0
	}
}

// putOff sends wakes that came too soon to the queue of tasks: in that of events they would
// stand before what they wait for. Each time it is another message, to come later: one that
// came again would take the run from who has it by then. guard is that of the last, if there
// was one. The lock is held.
func (h *Host) putOff(ctx context.Context, l *live, guard string, runs []engine.Run) error {
	for _, run := range runs {
		name := wakeMark + runID(run)
		times, _ := strconv.Atoi(strings.TrimPrefix(guard, name+"-")) // 0 for another one
		m := l.message(name+"-"+strconv.Itoa(times+1), events.Task{Runs: []engine.Run{run}, Wait: true}, h.Now().Add(backOff(times)))
		m.Waits = true
		if err := h.Tasks.Send(ctx, m); err != nil {
			return fmt.Errorf("wake task %d of attempt %d later: %w", run.Task, l.id, err)
		}
	}
	return nil
}
