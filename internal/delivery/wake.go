package delivery

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// tooSoon says that a task is about to wait for this run.
func tooSoon(s *engine.State, r engine.Run) bool {
	t := s.Task(r.Task)
	return t != nil && t.State == engine.Running && t.Dispatch+1 == r.Dispatch
}

// bring plans what events bring, but for wakes that come too soon: these are postponed.
func (p *proposal) bring(happened []engine.Event) {
	p.plan = func(s *engine.State) ([]engine.Event, bool) {
		p.early = nil
		var list []engine.Event
		for _, e := range happened {
			if due, isDue := e.(engine.Due); isDue && tooSoon(s, due.Run) {
				p.early = append(p.early, due.Run)
			} else {
				list = append(list, e)
			}
		}
		return list, len(p.early) == 0
	}
}

// postpone sends wakes that came too soon to the queue of tasks: in that of events they would
// stand before what they wait for. Each time it is another message, to come later: one that
// came again would take the run from the receiver that has it by then. guard is that of the last,
// if there was one. The lock is held.
func (w *Worker) postpone(ctx context.Context, a *attempt, guard string, runs []engine.Run) error {
	for _, run := range runs {
		name := host.WakeMark + host.RunName(run)
		times, _ := strconv.Atoi(strings.TrimPrefix(guard, name+"-")) // 0 for another one
		m := a.message(name+"-"+strconv.Itoa(times+1), events.Task{Runs: []engine.Run{run}, Wait: true}, w.Now().Add(retry.BackOff(times)))
		m.Waits = true
		if err := w.Tasks.Send(ctx, m); err != nil {
			return fmt.Errorf("wake task %d of attempt %d later: %w", run.Task, a.id, err)
		}
	}
	return nil
}

// takeOverStart plans that what entry 1 ordered is ordered anew by the message of this
// guard, if nothing came of it. Should it be under way after all its results count no more.
// What is left to the first message then is the timer of `sla:`, and carried out as well.
func (p *proposal) takeOverStart(a *attempt, guard string) {
	p.plan = func(s *engine.State) (list []engine.Event, applies bool) {
		p.guards = []string{guard}
		if a.seq != 1 {
			return nil, true
		}
		p.guards, p.begins = append(p.guards, host.StartGuard), true
		by := engine.By{Guard: guard}
		for _, e := range s.Outstanding(host.StartGuard) {
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
