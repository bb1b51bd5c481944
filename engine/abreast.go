package engine

import (
	"zerodag/engine/dig/keys"
)

// underWay says whether a task has begun and has not ended.
func (t *Task) underWay() bool { return t.State >= Ready && t.State <= Planned }

// occupies says whether a task takes one of the places that `concurrency: {tasks: N}` of the file has: from its start to its
// end, waits included, but not while it only waits for its subtasks, which need places of their own.
func (s *State) occupies(t *Task) bool {
	return s.hasPlaces(t) && (t.State == Running || t.State == RetryWaiting)
}

// hasPlaces says whether a task needs a place at all. Groups do not, nor what `sla:` has added, which is about how long the rest takes.
func (s *State) hasPlaces(t *Task) bool {
	return s.def.Tasks > 0 && !t.Group && !s.isSLA(t)
}

// crowded says whether a task that has not begun has to wait until others of its group, or of the attempt, have ended.
func (s *State) crowded(t *Task) bool {
	p := s.Task(t.Parent)
	return !t.Cancel && p != nil && p.sliding > 0 && p.busy >= p.sliding || s.noPlace(t)
}

// noPlace says whether a task needs a place of the attempt, and none is free.
func (s *State) noPlace(t *Task) bool {
	return !t.Cancel && s.hasPlaces(t) && s.occupied >= s.def.Tasks
}

// hold has the next try of a task wait, for a place, since it gave its own up when it waited for its subtasks, or for the end
// of a pause. It gives up what it has, or waits for, of a pool.
// edit, unless nil, may set more of its progress.
func (d *decision) hold(t *Task, edit func(*Progress)) {
	d.move(t, GroupRetryWaiting, nil, func(p *Progress) {
		if edit != nil {
			edit(p)
		}
		p.Dispatch++
		p.Guard, p.Preparing, p.Held = "", false, true
	})
}

// count adds what a task counts for in the limits of its group and of the attempt, or takes it away again.
func (s *State) count(t *Task, sign int) {
	if p := s.Task(t.Parent); p != nil {
		p.busy += sign * asInt(t.underWay())
	}
	s.occupied += sign * asInt(s.occupies(t))
}

// slidingOf is how many children of a task may be under way at once, 0 for any number.
func slidingOf(t *Task) int {
	if t.Level == 0 || !t.Group {
		return 0
	}
	return keys.Sliding(t.Config)
}

// makeRoom starts what a task has left room for, in the order of the tasks. Where the attempt has places it looks at all its
// tasks, some nanoseconds each.
func (d *decision) makeRoom(t *Task) {
	if p := d.Task(t.Parent); p != nil && p.sliding > 0 && t.State.Done() {
		d.slide(p)
	}
	if !d.hasPlaces(t) || d.occupies(t) {
		return
	}
	for id := TaskID(1); int(id) <= len(d.tasks) && d.occupied < d.def.Tasks; id++ {
		switch x := d.Task(id); {
		case x == nil || x.Parent == 0:
		case x.Held && d.paused == nil:
			d.again(x)
		case x.State == Blocked && d.task(x.Parent).opensChildren():
			d.unblock([]TaskID{id})
		}
	}
}

// slide starts as many children of a group as it has room for.
func (d *decision) slide(p *Task) {
	if !p.opensChildren() {
		return
	}
	p.begun = d.pastBegun(p.children, p.begun)
	for i := p.begun; i < len(p.children) && p.busy < p.sliding; i++ {
		d.unblock(p.children[i : i+1])
	}
}

// pastBegun moves an index over the first of the children that are not blocked: none will be again.
func (s *tree) pastBegun(children []TaskID, from int) int {
	for from < len(children) && s.task(children[from]).State != Blocked {
		from++
	}
	return from
}

// again runs a task again that waited for a place.
func (d *decision) again(t *Task) {
	if t.needsSlots() {
		d.acquire(t, t.Pool.Pool, nil)
		return
	}
	d.dispatch(t, nil)
}

// opensChildren says whether children of a task may start.
func (t *Task) opensChildren() bool {
	return t.State == Planned || t.Resumed && !t.Ignored && t.Skipped == ""
}
