package engine

import (
	"fmt"
	"slices"
)

// tree holds an attempt's tasks and their relations, but no state of the attempt as a whole.
type tree struct {
	tasks []*Task // by id - 1; nil for tasks in a portion that has not been created yet
}

// Task returns the task with the given id, or nil if there is none.
func (s *tree) Task(id TaskID) *Task {
	if id < 1 || int(id) > len(s.tasks) {
		return nil
	}
	return s.tasks[id-1]
}

func (s *tree) task(id TaskID) *Task {
	if t := s.Task(id); t != nil {
		return t
	}
	panic(fmt.Sprintf("engine: attempt has no task %d", id))
}

// Tasks returns all tasks in the order of their ids.
func (s *tree) Tasks() []*Task {
	all := make([]*Task, 0, len(s.tasks))
	for _, t := range s.tasks {
		if t != nil {
			all = append(all, t)
		}
	}
	return all
}

// Next returns the tasks that will run once a task has succeeded, if nothing else delays them: tasks that wait only for
// this one, and the first tasks of such groups.
func (s *tree) Next(id TaskID) []*Task {
	var list []*Task
	t := s.Task(id)
	if t == nil {
		return nil
	}
	for _, d := range t.downstream {
		if x := s.task(d); x.waiting == 1 && x.State == Blocked {
			list = s.firstOf(x, list)
		}
	}
	return list
}

func (s *tree) firstOf(t *Task, list []*Task) []*Task {
	if !t.Group {
		return append(list, t)
	}
	for _, id := range t.children {
		if c := s.task(id); c.waiting == 0 {
			list = s.firstOf(c, list)
		}
	}
	return list
}

// IsIgnored reports whether a task, or a group around it, failed but counts as succeeded.
func (s *tree) IsIgnored(t *Task) bool { return s.IgnoredBelow(t, 0) }

// IgnoredBelow is IsIgnored restricted to the groups below top, which the task is below; top 0 includes all groups.
func (s *tree) IgnoredBelow(t *Task, top TaskID) bool {
	for ; t != nil && t.ID != top && t.Level > 0; t = s.Task(t.Parent) {
		if t.Ignored {
			return true
		}
	}
	return false
}

// Children returns the tasks directly below a task, by id.
func (t *Task) Children() []TaskID { return t.children }

// StoresBelow reports whether a task, or one below it, has stored parameters.
func (t *Task) StoresBelow() bool { return t.storing }

// Newest returns a task's current children, by name. It omits children that a newer one with the same name replaces,
// and `^check` of earlier iterations of a group.
func (s *tree) Newest(t *Task) map[string]TaskID {
	newest := make(map[string]TaskID, len(t.children))
	for _, id := range t.children {
		newest[s.task(id).Name] = id
	}
	if t.Group && s.checkOf(t) == nil {
		delete(newest, t.Name+CheckName)
	}
	return newest
}

// Superseded returns the tasks that a newer run replaces: tasks from a group's earlier iterations, and all tasks below
// them.
func (s *tree) Superseded() map[TaskID]bool {
	old := map[TaskID]bool{}
	for _, t := range s.Tasks() {
		newest := s.Newest(t)
		for _, id := range t.children {
			if c := s.task(id); newest[c.Name] != id && !old[id] {
				for _, x := range s.Below(c, []*Task{c}) {
					old[x.ID] = true
				}
			}
		}
	}
	return old
}

// Below appends everything below a task, each before its own children, siblings by id.
func (s *tree) Below(t *Task, to []*Task) []*Task {
	for _, id := range t.children {
		c := s.task(id)
		to = s.Below(c, append(to, c))
	}
	return to
}

// UpstreamsOf appends a task's upstreams, each after its own upstreams, siblings by id.
func (s *tree) UpstreamsOf(t *Task, to []*Task, seen map[TaskID]bool) []*Task {
	for _, id := range t.Upstreams {
		if seen[id] {
			continue
		}
		seen[id] = true
		u := s.task(id)
		to = append(s.UpstreamsOf(u, to, seen), u)
	}
	return to
}

// closes reports whether the cleanup has begun for a task, or for a task around it and below the given one (0 for any).
func (s *tree) closes(t *Task, below TaskID) bool {
	for ; t != nil && t.ID != below; t = s.Task(t.Parent) {
		if t.Closing != "" {
			return true
		}
	}
	return false
}

// IsClosing reports whether a task belongs to some `_cancel` or `_finally`.
func (s *tree) IsClosing(t *Task) bool {
	for ; t.Parent != 0; t = s.task(t.Parent) {
		if t.closesTaskOf(s.task(t.Parent)) {
			return true
		}
	}
	return false
}

// apart reports whether a task belongs to some `_cancel` or `_finally` that does not change how its task ends.
func (s *tree) apart(t *Task) bool {
	for ; t.Parent != 0; t = s.task(t.Parent) {
		if of := s.task(t.Parent); of.Closing != ClosingFailed && t.closesTaskOf(of) {
			return true
		}
	}
	return false
}

// Closes reports whether a task belongs to the cleanup of some task, so that a kill spares it.
func (s *tree) Closes(id TaskID) bool { return s.closes(s.Task(id), 0) }

// checkOf returns `^check` of a group's current iteration, or nil if there is none yet: the tasks of an iteration are
// created after all of the previous one.
func (s *tree) checkOf(g *Task) *Task {
	for _, id := range slices.Backward(g.children) {
		c := s.task(id)
		if c.Name == g.Name+CheckName {
			return c
		}
		if c.WrittenIn(g) {
			return nil
		}
	}
	return nil
}

// lastOf lists the tasks in a group's iteration that no other task waits for.
func (s *tree) lastOf(g *Task) (list []TaskID) {
	newest := s.Newest(g)
	for _, id := range g.children {
		if c := s.task(id); c.WrittenIn(g) && newest[c.Name] == id && len(c.downstream) == 0 {
			list = append(list, id)
		}
	}
	return list
}
