package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig"
)

// Apply replays stored changes on a state. It decides nothing, so a log written by another version of this package
// leads to the state that its writer had. It panics on changes from a different attempt, since the tasks they name do
// not exist. DecodeChanges has already refused changes that no attempt could have.
func (s *State) Apply(changes ...Change) {
	for _, c := range changes {
		switch c := c.(type) {
		case AttemptStarted:
			s.start(c)
		case Admitted:
			has := *s.slot
			has.Waits, has.Has, has.Project, has.Freed = false, true, c.Project, nil
			s.slot = &has
		case TasksAdded:
			s.add(c)
		case TaskChanged:
			s.set(s.task(c.Task), c)
		case Skipped:
			s.skip(c)
		case SubtreeCanceled:
			s.cancelBelow(c)
		case GroupRestarted:
			s.copyGroup(c)
		case Growing:
			s.grow(c.growth)
		case KillRequested:
			s.flagKilled(c)
		case PauseChanged:
			s.pause(c)
		case Begun:
			s.begin(c)
		case SLAFired:
			s.slaAt = time.Time{}
		case AttemptEnded:
			s.ended, s.endAt, s.endGuard = true, c.At, c.Guard
		default:
			panic(fmt.Sprintf("engine: unknown change %T", c))
		}
	}
}

func (s *State) start(c AttemptStarted) {
	s.started, s.params, s.limit, s.startAt = true, c.Params, c.Limit, c.At
	s.slaAt, s.slaGuard = c.SLAAt, c.SLAGuard
	s.priority, s.slot, s.slotGuard = c.Priority, c.Slot, c.SlotGuard
	s.startsAt, s.startsGuard = c.StartsAt, c.StartsGuard
	if len(c.Carried) > 0 {
		s.carried = make(map[string]Carried, len(c.Carried))
		for _, x := range c.Carried {
			s.carried[x.Name] = x // the newest of several with the same name comes last
		}
	}
	s.add(TasksAdded{First: Root, Nodes: s.def.Nodes, Initial: true, At: c.At})
}

func (s *State) pause(c PauseChanged) {
	s.paused = c.Paused
	if c.Slot != nil {
		s.slot, s.slotGuard = c.Slot, c.SlotGuard
	}
}

func (s *State) begin(c Begun) {
	s.startsAt, s.startsGuard = time.Time{}, ""
	if s.slot != nil {
		slot := *s.slot
		slot.Since = c.At
		s.slot, s.slotGuard = &slot, c.Guard
	}
}

func (s *State) add(c TasksAdded) {
	if need := int(c.First) - 1 + c.From + len(c.Nodes); need > len(s.tasks) {
		s.tasks = append(s.tasks, make([]*Task, need-len(s.tasks))...)
	}
	made := make([]Task, len(c.Nodes))
	for i := range c.Nodes {
		n, t := &c.Nodes[i], &made[i]
		*t = Task{ID: c.First + TaskID(c.From+i), Parent: c.Parent, Name: n.Name, Config: n.Config,
			Export: n.Export, Group: n.Group, Level: n.Level, Initial: c.Initial}
		if n.Parent >= 0 {
			t.Parent = c.First + TaskID(n.Parent)
		}
		t.Upstreams = shifted(n.Upstreams, c.First)
		if c.From+i == 0 && len(c.After) > 0 {
			t.Upstreams = c.After
		}
		if x, ok := s.carried[t.Name]; ok && !x.Spent && t.ID != Root {
			x.give(t)
		}
		s.insert(t)
		if t.stores() {
			s.noticeLate(t)
		}
	}
	if p := s.Task(c.Parent); p != nil && !p.Group && p.failed > 0 {
		s.recountFailed(p) // an operator's new ^sub replaces the one that failed
	}
}

func shifted(indexes []int, first TaskID) []TaskID {
	if len(indexes) == 0 {
		return nil
	}
	ids := make([]TaskID, len(indexes))
	for i, x := range indexes {
		ids[i] = first + TaskID(x)
	}
	slices.Sort(ids) // `_after` may list them in any order; their stores are merged by id
	return ids
}

// insert links a new task to its parent and upstreams, which were created before it.
func (s *State) insert(t *Task) {
	s.tasks[t.ID-1] = t
	s.secret = s.secret || t.Outcome != nil && t.Outcome.Secret || t.Left.holdsSecrets()
	for _, u := range t.Upstreams {
		up := s.task(u)
		up.downstream = append(up.downstream, t.ID)
		if !up.passed() {
			t.waiting++
		}
	}
	t.sliding = slidingOf(t)
	s.count(t, 1)
	if t.Parent != 0 {
		p := s.task(t.Parent)
		p.overtaken = p.overtaken || t.State == Success && t.waiting > 0
		p.children = append(p.children, t.ID)
		if t.counted() {
			p.active++
		}
	}
	if t.stores() {
		s.markStoring(t)
	}
}

