package enginetest

import (
	"slices"

	"zerodag/engine"
	"zerodag/engine/param"
)

// LiteralParams is the walk of language.md 1.5, word for word: from the root to the task;
// before each, its upstream siblings, oldest first, each with all its descendants; then
// what the ancestor exported, then what it stored.
func LiteralParams(s *engine.State, defaults *param.Map, t *engine.Task) *param.Map {
	w := walk{tasks: s.Tasks(), params: param.Merge(defaults, s.Params())}
	path := []*engine.Task{t}
	for p := t.Parent; p != 0; p = path[0].Parent {
		path = append([]*engine.Task{w.byID(p)}, path...)
	}
	for _, x := range path {
		w.upstreams(x, map[engine.TaskID]bool{})
		if x != t {
			var exported *param.Map
			if x.Outcome != nil {
				exported = x.Exports
			}
			w.params = param.Merge(w.params, param.Merge(x.Export, exported))
			w.stores(x)
		}
	}
	w.params = param.Merge(w.params, t.Export)
	if t.Ends { // what `outputs` see: all that was stored
		w.stores(t)
		w.descendants(t)
	}
	return w.params
}

type walk struct {
	tasks  []*engine.Task
	params *param.Map
}

func (w *walk) byID(id engine.TaskID) *engine.Task {
	for _, t := range w.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (w *walk) upstreams(t *engine.Task, seen map[engine.TaskID]bool) {
	for _, sibling := range w.tasks { // in the order of ids
		if slices.Contains(t.Upstreams, sibling.ID) && !seen[sibling.ID] {
			seen[sibling.ID] = true
			w.upstreams(sibling, seen)
			w.stores(sibling)
			w.descendants(sibling)
		}
	}
}

func (w *walk) descendants(t *engine.Task) {
	for _, child := range w.tasks {
		if child.Parent == t.ID {
			w.stores(child)
			w.descendants(child)
		}
	}
}

func (w *walk) stores(t *engine.Task) {
	if t.Outcome == nil {
		return
	}
	w.params = param.Reset(w.params, t.ResetStore...)
	w.params = param.Merge(w.params, t.Stores)
}
