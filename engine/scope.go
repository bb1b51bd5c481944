package engine

import (
	"slices"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// scope is a task's view of the other tasks (language.md 1.5): a chain of links, each adding what one task exported or
// what one upstream and its descendants stored. Links are merged only when a task is about to run. The merged tree is
// kept at every mergeEvery-th link and at links that are read twice.
type scope struct {
	up     *scope
	of     *Task
	export bool // the exports and own stores of an ancestor; else the stores of an upstream
	depth  int
	asked  bool
	merged *param.Map
}

const mergeEvery = 32

func (c *scope) link(t *Task, export bool) *scope {
	n := &scope{up: c, of: t, export: export}
	if c != nil {
		n.depth = c.depth + 1
	}
	return n
}

// ParamsOf returns the parameters of a task that runs, steps 1 to 5 of language.md 1.5: everything but run-time
// variables and its own keys. The result is shared. For a run that evaluates `outputs`, these are the parameters that a
// task following all others would see.
func (s *State) ParamsOf(id TaskID) *param.Map {
	t := s.task(id)
	if t.scope == nil {
		t.scope = s.scopeOf(t)
	}
	seen := param.Merge(s.merged(t.scope), t.Export)
	if t.Ends { // `outputs` come after all tasks
		return s.storesInto(seen, t)
	}
	return seen
}

// EnvOf returns the variables that the groups around a task set for the commands of all tasks below them, nearest group
// on top, and their files with variables, nearest group last; nil for none.
func (s *tree) EnvOf(id TaskID) (env *param.Map, files []param.Value) {
	for t := s.Task(s.task(id).Parent); t != nil; t = s.Task(t.Parent) {
		if t.Level == 0 || !t.Group {
			continue
		}
		if own := t.Config.Map("_env"); own != nil {
			env = param.Merge(own, env)
		}
		if own, ok := t.Config.Get("_env_files"); ok {
			files = append(slices.Clone(keys.ListOf(own)), files...)
		}
	}
	return env, files
}

// ShownParamsOf is ParamsOf for display: it omits the defaults that the host gives to all attempts, which not every
// user may see, unless they are overridden.
func (s *State) ShownParamsOf(id TaskID) *param.Map { return leaveOut(s.ParamsOf(id), s.defaults) }

// leaveOut removes from a tree the values that are also in a second tree at the same place.
func leaveOut(m, values *param.Map) *param.Map {
	if values.Len() == 0 {
		return m
	}
	out := param.New()
	for k, v := range m.All() {
		below, there := values.Get(k)
		inner, isMap := v.(*param.Map)
		of, both := below.(*param.Map)
		switch {
		case there && isMap && both:
			if rest := leaveOut(inner, of); rest.Len() > 0 {
				out.Set(k, rest)
			}
		case !there || !param.Equal(v, below):
			out.Set(k, v)
		}
	}
	return out
}

func (s *State) merged(c *scope) *param.Map {
	if c.merged != nil {
		return c.merged
	}
	var m *param.Map
	if c.up == nil {
		m = param.Merge(s.defaults, s.params)
	} else {
		m = s.merged(c.up)
	}
	switch {
	case c.of == nil:
	case c.export:
		if c.of.Outcome == nil {
			m = param.Merge(m, c.of.Export)
			break
		}
		m = c.of.Outcome.storeInto(param.Merge(m, param.Merge(c.of.Export, c.of.Exports)))
	default:
		m = s.storesInto(m, c.of)
	}
	if c.asked || c.depth%mergeEvery == 0 {
		c.merged = m
	}
	c.asked = true
	return m
}

func (o *Outcome) storeInto(m *param.Map) *param.Map {
	return param.Merge(param.Reset(m, o.ResetStore...), o.Stores)
}

// storesInto merges the stores of a task and everything below it into m.
func (s *tree) storesInto(m *param.Map, t *Task) *param.Map {
	if !t.storing {
		return m
	}
	if t.Outcome != nil {
		m = t.Outcome.storeInto(m)
	}
	m = layStores(m, t.Left.Before)
	for _, id := range t.children {
		if !t.Left.Whole {
			m = s.storesInto(m, s.task(id))
		}
	}
	return layStores(m, t.Left.After)
}

// scopeOf returns a task's scope, once all its upstreams are done.
func (s *State) scopeOf(t *Task) *scope {
	if t.Parent == 0 {
		return &scope{}
	}
	p := s.task(t.Parent)
	if len(t.Upstreams) == 0 || !p.storing {
		return s.innerOf(p)
	}
	if base, same := s.commonScope(t.Upstreams); same {
		for i, id := range t.Upstreams {
			if i == 0 || id != t.Upstreams[i-1] { // an upstream that is named twice stores once
				base = s.stored(base, s.task(id))
			}
		}
		return base
	}
	base := s.innerOf(p)
	for _, u := range s.UpstreamsOf(t, nil, map[TaskID]bool{}) {
		base = s.stored(base, u)
	}
	return base
}

// commonScope returns the scope with which all upstreams started if they waited for the same tasks: a sequence, a chunk
// of `_parallel: {limit: N}`, a simple join.
func (s *State) commonScope(upstreams []TaskID) (*scope, bool) {
	first := s.task(upstreams[0])
	for _, id := range upstreams[1:] {
		u := s.task(id)
		if len(u.Upstreams) != len(first.Upstreams) {
			return nil, false
		}
		for i, x := range u.Upstreams {
			if x != first.Upstreams[i] {
				return nil, false
			}
		}
	}
	if first.scope == nil {
		first.scope = s.scopeOf(first)
	}
	return first.scope, true
}

func (s *State) stored(base *scope, u *Task) *scope {
	if !u.storing {
		return base
	}
	if u.after == nil || u.after.up != base {
		u.after = base.link(u, false)
	}
	return u.after
}

// innerOf returns the scope of a task's children before any of them has stored anything.
func (s *State) innerOf(t *Task) *scope {
	if t.inner != nil {
		return t.inner
	}
	if t.scope == nil {
		t.scope = s.scopeOf(t)
	}
	t.inner = t.scope
	o := t.Outcome
	if t.Export.Len() > 0 || o != nil && (o.Exports.Len() > 0 || o.stored()) {
		t.inner = t.scope.link(t, true)
	}
	return t.inner
}