// set replaces a task's progress and keeps every counter that depends on it.
func (s *State) set(t *Task, c TaskChanged) {
	counted, was := t.counted(), t.State
	s.acquit(t)
	s.count(t, -1)
	t.Progress = c.Progress
	s.count(t, 1)
	if t.State == GroupRetryWaiting && was != GroupRetryWaiting {
		s.spend(t)
	}
	if c.Outcome != nil {
		before := t.Outcome
		t.Outcome, t.inner = c.Outcome, nil
		s.secret = s.secret || c.Outcome.Secret
		if c.Outcome.stored() {
			s.markStoring(t)
		}
		if c.Outcome.stored() || before != nil && before.stored() { // a second run may not store anything
			s.noticeLate(t)
		}
	}
	s.owe(t)
	if t.passed() && was != Success {
		s.pass(t)
	}
	if t.Parent == 0 {
		return
	}
	p := s.task(t.Parent)
	p.active += asInt(t.counted()) - asInt(counted)
	p.failed += asInt(t.State.Error()) - asInt(was.Error())
}

// spend marks everything carried over below a retried task as used up: results of an earlier attempt count for the
// first iteration only.
func (s *State) spend(t *Task) {
	for _, name := range slices.Sorted(maps.Keys(s.carried)) {
		if strings.HasPrefix(name, t.Name+"+") || strings.HasPrefix(name, t.Name+"^") {
			x := s.carried[name]
			x.Spent = true
			s.carried[name] = x
		}
	}
}

// skip marks a task and everything below it as succeeded.
func (s *State) skip(c Skipped) {
	t := s.task(c.Task)
	for _, x := range s.Below(t, []*Task{t}) {
		if x.State.Done() {
			continue // it was carried over from an earlier attempt
		}
		p := x.Progress
		p.State, p.UpdatedAt, p.RetryAt, p.Guard = Success, c.At, time.Time{}, ""
		p.Preparing, p.Skipped = false, c.Why
		s.set(x, TaskChanged{Task: x.ID, Progress: p})
	}
}

// cancelBelow cancels the unfinished tasks below a task, as a kill does.
func (s *State) cancelBelow(c SubtreeCanceled) {
	for _, x := range s.Below(s.task(c.Task), nil) {
		if x.State.Done() || s.closes(x, c.Task) {
			continue
		}
		p := x.Progress
		p.Cancel, p.UpdatedAt = true, c.At
		if p.State == Blocked {
			p.State = Canceled
		}
		s.set(x, TaskChanged{Task: x.ID, Progress: p})
	}
}

// Touched returns the tasks whose state a change affects, once it is applied.
func (s *State) Touched(c Change) []TaskID {
	var below []*Task
	switch c := c.(type) {
	case TaskChanged:
		return []TaskID{c.Task}
	case Admitted:
		return []TaskID{Root}
	case Skipped:
		below = s.Below(s.task(c.Task), []*Task{s.task(c.Task)})
	case SubtreeCanceled:
		below = s.Below(s.task(c.Task), nil)
	}
	ids := make([]TaskID, len(below))
	for i, t := range below {
		ids[i] = t.ID
	}
	return ids
}

// passed reports whether the task no longer blocks the tasks that wait for it: it and all tasks before it succeeded. A
// task that was carried over has succeeded even if a task before it runs again.
func (t *Task) passed() bool { return t.State == Success && t.waiting == 0 }

