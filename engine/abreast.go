package engine

import (
	"zerodag/engine/dig/keys"
)

// underWay reports whether a task has begun but not ended.
func (t *Task) underWay() bool { return t.State >= Ready && t.State <= Planned }

// occupies reports whether a task takes one of the places of the file's `concurrency: {tasks: N}`. A task occupies its
// place from start to end, including waits, except while it only waits for its subtasks, which need places themselves.
func (s *State) occupies(t *Task) bool {
	return s.hasPlaces(t) && (t.State == Running || t.State == RetryWaiting)
}

// hasPlaces reports whether a task needs a place at all. Groups need none, and neither do tasks added by `sla:`, which
// measures how long the other tasks take.
func (s *State) hasPlaces(t *Task) bool {
	return s.def.Tasks > 0 && !t.Group && !s.isSLA(t)
}

// crowded reports whether a task that has not begun must wait until other tasks in its group or in the attempt have
// ended.
func (s *State) crowded(t *Task) bool {
	p := s.Task(t.Parent)
	return !t.Cancel && p != nil && p.sliding > 0 && p.busy >= p.sliding || s.noPlace(t)
}

// noPlace reports whether a task needs one of the attempt's places and none is free.
func (s *State) noPlace(t *Task) bool {
	return !t.Cancel && s.hasPlaces(t) && s.occupied >= s.def.Tasks
}

// hold delays the next run of a task until it has a place again, which it gave up to wait for its subtasks, or until a
// pause ends. The task gives up the slots that it has or waits for. edit, unless nil, may set more of its progress.
func (d *decision) hold(t *Task, edit func(*Progress)) {
	d.move(t, GroupRetryWaiting, nil, func(p *Progress) {
		if edit != nil {
			edit(p)
		}
		p.Dispatch++
		p.Guard, p.Preparing, p.Held = "", false, true
	})
}

// count adds a task to the counters of its group and of the attempt (sign 1), or removes it (-1).
func (s *State) count(t *Task, sign int) {
	if p := s.Task(t.Parent); p != nil {
		p.busy += sign * asInt(t.underWay())
	}
	s.occupied += sign * asInt(s.occupies(t))
}

// slidingOf returns how many children of a task may be under way at once, 0 for any number.
func slidingOf(t *Task) int {
	if t.Level == 0 || !t.Group {
		return 0
	}
	return keys.Sliding(t.Config)
}

// makeRoom starts the tasks that a finished task has made room for, in task order. If the attempt limits its tasks,
// this scans all of them, at a few nanoseconds each.
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

// pastBegun moves an index past the leading children that are no longer blocked: they will not be blocked again.
func (s *tree) pastBegun(children []TaskID, from int) int {
	for from < len(children) && s.task(children[from]).State != Blocked {
		from++
	}
	return from
}

// again resumes a task that waited for a place.
func (d *decision) again(t *Task) {
	if t.needsSlots() {
		d.acquire(t, t.Pool.Pool, nil)
		return
	}
	d.dispatch(t, nil)
}

// opensChildren reports whether children of a task may start.
func (t *Task) opensChildren() bool {
	return t.State == Planned || t.Resumed && !t.Ignored && t.Skipped == ""
}
