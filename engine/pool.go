package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Whole stands in place of a task where an attempt as a whole asks for a slot, has it or gives it up: see Start.Slot.
const Whole TaskID = 0

// slotRun is the run under which the attempt asks for its slot: it asks once, and again after each pause.
func (s *State) slotRun() Run { return Run{Task: Whole, Dispatch: s.slot.Try} }

// Waits says whether the task is ready to run but for slots of a pool.
func (t *Task) Waits() bool { return t.reason() == ForSlots }

// TryOf says how a try of a task stands with one of its pools. Once over it stays so.
func (s *State) TryOf(task TaskID, try int, pool string) claim.Standing {
	use, _ := s.UseOf(task)
	switch {
	case s.ended:
		return claim.TryOver
	case use == nil || try > use.Try:
		return claim.NotKnown
	case try < use.Try:
		return claim.TryOver
	}
	if task == Whole {
		return use.With(pool, s.paused == nil)
	}
	return use.With(pool, s.Task(task).Waits())
}

// UseOf is what a task, or the attempt as a Whole, has of its pool, nil for nothing, and the run that waits for it.
func (s *State) UseOf(task TaskID) (*claim.Use, Run) {
	if task == Whole && s.slot != nil {
		return s.slot, s.slotRun()
	}
	if t := s.Task(task); t != nil {
		return t.Pool, Run{Task: task, Dispatch: t.Dispatch}
	}
	return nil, Run{}
}

// Waits says whether the attempt waits for its turn (see Start.Slot): none of its workflow's tasks has begun. It does not ask
// before its time has come.
func (s *State) Waits() bool {
	return !s.ended && s.startsAt.IsZero() && s.slot != nil && s.slot.Waits
}

// asks says whether the attempt asks for its slot: while it is paused it stands in no line.
func (s *State) asks() bool { return s.Waits() && s.paused == nil }

// StartsAt is the time for which the attempt waits, zero once that has come (see Start.At).
func (s *State) StartsAt() time.Time { return s.startsAt }

// keepsSlots says whether a task has, or waits for, slots of pools while its progress is p: for its try, and a group for a round, until all below it has
// ended. What comes after a round, such as `_error`, has them no more.
func (t *Task) keepsSlots(p Progress) bool {
	switch p.State {
	case Running, RetryWaiting:
		return true
	case Planned:
		return t.Group && p.Ending == Blocked && p.Closing == ""
	}
	return false
}

// notBegun says of a group that it has not had its slots yet, and so has not begun.
func (t *Task) notBegun() bool { return t.Group && t.Pool != nil && !t.Pool.Begun }

// besides is what a task needs besides the slots that it runs with anyway; nil for nothing. A file that `call>` runs may be run by itself, too, and
// so name a pool of which a group around the call has as many slots.
func (s *tree) besides(t *Task, asked claim.Pool) *claim.Pool {
	caller := s.Task(t.Parent)
	if caller == nil || keys.OperatorOf(caller.Config) != "call" {
		return &asked
	}
	has := map[string]int{}
	for p := caller; p != nil; p = s.Task(p.Parent) {
		if p.Pool != nil && p.Pool.Has {
			for _, c := range p.Pool.Claims() {
				has[c.Name] = c.Slots
			}
		}
	}
	return claim.Of(slices.DeleteFunc(asked.Claims(), func(c claim.Pool) bool { return has[c.Name] >= c.Slots }))
}

// cannotNeed says why a task may not wait for slots; "" when it may. Everybody takes slots in the order of the names of the pools, what is
// below a group after the group; and a task that has a place of the attempt never waits for slots of a group whose tasks need places. So
// there is always somebody who waits for nothing.
func (s *State) cannotNeed(t *Task, asked claim.Pool) string {
	if t.Group && t.Parent != 0 && s.def.Tasks > 0 {
		return keys.NoGroupPool + ": " + keys.NoGroupPoolHint
	}
	for p := s.Task(t.Parent); p != nil; p = s.Task(p.Parent) {
		if p.Pool == nil || !p.Pool.Has {
			continue
		}
		var has []string
		for _, c := range p.Pool.Claims() {
			has = append(has, c.Name)
		}
		if why, hint := keys.PoolOrder(asked.Name, has, p.Name); why != "" {
			return why + ": " + hint
		}
		return ""
	}
	return ""
}

// neverBegins ends a task that does not get its slots. Below a group nothing starts any more.
func (d *decision) neverBegins(t *Task, failure *param.Map) {
	if !t.Group {
		d.errored(t, failure)
		return
	}
	d.cancelBelow(t)
	d.groupFailed(t, failure)
}

// holdsBack says whether a task has to wait since the attempt does, or is paused. What `sla:` has added does not: it is about the wait, too.
func (s *State) holdsBack(t *Task) bool {
	return s.pauses(t) || (!s.startsAt.IsZero() || s.slot != nil && s.slot.Waits) && !t.Cancel && int(t.ID) <= len(s.def.Nodes)
}

// admitted lets the attempt begin, which has its slot.
func (d *decision) admitted(project int64) {
	d.apply(Admitted{Project: project})
	switch root := d.task(Root); {
	case root.State == Planned && root.Timeout != nil:
		d.move(root, Planned, nil, nil)
	case root.Held && !d.pauses(root):
		d.goOnWith(root)
	}
	for _, t := range d.tasks[:len(d.def.Nodes)] {
		d.look = append(d.look, t.ID)
	}
}

// needsSlots says that the task has to wait for slots before its next run.
func (t *Task) needsSlots() bool { return t.Pool != nil && !t.Pool.Has && !t.Cancel }