// pass records that a task has passed, so that the tasks that wait for it may start, and repeats this for carried-over
// tasks that pass as a result.
func (s *State) pass(t *Task) {
	for next := []*Task{t}; len(next) > 0; {
		t, next = next[len(next)-1], next[:len(next)-1]
		for _, id := range t.downstream {
			x := s.task(id)
			counted := x.counted()
			x.waiting--
			if x.Parent != 0 {
				s.task(x.Parent).active += asInt(x.counted()) - asInt(counted)
			}
			if x.passed() {
				next = append(next, x)
			}
		}
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stores reports whether the task changes the parameters of later tasks, through its own results or those left by an
// earlier attempt.
func (t *Task) stores() bool { return t.Outcome != nil && t.Outcome.stored() || !t.Left.isEmpty() }

func (o *Outcome) stored() bool { return o.Stores.Len() > 0 || len(o.ResetStore) > 0 }

func (s *tree) markStoring(t *Task) {
	for !t.storing {
		t.storing = true
		if t.Parent == 0 {
			return
		}
		t = s.task(t.Parent)
	}
}

// noticeLate makes tasks recompute the parameters they see if a task stores some after others have already passed it.
// This happens below a group that was carried over, and in a list in which a task that runs again precedes a
// carried-over one: the tasks that follow do not have to wait for this one. It also happens when an ignored failure
// stores parameters below a carried-over task while other tasks of the same group still run, and when the root fails
// without getting its slots while tasks added by `sla:` run. A state loaded later also sees these stores.
func (s *State) noticeLate(t *Task) {
	if t.Parent == 0 && t.active > 0 {
		s.forgetScopes()
		return
	}
	if len(s.carried) == 0 {
		return
	}
	for x := t; x != nil; x = s.Task(x.Parent) {
		p := s.Task(x.Parent)
		past := x != t && x.State == Success || x == t && len(t.children) > 0
		if !past && (p == nil || !p.overtaken) {
			continue
		}
		s.forgetScopes()
		return
	}
}

// forgetScopes discards what every task sees, so that it is computed again.
func (s *State) forgetScopes() {
	for _, t := range s.Tasks() {
		t.scope, t.inner, t.after = nil, nil, nil
	}
}

func (s *State) grow(g growth) {
	for i := range s.growing {
		if s.growing[i].First != g.First {
			continue
		}
		if g.nodes == nil {
			g.nodes = s.growing[i].nodes
		}
		s.growing[i] = g
		if g.Next == g.Total {
			s.growing = append(s.growing[:i], s.growing[i+1:]...)
			s.task(g.First).active--
		}
		return
	}
	if need := int(g.First) - 1 + g.Total; need > len(s.tasks) {
		s.tasks = append(s.tasks, make([]*Task, need-len(s.tasks))...)
	}
	s.growing = append(s.growing, g)
	s.task(g.First).active++ // it must not end before all its children exist
}

// copyGroup creates the next iteration of a group: copies of its initial tasks, blocked and not flagged as canceled,
// but not of tasks that operators generated (engine.md 2.7).
func (s *State) copyGroup(c GroupRestarted) {
	g := s.task(c.Group)
	next := c.First
	ids := map[TaskID]TaskID{g.ID: g.ID}
	for _, old := range s.roundOf(g) {
		t := &Task{ID: next, Parent: ids[old.Parent], Name: old.Name, Config: old.Config, Export: old.Export, Group: old.Group, Level: old.Level}
		for _, u := range old.Upstreams {
			t.Upstreams = append(t.Upstreams, ids[u])
		}
		ids[old.ID] = next
		next++
		s.tasks = append(s.tasks, t)
		s.insert(t)
	}
	g.Outcome, g.inner = nil, nil
	s.recountFailed(g)
}

// roundOf lists the tasks that the next iteration of a group creates again: its initial tasks, without
// operator-generated ones. The tasks of a group that is itself a copy, or belongs to a handler, are not initial, so
// Digdag creates none of them again (engine.md 2.7). In a file with `zerodag: 1`, the tasks of the group's first
// iteration are created again.
func (s *tree) roundOf(g *Task) []*Task {
	list := s.Below(g, nil)
	if g.Level > 0 && !g.Initial {
		seen := make(map[string]bool, len(list))
		return slices.DeleteFunc(list, func(t *Task) bool {
			added := strings.Contains(t.Name[len(g.Name):], "^") || seen[t.Name]
			seen[t.Name] = true
			return added
		})
	}
	return slices.DeleteFunc(list, func(t *Task) bool {
		return !t.Initial || strings.Contains(t.Name[len(g.Name):], "^sub")
	})
}

// recountFailed counts the failed children, ignoring older tasks that a newer one replaces.
func (s *tree) recountFailed(t *Task) {
	newest := s.Newest(t)
	t.failed = 0
	for _, id := range t.children {
		if c := s.task(id); newest[c.Name] == id && c.State.Error() {
			t.failed++
		}
	}
}

func (s *State) flagKilled(c KillRequested) {
	s.canceled, s.forced = true, c.Forced
	for _, t := range s.tasks {
		if t != nil && !t.State.Done() && (c.Forced || !s.closes(t, 0)) {
			t.Cancel, t.UpdatedAt = true, c.At
		}
	}
}

// nodesFor compiles the source of an owner's growing children again.
func (s *State) nodesFor(g growth) ([]dig.Node, error) {
	owner := s.task(g.Owner)
	return compileSub(owner, owner.Subtasks)
}
