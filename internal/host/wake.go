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
// together says that others of the attempt may be woken at the same time. Then it is an
// event, and an executor wakes all at once: they are packs, as at their first run. Alone, the
// task goes to an agent at once, which goes on with what comes after it.
func (h *Host) Wake(ctx context.Context, project, attempt int64, run engine.Run, together bool) error {
	q, m := h.Events, eventMessage(attempt, wakeMark+runID(run), events.Event{Kind: events.Due, Run: &run})
	if !together {
		q, m = h.Tasks, Message{ID: messageID(attempt, wakeMark+runID(run)+"-0"), Share: strconv.FormatInt(project, 10),
			Body: events.EncodeTask(events.Task{Runs: []engine.Run{run}, Wait: true}), Due: h.Now()}
	}
	if err := q.Send(ctx, m); err != nil {
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
// was one.
func (h *Host) putOff(ctx context.Context, l *live, guard string, runs []engine.Run) error {
	for _, run := range runs {
		name := wakeMark + runID(run)
		times, _ := strconv.Atoi(strings.TrimPrefix(guard, name+"-")) // 0 for another one
		m := l.message(name+"-"+strconv.Itoa(times+1), events.Task{Runs: []engine.Run{run}, Wait: true}, h.Now().Add(backOff(times)))
		if err := h.Tasks.Send(ctx, m); err != nil {
			return fmt.Errorf("wake task %d of attempt %d later: %w", run.Task, l.id, err)
		}
	}
	return nil
}