// acquire has a task wait for the slots of its next try; edit, unless nil, may set more of its progress.
func (d *decision) acquire(t *Task, asked claim.Pool, edit func(*Progress)) {
	list := asked.Claims()
	for i := range list {
		if c := &list[i]; c.Inherits {
			c.Priority, c.Inherits = d.priorityOf(t), false
		}
	}
	next := claim.Use{Pool: *claim.Of(list), Try: 1, Since: d.now, Waits: true}
	if old := t.Pool; old != nil {
		next.Try, next.Freed, next.More, next.Begun = old.Try+1, old.Freed, old.More, old.Begun
	}
	d.move(t, Running, nil, func(p *Progress) {
		if edit != nil {
			edit(p)
		}
		p.Dispatch++
		p.Guard, p.Preparing, p.Pool = d.guard, false, &next
	})
}

// priorityOf is how important a task is among those that wait: what the nearest `_priority` says, else what its start said. A
// file that `call>` runs without a level of its own says nothing.
func (s *State) priorityOf(t *Task) int {
	for ; t != nil; t = s.Task(t.Parent) {
		if p, there := keys.PriorityOf(t.Config); there && t.Level > 0 {
			return p
		}
	}
	return s.priority
}

// ComputedPriorityOf is the nearest `_priority` of a task where that is computed: the run that prepares the task evaluates it, and no other one asks.
// "" where it is a word, or there is none.
func (s *tree) ComputedPriorityOf(id TaskID) string {
	for t := s.Task(id); t != nil; t = s.Task(t.Parent) {
		if t.Level == 0 {
			continue
		}
		text := keys.ComputedPriority(t.Config)
		if _, written := keys.PriorityOf(t.Config); written || text != "" {
			return text
		}
	}
	return ""
}

// Priority is what the start of the attempt said: -2 to 2, the higher one goes first.
func (s *State) Priority() int { return s.priority }

// granted runs a task that has its slots, or has it ask for those of the next pool. What earlier tries had was given up before
// this one asked.
func (d *decision) granted(t *Task, project int64) {
	has := *t.Pool
	has.Freed = nil
	if len(has.Got) < len(has.Then) {
		has.Got, has.Since, has.More = append(slices.Clone(has.Got), project), d.now, has.More+1
		d.move(t, Running, nil, func(p *Progress) {
			p.Dispatch++
			p.Guard, p.Pool = d.guard, &has
		})
		return
	}
	has.Waits, has.Has, has.Project = false, true, project
	if t.Group {
		d.beginRound(t, &has)
		return
	}
	d.move(t, Running, nil, func(p *Progress) {
		p.Dispatch++
		p.Guard, p.Pool = d.guard, &has
		if p.StartedAt.IsZero() {
			p.StartedAt = d.now
		}
	})
}

// beginRound lets the tasks below a group begin, which has its slots.
func (d *decision) beginRound(t *Task, has *claim.Use) {
	if has.Begun {
		d.apply(GroupRestarted{Group: t.ID, First: TaskID(len(d.tasks) + 1), At: d.now})
	}
	has.Begun = true
	d.move(t, Planned, nil, func(p *Progress) { p.Pool = has })
	d.lookAtResumed(t.ID)
}

// noGrant says why a task is not granted slots.
func (s *State) noGrant(r Run) Refusal {
	if r.Task == Whole {
		if s.slot == nil {
			return NoTask
		}
		if r != s.slotRun() || !s.asks() {
			return Stale
		}
		return ""
	}
	if t := s.Task(r.Task); t != nil && !t.Waits() {
		return Stale
	}
	return s.stale(r)
}

// noteFreed keeps the index of who owes that slots are given up.
func (s *State) noteFreed(t *Task) {
	if t.Pool == nil {
		return
	}
	for _, f := range t.Pool.Freed {
		if s.freeing == nil {
			s.freeing = map[string][]TaskID{}
		}
		if !slices.Contains(s.freeing[f.Guard], t.ID) {
			s.freeing[f.Guard] = append(s.freeing[f.Guard], t.ID)
		}
	}
}

// slotReleases lists what a guard owes to give up of the slot of the attempt: after the end all of it, and a place in the line that it left.
func (s *State) slotReleases(guard string) (list []Effect) {
	if s.ended && s.startsAt.IsZero() && guard == s.endGuard && !s.slot.HasLeft() {
		list = append(list, Release{Task: Whole, Pool: s.slot.Pool, Try: s.slot.Try, Since: s.slot.Since, Waited: s.slot.Waits, Project: s.slot.Project})
	}
	for _, f := range s.slot.Freed {
		if f.Guard == guard {
			list = append(list, Release{Task: Whole, Pool: s.slot.Pool, Try: f.Try, Since: f.Since, Waited: f.Waited})
		}
	}
	return list
}

// releases lists the slots that a guard owes to give up.
func (s *State) releases(guard string) []Effect {
	var list []Effect
	if s.slot != nil {
		list = s.slotReleases(guard)
	}
	for _, id := range s.freeing[guard] {
		t := s.task(id)
		for _, f := range t.Pool.Freed {
			if f.Guard != guard {
				continue
			}
			claims := t.Pool.Claims()
			for i, project := range f.Got {
				list = append(list, Release{Task: id, Pool: claims[i], Try: f.Try, Since: f.Since, Project: project})
			}
			list = append(list, Release{Task: id, Pool: claims[len(f.Got)], Try: f.Try, Since: f.Since, Waited: f.Waited, Project: f.Project})
		}
	}
	return list
}
