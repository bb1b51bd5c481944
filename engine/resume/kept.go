package resume

import (
	"slices"

	"zerodag/engine"
	"zerodag/engine/param"
)

// Kept returns the stores of a successful operator task for a run that creates all other tasks again, each from its own
// result. They are its own stores and those of tasks that such a run does not create: earlier runs of the task,
// handlers of its ignored failure and, for the first task of a successful group, earlier iterations of the group.
func Kept(s *engine.State, t *engine.Task) engine.Stored {
	var list []engine.Stored
	for _, g := range groupsThatBeginWith(s, t) {
		list = supersededBy(s, g, list)
	}
	if t.Outcome != nil {
		list = addStored(list, engine.Stored{Reset: t.ResetStore, Stores: t.Stores, Secret: t.Secret})
	}
	newest, again := s.Newest(t), failsAgain(s, t)
	for _, id := range t.Children() {
		if c := s.Task(id); newest[c.Name] != id || engine.OfFailure(c.Name) && !again {
			list = storedBy(s, c, nil, list)
		}
	}
	var all engine.Stored
	for _, x := range list {
		all = both(all, x)
	}
	return all
}

// failsAgain reports whether a task fails again and runs its handlers, although its own result is reused: a task that
// it generated, or its check, has failed.
func failsAgain(s *engine.State, t *engine.Task) bool {
	newest := s.Newest(t)
	return slices.ContainsFunc(t.Children(), func(id engine.TaskID) bool {
		c := s.Task(id)
		return newest[c.Name] == id && !engine.OfFailure(c.Name) && c.Name != t.Name+"^finally" && c.State != engine.Success
	})
}

// FirstOf returns the operator task that comes first in the last iteration of a group; nil if there is none.
func FirstOf(s *engine.State, g *engine.Task) *engine.Task {
	newest := s.Newest(g)
	for _, id := range g.Children() {
		c := s.Task(id)
		if !c.WrittenIn(g) || newest[c.Name] != id {
			continue
		}
		if c.Group {
			return FirstOf(s, c)
		}
		return c
	}
	return nil
}

// groupsThatBeginWith lists the successful groups whose first operator task is t, the outermost first.
func groupsThatBeginWith(s *engine.State, t *engine.Task) (list []*engine.Task) {
	for id := t.Parent; id != 0; id = s.Task(id).Parent {
		g := s.Task(id)
		if !g.Group || g.State != engine.Success || FirstOf(s, g) != t {
			break
		}
		list = append(list, g)
	}
	slices.Reverse(list)
	return list
}

// supersededBy appends what earlier iterations or runs of t stored below it.
func supersededBy(s *engine.State, t *engine.Task, list []engine.Stored) []engine.Stored {
	newest := s.Newest(t)
	for _, id := range t.Children() {
		if c := s.Task(id); newest[c.Name] != id {
			list = storedBy(s, c, nil, list)
		}
	}
	return list
}

// both returns one entry that gives the same parameters as merging x and then over.
func both(x, over engine.Stored) engine.Stored {
	reset := slices.Concat(x.Reset, over.Reset, replaced(nil, x.Stores, over.Stores))
	return engine.Stored{Reset: reset, Stores: param.Merge(param.Reset(x.Stores, over.Reset...), over.Stores), Secret: x.Secret || over.Secret}
}

// replaced lists the paths at which over has a mapping and base has some other value: if both were merged into one
// entry, these mappings would no longer replace the values that they are merged into.
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
