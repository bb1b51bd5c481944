package enginetest

import (
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
)

// LiteralParams is the walk of language.md 1.5, word for word: from the root to the task; before each, its upstream
// siblings, oldest first, each with all its descendants; then the exports of the ancestor, then its stores. A
// carried-over task leaves the values that it and all tasks below it stored in the earlier attempt.
func LiteralParams(s *engine.State, earlier *Earlier, defaults *param.Map, t *engine.Task) *param.Map {
	params := param.Merge(defaults, s.Params())
	w := walk{tasks: s.Tasks(), earlier: earlier, params: &params}
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
			*w.params = param.Merge(*w.params, param.Merge(x.Export, exported))
			w.stores(x)
		}
	}
	*w.params = param.Merge(*w.params, t.Export)
	if t.Ends { // `outputs` see all stores
		w.stores(t)
		w.descendants(t)
	}
	return *w.params
}

// Earlier is an attempt whose results are carried over into another.
type Earlier struct {
	State   *engine.State
	Carried []engine.Carried // the tasks carried over; only names and whether a task was skipped count
	Earlier *Earlier         // the attempt before that; nil if it ran all its tasks
}

// leftOut is the reason given by a partial retry for skipping a task from which nothing is carried over.
const leftOut = "the retry omits it"

type walk struct {
	tasks   []*engine.Task
	earlier *Earlier
	only    map[string]bool // nil: all tasks count
	params  **param.Map
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

func (w *walk) descendants(t *engine.Task) { w.below(t, nil) }

// below walks the tasks below a task. For a carried-over task, these are the tasks of the earlier attempt, except
// children that this attempt also created. instead, unless nil, walks the children of t that a later attempt created.
func (w *walk) below(t *engine.Task, instead func()) {
	own := func() { w.own(t, instead) }
	if !t.Resumed || w.earlier == nil || w.only != nil { // if t does not count, neither does what it left
		own()
		return
	}
	old := walk{tasks: w.earlier.State.Tasks(), earlier: w.earlier.Earlier, params: w.params}
	var was *engine.Task
	if id, there := old.newest()[t.Name]; there {
		was = old.byID(id)
	}
	switch {
	case was == nil:
		own()
		return
	case t.Skipped == leftOut || t.Skipped != "" && !old.done(was): // unlike some tasks below it, it is not carried over
		old.only = map[string]bool{}
		for _, c := range w.earlier.Carried {
			old.only[c.Name] = c.Skipped == ""
		}
	}
	if t.Ignored { // none of its children run
		own = nil
	}
	old.below(was, own)
}

// own walks the tasks below a task that exist in its attempt.
func (w *walk) own(t *engine.Task, instead func()) {
	newest := w.newest()
	for _, child := range w.tasks {
		switch {
		case child.Parent != t.ID:
		case instead != nil && t.Group && child.Name[len(t.Name)] == '+' && newest[child.Name] == child.ID:
			instead()
			instead = func() {}
		case w.only != nil && newest[child.Name] != child.ID: // nothing is carried over from an earlier iteration
		case w.only[child.Name]:
			whole := *w
			whole.only = nil
			whole.stores(child)
			whole.descendants(child)
		default:
			w.stores(child)
			w.descendants(child)
		}
	}
	if instead != nil {
		instead()
	}
}

// newest returns the newest task of each name.
func (w *walk) newest() map[string]engine.TaskID {
	newest := map[string]engine.TaskID{}
	for _, x := range w.tasks {
		newest[x.Name] = x.ID
	}
	return newest
}

// done reports whether a task succeeded, and no retry skipped any part of it. Tasks below a failure that was ignored
// earlier do not count.
func (w *walk) done(t *engine.Task) bool {
	for _, x := range w.tasks {
		if x.Skipped == leftOut && !w.outdated(x) && (x == t || strings.HasPrefix(x.Name, t.Name+"+") || strings.HasPrefix(x.Name, t.Name+"^")) && !w.forgiven(x, t) {
			return false
		}
	}
	return t.State == engine.Success
}

// forgiven reports whether a group around a task, up to top, was carried over although it had failed, because the
// failure was ignored.
func (w *walk) forgiven(t, top *engine.Task) bool {
	for ; t != nil; t = w.byID(t.Parent) {
		if t.Resumed && t.Ignored {
			return true
		}
		if t == top {
			return false
		}
	}
	return false
}

// outdated reports whether a task, or a group around it, was created again.
func (w *walk) outdated(t *engine.Task) bool {
	for ; t != nil; t = w.byID(t.Parent) {
		for _, x := range w.tasks {
			if x.Parent == t.Parent && x.Name == t.Name && x.ID > t.ID {
				return true
			}
		}
	}
	return false
}

func (w *walk) stores(t *engine.Task) {
	if t.Outcome == nil || w.only != nil && !w.only[t.Name] {
		return
	}
	*w.params = param.Merge(param.Reset(*w.params, t.ResetStore...), t.Stores)
}
