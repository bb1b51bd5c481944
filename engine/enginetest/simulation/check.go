package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/enginetest"
	"zerodag/engine/param"
)

// feed gives one event to the state, to a copy that was stored and loaded, and to the
// model, and compares them.
func (s *Attempt) feed(e engine.Event) error {
	guard := fmt.Sprintf("m%d", s.events)
	s.guards = append(s.guards, guard)
	before, err := s.twin()
	if err != nil {
		return err
	}
	model := s.forModel(e)
	changes, why := s.state.Step(e, s.now)
	fail := func(format string, x ...any) error {
		return fmt.Errorf("%T %+v: %s%s", e, e, fmt.Sprintf(format, x...), s.dump())
	}
	text, err := engine.EncodeChanges(changes)
	if err != nil {
		return fail("%v", err)
	}
	if before != nil {
		list, second := before.Step(e, s.now)
		other, err := engine.EncodeChanges(list)
		if err != nil || string(other) != string(text) || why != second {
			return fail("a loaded state decides otherwise (%v)\nkept   %q %s\nloaded %q %s", err, why, text, second, other)
		}
	}
	if why != "" && len(changes) > 0 {
		return fail("refused, with changes")
	}
	if slices.ContainsFunc(s.past, func(p engine.Event) bool { return sameRun(p, e) }) && len(changes) > 0 {
		return fail("applied twice: %s", text)
	}
	if err := s.follow(text, guard); err != nil {
		return fail("%v", err)
	}
	if why == "" {
		if err := s.applied(e, model); err != nil {
			return fail("%v", err)
		}
	}
	if err := s.everything(); err != nil {
		return fail("%v", err)
	}
	return nil
}

// applied records an event that applied, and passes it on to the model.
func (s *Attempt) applied(e engine.Event, model func()) error {
	if err := s.twice(e); err != nil {
		return err
	}
	switch e.(type) {
	case engine.GoOn, engine.Fenced: // may happen any number of times
	default:
		s.past = append(s.past, e)
	}
	if model != nil {
		model()
	}
	return nil
}

