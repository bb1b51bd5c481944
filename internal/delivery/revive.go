package delivery

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// A revival replaces lost messages. If the queues cannot list their messages (inventory.go), it assumes that all
// messages are lost. Waits are simply sent again, because only one of several wakes counts. Runs are fenced: after that
// entry, every holder of a message for the run must take the run over before it begins, and only one can. After the
// longest time that a process can live, any process that began the run before the fence has ended or has noticed that
// its message is gone. Runs that are still fenced by then have neither a process nor a message, and the revival takes
// them over.

// oldest is the maximum age of a cached state that is used to accept a message that is received for the first time.
// host.Limits.FenceTime includes it.
const oldest = time.Minute

// fenced reports whether a revival is responsible for a task's run.
func fenced(t *engine.Task) bool { return strings.HasPrefix(t.Guard, host.FenceMark) }

// revive handles the message of a revival for one attempt.
func (d *delivery) revive(ctx context.Context) error {
	if d.Limits.ProcessTime == 0 && d.Inventory == nil {
		return nil // a run may continue forever: there is no way to tell that it has ended
	}
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	lacks, err := d.lacking(ctx)
	if err != nil {
		return err
	}
	// The effects of fenced runs are not carried out here: the proposal has no guards.
	p := &proposal{plan: func(s *engine.State) ([]engine.Event, bool) { return d.fencing(s, lacks), true }}
	if err := d.decide(ctx, a, p); err != nil {
		return err
	}
	if a.row.Done {
		return nil // the attempt ended while this message was on its way; the message that ended it does the rest
	}
	if a.state.Ended() {
		return d.finish(ctx, a)
	}
	if a.row.Canceled && !a.state.Canceled() {
		if err := d.tellAgain(ctx, "kill", events.Kill); err != nil {
			return err
		}
	}
	if list := d.sentAgain(lacks); len(list) > 0 {
		if err := d.Tasks.Send(ctx, list...); err != nil {
			return fmt.Errorf("send again what attempt %d waits for: %w", a.id, err)
		}
	}
	if err := d.askAgain(ctx, lacks); err != nil {
		return err
	}
	if slices.ContainsFunc(a.state.Owed(), func(e engine.Effect) bool { _, grows := e.(engine.Continue); return grows && lacks(e) }) {
		return d.tellAgain(ctx, "go", events.GoOn)
	}
	return nil
}

// tellAgain sends an event to the attempt again, under a separate guard.
func (d *delivery) tellAgain(ctx context.Context, suffix string, kind events.Kind) error {
	m := host.EventMessage(d.attempt.id, again(d.guard, suffix), events.Event{Kind: kind})
	if err := d.Events.Send(ctx, m); err != nil {
		return fmt.Errorf("send %q to attempt %d again: %w", kind, d.attempt.id, err)
	}
	return nil
}

// fencing plans that this message becomes responsible for all runs except runs that another revival has fenced: if they
// were fenced again and again, they would never be taken over.
func (d *delivery) fencing(s *engine.State, lacks func(engine.Effect) bool) (list []engine.Event) {
	for _, e := range s.Owed() {
		if x, run := e.(engine.Dispatch); run && x.At.IsZero() && !fenced(s.Task(x.Task)) && lacks(e) {
			list = append(list, engine.Fenced{By: engine.By{Guard: d.guard}, Run: x.Run})
		}
	}
	return list
}

// sentAgain returns the messages for work that waits for a time, and for the check of fenced runs. Either this revival
// sends that check, or an earlier one did and its message may also be lost. The lock is held.
func (d *delivery) sentAgain(lacks func(engine.Effect) bool) []host.Message {
	a := d.attempt
	var list []host.Message
	looks := map[string]bool{}
	for _, e := range a.state.Owed() {
		if !lacks(e) {
			continue
		}
		switch e := e.(type) {
		case engine.Dispatch:
			t := a.state.Task(e.Task)
			switch {
			case e.At.IsZero() && fenced(t) && !looks[t.Guard]:
				looks[t.Guard] = true
				then := events.Event{Kind: events.TakeOver, Guard: t.Guard}
				list = append(list, d.waiting(a, again(t.Guard, "due"), events.Task{Then: &then}, t.UpdatedAt.Add(d.Limits.FenceTime())))
			case !e.At.IsZero():
				// Each receipt of the revival sends separate wakes: if two had the same guard, the second would take over the run
				// that the first has woken.
				wake := again(d.guard, host.RunName(e.Run)) + "-" + strconv.Itoa(d.message.Count)
				list = append(list, d.typed(a, d.waiting(a, wake, events.Task{Runs: []engine.Run{e.Run}, Wait: true}, e.At), e.Run))
			}
		case engine.Timer:
			list = append(list, d.waiting(a, again(d.guard, "t"+host.RunName(e.Run)), events.Task{Then: &events.Event{Kind: events.Due, Run: &e.Run}}, e.At))
		case engine.TimeoutTimer:
			list = append(list, d.waiting(a, again(d.guard, timeoutName(e.Expiry)), events.Task{Then: &events.Event{Kind: events.TimedOut, Expiry: &e.Expiry}}, e.At))
		case engine.StartTimer:
			list = append(list, a.message(again(d.guard, "begin"), events.Task{Then: &events.Event{Kind: events.StartDue}}, e.At))
		case engine.SLATimer:
			list = append(list, a.message(again(d.guard, host.SLAGuard), events.Task{Then: &events.Event{Kind: events.SLADue}}, e.At))
		}
	}
	return list
}

// again returns the guard of a message that the revival of a fence sends.
func again(fence, name string) string {
	return host.AgainMark + strings.TrimPrefix(fence, host.FenceMark) + "-" + name
}

// takeOverSoon sends a message that takes over fenced runs after all results that were sent earlier, which wait in the
// queue of events.
func (d *delivery) takeOverSoon(ctx context.Context, e events.Event) error {
	if err := d.Events.Send(ctx, host.EventMessage(d.attempt.id, again(e.Guard, "over"), e)); err != nil {
		return fmt.Errorf("take over the pending work of attempt %d: %w", d.attempt.id, err)
	}
	return nil
}

// takeOver plans that messages sent by this one run everything that is still fenced. first means that no earlier
// receiver of the message can have planned that and ended before it sent them. If such a check finds nothing fenced, it
// sends nothing: another check may have taken the runs over under the same guard.
func (p *proposal) takeOver(fence, guard string, first bool) {
	p.plan = func(s *engine.State) (list []engine.Event, applies bool) {
		for _, e := range s.Outstanding(fence) {
			if x, run := e.(engine.Dispatch); run && x.At.IsZero() {
				list = append(list, engine.Lost{By: engine.By{Guard: guard}, Run: x.Run, Blameless: true})
			}
		}
		if first && len(list) == 0 {
			p.guards = nil
		}
		return list, true
	}
}
