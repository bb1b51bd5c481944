package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Whole replaces a task id when the attempt as a whole requests, has or gives up a slot: see Start.Slot.
const Whole TaskID = 0

// slotRun returns the run under which the attempt requests its slot: once, and again after each pause.
func (s *State) slotRun() Run { return Run{Task: Whole, Dispatch: s.slot.Try} }

// Waits reports whether only the lack of slots of a pool keeps the task from running.
func (t *Task) Waits() bool { return t.reason() == ForSlots }

// TryOf returns where a task's try stands with one of its pools. A try that has ended stays ended.
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

// UseOf returns the pool use of a task, or of the attempt as a Whole, and the run that waits for it; nil if there is
// none.
func (s *State) UseOf(task TaskID) (*claim.Use, Run) {
	if task == Whole && s.slot != nil {
		return s.slot, s.slotRun()
	}
	if t := s.Task(task); t != nil {
		return t.Pool, Run{Task: task, Dispatch: t.Dispatch}
	}
	return nil, Run{}
}

// Waits reports whether the attempt waits for its turn (see Start.Slot): none of its workflow's tasks has begun. It
// does not request its slot before its start time.
func (s *State) Waits() bool {
	return !s.ended && s.startsAt.IsZero() && s.slot != nil && s.slot.Waits
}

// asks reports whether the attempt requests its slot: a paused attempt is not in the line.
func (s *State) asks() bool { return s.Waits() && s.paused == nil }

// StartsAt returns the start time that the attempt waits for, or zero once it has come (see Start.At).
func (s *State) StartsAt() time.Time { return s.startsAt }

// keepsSlots reports whether a task with progress p has, or waits for, slots of pools. A task has them for one try, a
// group for one iteration, until everything below it has ended. Handlers such as `_error`, which come after an
// iteration, no longer have them.
func (t *Task) keepsSlots(p Progress) bool {
	switch p.State {
	case Running, RetryWaiting:
		return true
	case Planned:
		return t.Group && p.Ending == Blocked && p.Closing == ""
	}
	return false
}

// notBegun reports whether a group has never had its slots, and so has not begun.
func (t *Task) notBegun() bool { return t.Group && t.Pool != nil && !t.Pool.Begun }

// besides returns the slots that a task needs in addition to those with which it already runs; nil for none. A file
// that `call>` runs can also run alone, so it may name a pool of which a group around the call already has at least as
// many slots.
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

// cannotNeed returns why a task may not wait for slots; "" if it may. Every task takes slots in the order of pool
// names, tasks below a group after the group; and a task that has one of the attempt's places never waits for the slots
// of a group whose tasks need places. This rules out deadlocks: there is always a task that waits for nothing.
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

// neverBegins ends a task that will not get its slots. If it is a group, nothing below it starts.
func (d *decision) neverBegins(t *Task, failure *param.Map) {
	if !t.Group {
		d.errored(t, failure)
		return
	}
	d.cancelBelow(t)
	d.groupFailed(t, failure)
}

// holdsBack reports whether a task must wait because the attempt waits or is paused. Tasks added by `sla:` do not wait:
// the limit includes the wait.
func (s *State) holdsBack(t *Task) bool {
	return s.pauses(t) || (!s.startsAt.IsZero() || s.slot != nil && s.slot.Waits) && !t.Cancel && int(t.ID) <= len(s.def.Nodes)
}

// admitted begins an attempt that has been granted its slot.
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

// needsSlots reports whether the task must wait for slots before its next run.
func (t *Task) needsSlots() bool { return t.Pool != nil && !t.Pool.Has && !t.Cancel }

// acquire makes a task wait for the slots of its next try; edit, unless nil, may set more of its progress.
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

// priorityOf returns a waiting task's priority: the nearest `_priority`, otherwise the priority given at the attempt's
// start. A file run by `call>` without its own language level sets none.
func (s *State) priorityOf(t *Task) int {
	for ; t != nil; t = s.Task(t.Parent) {
		if p, there := keys.PriorityOf(t.Config); there && t.Level > 0 {
			return p
		}
	}
	return s.priority
}

// ComputedPriorityOf returns the nearest `_priority` of a task if that is an expression: only the run that prepares the
// task evaluates it. It returns "" for a fixed value, or if there is none.
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

// Priority returns the priority given at the start of the attempt: -2 to 2; higher ones go first.
func (s *State) Priority() int { return s.priority }

// granted runs a task that has its slots, or requests the slots of its next pool. Slots of earlier tries were given up
// before this request.
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

// beginRound lets the tasks below a group begin once it has its slots.
func (d *decision) beginRound(t *Task, has *claim.Use) {
	if has.Begun {
		d.apply(GroupRestarted{Group: t.ID, First: TaskID(len(d.tasks) + 1), At: d.now})
	}
	has.Begun = true
	d.move(t, Planned, nil, func(p *Progress) { p.Pool = has })
	d.lookAtResumed(t.ID)
}

// noGrant returns why a task is not granted slots, "" if it is.
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

// noteFreed maintains the index of the guards that owe releases of slots.
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

// slotReleases lists which releases of the attempt's slot a guard owes: the slot itself after the end, and places in
// lines that the attempt has left.
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

// releases lists the slots that a guard must give up.
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
