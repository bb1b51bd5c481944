package simulation

import (
	"fmt"
	"strings"

	"zerodag/engine"
)

// slots checks that no task runs without the slots that it needs, that no finished task has any, and that exactly one
// guard releases the slots of each try.
func (s *Attempt) slots() error {
	owed := s.released()
	for _, t := range s.state.Tasks() {
		if t.Pool == nil {
			continue
		}
		if err := s.heldSlots(t); err != nil {
			return err
		}
		if err := freedSlots(t, owed); err != nil {
			return err
		}
	}
	return nil
}

// released counts the owed releases of slots, by task, try and pool.
func (s *Attempt) released() map[string]int {
	owed := map[string]int{}
	for _, g := range s.guards {
		for _, e := range s.state.Outstanding(g) {
			if r, ok := e.(engine.Release); ok {
				owed[fmt.Sprint(r.Task, "/", r.Try, "/", r.Pool.Name)]++
			}
		}
	}
	return owed
}

// heldSlots checks that a running task has the slots that it needs, in order, and that a finished one has none.
func (s *Attempt) heldSlots(t *engine.Task) error {
	u := t.Pool
	switch {
	case t.Group && !u.Has && s.roundUnderWay(t):
		return fmt.Errorf("tasks below %s run without its slots: %+v", t.Name, *u)
	case u.Has && s.inReverse(t):
		return fmt.Errorf("%s has slots out of order: %+v", t.Name, *u)
	case u.Has && len(u.Got) != len(u.Then), u.Waits && u.Has, (u.Waits || u.Has) && !needsSlots(t), t.State == engine.Running && !t.Cancel && !u.Waits && !u.Has:
		return fmt.Errorf("%s is %v and has of its pool %+v", t.Name, t.State, *u)
	}
	return nil
}

// needsSlots reports whether a task may have slots, or wait for them.
func needsSlots(t *engine.Task) bool {
	return t.State == engine.Running || t.State == engine.RetryWaiting || t.Group && underWay(t) && t.Closing == ""
}

// underWay reports whether tasks below a task run and it has not begun to end.
func underWay(t *engine.Task) bool { return t.State == engine.Planned && t.Ending == engine.Blocked }

// freedSlots checks that exactly one guard releases the slots of each try of a task, and that nothing else is released.
func freedSlots(t *engine.Task, owed map[string]int) error {
	u := t.Pool
	for _, f := range u.Freed {
		if f.Try > u.Try || f.Try == u.Try && (u.Waits || u.Has) {
			return fmt.Errorf("%s gives up what it has: %+v of %+v", t.Name, f, *u)
		}
		for i, c := range u.Claims() {
			if owed[fmt.Sprint(t.ID, "/", f.Try, "/", c.Name)] != asInt(i <= len(f.Got)) {
				return fmt.Errorf("%s gives up what it had: %+v of %+v, owed %v", t.Name, f, *u, owed)
			}
		}
	}
	if last := fmt.Sprint(t.ID, "/", u.Try, "/", u.Name); u.Try > 0 && !u.Waits && !u.Has && owed[last] != 1 {
		return fmt.Errorf("try %d of %s is never given up", u.Try, t.Name)
	}
	return nil
}

// roundUnderWay reports whether any task of the current iteration of a group runs.
func (s *Attempt) roundUnderWay(group *engine.Task) bool {
	for _, t := range s.state.Tasks() {
		if t.State < engine.Ready || t.State > engine.Planned || t.Resumed {
			continue
		}
		below, last := false, t
		for p := t; p.Parent != 0 && !below; p = s.state.Task(p.Parent) {
			below, last = p.Parent == group.ID, p
		}
		if below && !strings.HasPrefix(strings.TrimPrefix(last.Name, group.Name), "^") && !last.Resumed {
			return true
		}
	}
	return false
}

// inReverse reports whether a group around a task has slots in a pool in which the task also has some, or in a pool
// that comes after one of the task's pools.
func (s *Attempt) inReverse(t *engine.Task) bool {
	for p := s.state.Task(t.Parent); p != nil; p = s.state.Task(p.Parent) {
		if p.Pool == nil || !p.Pool.Has {
			continue
		}
		for _, c := range p.Pool.Claims() {
			if c.Name >= t.Pool.Name {
				return true
			}
		}
	}
	return false
}

// timers checks that a task has the timer of its next deadline if tasks below it run, or if it waits for slots or a
// place, and that no other task has a timer.
func (s *Attempt) timers() error {
	owed := map[engine.TaskID]int{}
	for _, g := range s.guards {
		for _, e := range s.state.Outstanding(g) {
			if x, ok := e.(engine.TimeoutTimer); ok {
				owed[x.Task]++
			}
		}
	}
	for _, t := range s.state.Tasks() {
		if owed[t.ID] != asInt(s.hasDeadline(t)) && !s.Ended() {
			return fmt.Errorf("%s is %v and has %d timers of %+v", t.Name, t.State, owed[t.ID], t.Timeout)
		}
		if x := t.Timeout; x != nil && t.State == engine.RetryWaiting && !x.TotalEnds.IsZero() && t.UpdatedAt.Before(x.TotalEnds) && t.RetryAt.After(x.TotalEnds) {
			return fmt.Errorf("%s waits until %v, past the end of all its time at %v", t.Name, t.RetryAt, x.TotalEnds)
		}
	}
	return nil
}

// hasDeadline reports whether a task has a deadline that needs a timer.
func (s *Attempt) hasDeadline(t *engine.Task) bool {
	if t.Waits() && t.Pool.Asked().Wait > 0 {
		return true
	}
	x := t.Timeout
	if x == nil || t.Cancel || x.Expired != "" {
		return false
	}
	below := underWay(t)
	turn := t.ID != engine.Root || !s.state.Waits() // its first iteration begins with its turn
	return below && turn && (x.Try > 0 || x.Warn > 0 && !x.Warned) || (below || t.Waits() || t.Held) && x.Total > 0
}
