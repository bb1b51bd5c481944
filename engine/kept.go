package engine

import (
	"slices"

	"zerodag/engine/param"
)

// Kept returns what a successful operator task has to store if its result alone stands for it in a run that makes all other tasks again,
// each from its own result: its own stores, and those of tasks that such a run does not make. These are earlier runs of the task,
// handlers of its ignored failure, and, for the first task of a successful group, earlier rounds of the group.
func (s *State) Kept(t *Task) Stored {
	var list []Stored
	for _, g := range s.groupsThatBeginWith(t) {
		list = s.supersededBy(g, list)
	}
	if t.Outcome != nil {
		list = addStored(list, Stored{Reset: t.ResetStore, Stores: t.Stores, Secret: t.Secret})
	}
	newest, again := s.newest(t), s.failsAgain(t)
	for _, id := range t.children {
		if c := s.task(id); newest[c.Name] != id || OfFailure(c.Name) && !again {
			list = s.storedBy(c, nil, list)
		}
	}
	var all Stored
	for _, x := range list {
		all = all.and(x)
	}
	return all
}

// failsAgain reports whether a task fails again, and runs its handlers, though its own result is taken: a task that it generated, or its
// check, has failed.
func (s *State) failsAgain(t *Task) bool {
	newest := s.newest(t)
	return slices.ContainsFunc(t.children, func(id TaskID) bool {
		c := s.task(id)
		return newest[c.Name] == id && !OfFailure(c.Name) && c.Name != t.Name+"^finally" && c.State != Success
	})
}

// FirstOf returns the operator task that comes first in the last round of a group; nil if there is none.
func (s *State) FirstOf(g *Task) *Task {
	newest := s.newest(g)
	for _, id := range g.children {
		c := s.task(id)
		if !c.isWrittenIn(g) || newest[c.Name] != id {
			continue
		}
		if c.Group {
			return s.FirstOf(c)
		}
		return c
	}
	return nil
}

// groupsThatBeginWith lists the successful groups whose first operator task is t, the outermost first.
func (s *State) groupsThatBeginWith(t *Task) (list []*Task) {
	for id := t.Parent; id != 0; id = s.task(id).Parent {
		g := s.task(id)
		if !g.Group || g.State != Success || s.FirstOf(g) != t {
			break
		}
		list = append(list, g)
	}
	slices.Reverse(list)
	return list
}

// supersededBy appends what was stored below t in its earlier rounds or runs.
func (s *State) supersededBy(t *Task, list []Stored) []Stored {
	newest := s.newest(t)
	for _, id := range t.children {
		if c := s.task(id); newest[c.Name] != id {
			list = s.storedBy(c, nil, list)
		}
	}
	return list
}

// and returns one entry that gives the same parameters as laying x and then over.
func (x Stored) and(over Stored) Stored {
	reset := slices.Concat(x.Reset, over.Reset, replaced(nil, x.Stores, over.Stores))
	return Stored{Reset: reset, Stores: param.Merge(param.Reset(x.Stores, over.Reset...), over.Stores), Secret: x.Secret || over.Secret}
}

// replaced lists the paths at which over has a mapping and base another value: merged into one, they would no longer replace what they are
// laid on.
func replaced(at []string, base, over *param.Map) (paths [][]string) {
	for k, v := range over.All() {
		if sub, isMap := v.(*param.Map); !isMap || !base.Has(k) {
			continue
		} else if old := base.Map(k); old != nil {
			paths = append(paths, replaced(append(slices.Clip(at), k), old, sub)...)
			continue
		}
		paths = append(paths, append(slices.Clip(at), k))
	}
	return paths
}