// everything checks the invariants after each event; in a large attempt it does so only sometimes, since it visits
// every task.
func (s *Attempt) everything() error {
	if s.Large && s.events%16 != 0 && !s.Ended() {
		return nil
	}
	for _, check := range []func() error{s.compare, s.ledger, s.parameters} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// twin sometimes returns a stored and loaded copy of the state, to compare its response to the next event.
func (s *Attempt) twin() (*engine.State, error) {
	if len(s.state.Tasks()) == 0 || !s.One("twin", 3) || s.Large && s.events%16 != 0 {
		return nil, nil
	}
	return s.snapshot()
}

// follow applies stored changes one by one to the mirror and watches each transition.
func (s *Attempt) follow(text []byte, guard string) error {
	stored, err := engine.DecodeChanges(text)
	if err != nil {
		return err
	}
	for _, c := range stored {
		var was engine.Progress
		changed, ok := c.(engine.TaskChanged)
		if ok {
			was = s.mirror.Task(changed.Task).Progress
		}
		s.mirror.Apply(c)
		for _, id := range s.mirror.Touched(c) {
			if t := s.mirror.Task(id); !ok && t.State.Done() {
				delete(s.owed, id)
			}
		}
		s.bookAttempt(c, guard)
		if !ok {
			continue
		}
		t := s.mirror.Task(changed.Task)
		if err := errors.Join(s.transition(t, was.State), s.number(t, was)); err != nil {
			return err
		}
		s.book(changed, guard)
	}
	return nil
}

// bookAttempt records the effects that are owed for the attempt as a whole, and by which guard.
func (s *Attempt) bookAttempt(c engine.Change, guard string) {
	switch c := c.(type) {
	case engine.AttemptStarted:
		if c.Slot != nil && c.StartsAt.IsZero() {
			s.owed[engine.Whole] = owed{dispatch: 1, guard: guard}
		}
	case engine.Begun:
		if use, _ := s.mirror.UseOf(engine.Whole); use != nil && s.mirror.Paused() == nil {
			s.owed[engine.Whole] = owed{dispatch: 1, guard: guard}
		}
	case engine.PauseChanged:
		if c.Slot != nil {
			delete(s.owed, engine.Whole)
		}
		if c.Slot != nil && c.Paused == nil {
			s.owed[engine.Whole] = owed{dispatch: c.Slot.Try, guard: guard}
		}
	case engine.Admitted:
		delete(s.owed, engine.Whole)
	case engine.KillRequested:
		s.forced = c.Forced
	case engine.AttemptEnded:
		clear(s.owed)
	}
}

// transition checks a move of one task: done is final, and nothing starts early, or while the attempt waits.
func (s *Attempt) transition(t *engine.Task, was engine.TaskState) error {
	if was.Done() {
		return fmt.Errorf("%s left %v", t.Name, was)
	}
	if was != engine.Blocked || t.ID == engine.Root {
		return nil
	}
	if (s.mirror.Waits() || !s.mirror.StartsAt().IsZero()) && int(t.ID) <= len(s.def.Nodes) && t.State != engine.Canceled && !t.Cancel {
		return fmt.Errorf("%s starts although the attempt waits", t.Name)
	}
	return s.inTurn(t)
}

// inTurn checks that a task's waits have ended when it starts.
func (s *Attempt) inTurn(t *engine.Task) error {
	root := s.mirror.Task(engine.Root)
	sla := t.Parent == root.ID && strings.HasPrefix(t.Name, root.Name+"^sla") && (root.Waits() || root.Held)
	if p := s.mirror.Task(t.Parent); p.State != engine.Planned && p.State != engine.Success && !sla {
		return fmt.Errorf("%s starts below a parent that is %v", t.Name, p.State)
	}
	for _, u := range t.Upstreams {
		if up := s.mirror.Task(u); up.State != engine.Success {
			return fmt.Errorf("%s starts although %s is %v", t.Name, up.Name, up.State)
		}
	}
	return nil
}

// number checks how many runs of a task are reported. It must be one more than before, or the same if the task now does
// something else or waits; in that case, the run for which the task was previously dispatched must not happen either.
func (s *Attempt) number(t *engine.Task, was engine.Progress) error {
	if t.Group || t.Dispatch == was.Dispatch {
		return nil
	}
	sent := func(p engine.Progress) bool {
		return p.Dispatch > 0 && !p.Preparing && !p.Held && (p.Pool == nil || !p.Pool.Waits)
	}
	if sent(was) && t.Idle == was.Idle {
		s.ran[t.ID]++
	}
	if sent(t.Progress) && t.Runs() != s.ran[t.ID]+1 {
		return fmt.Errorf("run %d of %s comes after run %d", t.Runs(), t.Name, s.ran[t.ID])
	}
	return nil
}

// book records the effects that are owed because of the changes, and by which guard.
func (s *Attempt) book(c engine.TaskChanged, guard string) {
	if c.Progress.Held {
		delete(s.owed, c.Task)
		return
	}
	switch c.Progress.State {
	case engine.Running, engine.RetryWaiting, engine.GroupRetryWaiting:
		waits, was := c.Progress.State != engine.Running, s.owed[c.Task]
		fenced := !was.waits && !waits && c.Progress.Guard == guard
		if was.dispatch != c.Progress.Dispatch || was.waits && !waits || fenced { // the guard that wakes it owes it
			s.owed[c.Task] = owed{c.Progress.Dispatch, guard, waits}
		}
	default:
		delete(s.owed, c.Task)
	}
}

// twice delivers an event a second time after it applied: nothing may change.
func (s *Attempt) twice(e engine.Event) error {
	if _, endless := e.(engine.GoOn); endless {
		return nil // it creates the next portion, whichever message requests it
	}
	if changes, _ := s.state.Step(e, s.now); len(changes) > 0 {
		return fmt.Errorf("the second delivery changes %v", changes)
	}
	return nil
}

// sameRun reports whether two events are about the same ending of the same run.
func sameRun(a, b engine.Event) bool {
	x, ok := runOf(a)
	y, ok2 := runOf(b)
	_, due := a.(engine.Due) // a due run still has to end
	return ok && ok2 && x == y && !due
}

func runOf(e engine.Event) (engine.Run, bool) {
	switch e := e.(type) {
	case engine.Succeeded:
		return e.Run, true
	case engine.Errored:
		return e.Run, true
	case engine.Later:
		return e.Run, true
	case engine.Lost:
		return e.Run, true
	case engine.Due:
		return e.Run, true
	}
	return engine.Run{}, false
}

// forModel returns what the event means for the model; it must be called before the step.
func (s *Attempt) forModel(e engine.Event) func() {
	m := s.model
	if m == nil {
		return nil
	}
	id := 0
	if run, ok := runOf(e); ok {
		if t := s.state.Task(run.Task); t != nil {
			id, _ = m.rowOf(s.state, t)
		}
	}
	switch e := e.(type) {
	case engine.Succeeded:
		return func() { m.Succeeded(id, e.Result) }
	case engine.Errored:
		return func() { m.Failed(id, e.Error) }
	case engine.Later:
		return func() { m.Later(id, e.After <= 0, e.State) }
	case engine.Due:
		return func() { m.Due(id) }
	case engine.Lost:
		return func() { m.Lost(id) }
	case engine.Kill:
		return m.Kill
	case engine.SLADue:
		return m.SLADue
	}
	return nil
}

// compare compares the state with the mirror, the model and itself.
func (s *Attempt) compare() error {
	if err := enginetest.SameState(s.state, s.mirror); err != nil {
		return err
	}
	for _, t := range s.state.Tasks() {
		if was, ok := s.final[t.ID]; ok && (was.State != t.State || was.UpdatedAt != t.UpdatedAt) {
			return fmt.Errorf("%s was %v and changed", t.Name, was.State)
		}
		if t.State.Done() {
			s.final[t.ID] = t.Progress
		}
	}
	if s.model != nil {
		if err := s.model.Same(s.state); err != nil {
			return err
		}
	}
	for _, check := range []func() error{s.slots, s.timers, s.closings} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, state := range []*engine.State{s.state, s.mirror} {
		if s.Check != nil {
			if err := s.Check(state); err != nil {
				return err
			}
		}
	}
	return nil
}

// ledger compares the debts of guards with the changes: each once, under one guard.
func (s *Attempt) ledger() error {
	found := 0
	for _, g := range s.guards {
		for _, e := range s.state.Outstanding(g) {
			var run engine.Run
			switch e := e.(type) {
			case engine.Dispatch:
				run = e.Run
			case engine.Timer:
				run = e.Run
			case engine.Acquire:
				run = e.Run
			case engine.End:
				if !s.state.Ended() {
					return fmt.Errorf("%s owes the end too early", g)
				}
				continue
			default:
				continue
			}
			if o := s.owed[run.Task]; o.dispatch != run.Dispatch || o.guard != g {
				return fmt.Errorf("%s owes %+v, but %+v is owed", g, run, s.owed[run.Task])
			}
			found++
		}
	}
	if found != len(s.owed) {
		return fmt.Errorf("%d effects are owed, guards have %d", len(s.owed), found)
	}
	return nil
}

// parameters compares what running tasks see with the literal rule, for the state and its mirror.
func (s *Attempt) parameters() error {
	for _, t := range s.state.Tasks() {
		if t.State != engine.Running || t.Dispatch > 1 && !s.One("params", 4) || s.Large && t.ID%50 != 0 {
			continue
		}
		want := param.Text(enginetest.LiteralParams(s.state, s.earlier, nil, t))
		if got := param.Text(s.state.ParamsOf(t.ID)); got != want {
			return fmt.Errorf("%s sees %s, by the rule %s", t.Name, got, want)
		}
		if got := param.Text(s.mirror.ParamsOf(t.ID)); got != want {
			return fmt.Errorf("%s, loaded, sees %s, by the rule %s", t.Name, got, want)
		}
	}
	return nil
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// afterEnd checks that only End, once, and releases of slots are owed, and that no event applies anymore.
func (s *Attempt) afterEnd() error {
	ends, slots := 0, 0
	for _, g := range s.guards {
		for _, e := range s.state.Outstanding(g) {
			switch e := e.(type) {
			case engine.End:
				ends++
			case engine.Release:
				if e.Task == engine.Whole {
					slots++
				}
			default:
				return fmt.Errorf("after the end %s owes %+v", g, e)
			}
		}
	}
	if ends != 1 {
		return fmt.Errorf("the end is owed %d times", ends)
	}
	if use, _ := s.state.UseOf(engine.Whole); use != nil {
		tries := map[int]bool{}
		for _, f := range use.Freed {
			tries[f.Try] = true
		}
		if s.state.StartsAt().IsZero() {
			tries[use.Try] = true
		}
		if slots != len(tries) {
			return fmt.Errorf("the slot of the attempt is given up %d times for %d tries", slots, len(tries))
		}
	}
	for _, e := range append(s.past, engine.Kill{}, engine.GoOn{}, engine.SLADue{}) {
		if changes, why := s.state.Step(e, s.now); why == "" || len(changes) > 0 {
			return fmt.Errorf("%T applies after the end", e)
		}
	}
	return nil
}
