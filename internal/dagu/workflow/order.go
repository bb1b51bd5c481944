package workflow

import (
	"slices"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/sequence"
	"zerodag/internal/dagu/tasks"
)

// order determines which steps a step waits for.
type order int

const (
	chained order = iota + 1 // each waits for the previous one
	graph                    // each waits for the steps that it names
	both                     // each waits for the previous one and for the steps that it names
)

// order returns the workflow's order. Without `type`, Dagu ran steps one after the other until it introduced `run` and
// `action`; since then it has run them concurrently.
func (w *Workflow) order(steps []*tasks.Step) order {
	flat := flattened(steps)
	depends := slices.ContainsFunc(flat, func(s *tasks.Step) bool { return s.Has("depends") || s.Has("routed") })
	switch kind := document.Text(w.Map, "type"); {
	case kind == "graph":
		return graph
	case kind == "chain" && depends:
		return both
	case kind == "chain":
		return chained
	case w.Today:
		return graph
	case depends && len(flat) > len(steps):
		w.Note(w.Map, "steps", "translate it with `--release 2.15` for the other order", false,
			"the workflow has no `type`: each step waits for the step above it and for its `depends`, as in Dagu from 1.17 to 2.6; current releases only wait for `depends`")
		return both
	case depends:
		if slices.ContainsFunc(flat[1:],
			func(s *tasks.Step) bool { return len(document.Texts(s.Map, "depends")) == 0 && !s.Has("routed") }) {
			w.Note(w.Map, "steps", "add `depends` to steps that must wait", false,
				"the workflow has no `type`: steps without `depends` start at once, as in current Dagu releases; from 1.17 to 2.6 they waited for the step above")
		}
		return graph
	}
	if len(flat) > 1 && len(steps) > 1 {
		for _, s := range flat[1:] {
			s.Changed = true
		}
		w.Note(w.Map, "steps", "translate it with `--release 2.15` if a current Dagu release runs it", false,
			"the workflow has no `type`: its steps run one after the other, as in Dagu before 2.7, instead of in parallel")
	}
	return chained
}

// linked finds what each step waits for.
func (w *Workflow) linked(steps []*tasks.Step) {
	order := w.order(steps)
	flat := flattened(steps)
	if order != graph {
		var before []*sequence.Node
		for _, s := range steps {
			now := nodesOf(flattened([]*tasks.Step{s}))
			for _, one := range now {
				one.Depends = slices.Clone(before)
			}
			before = now
		}
	}
	nodes := nodesOf(flat)
	for _, s := range flat {
		w.On(s.Node, func() {
			for _, name := range document.Texts(s.Map, "depends") {
				switch other := sequence.Named(nodes, name); {
				case other == nil:
					w.Refuse(s.Map, "depends", "name a step of the workflow", "unknown step %s", name)
				case !slices.Contains(s.Depends, other):
					s.Depends = append(s.Depends, other)
				}
			}
		})
	}
}

// group returns a mapping of all steps. A task may wait only for tasks above it, so the steps are sorted accordingly.
func (w *Workflow) group(steps []*tasks.Step) *param.Map {
	out := param.New()
	if w.order(steps) == chained {
		for _, s := range steps {
			out.Set("+"+s.Name, w.task(s))
		}
		return out
	}
	out.Set("_parallel", true)
	for _, s := range w.ordered(flattened(steps)) {
		task := w.task(s)
		var after []param.Value
		for _, d := range s.Depends {
			after = append(after, "+"+d.Name)
		}
		if after != nil {
			task = param.Merge(param.New("_after", after), task)
		}
		out.Set("+"+s.Name, task)
	}
	return out
}

// ordered sorts steps so that each follows the steps that it waits for. A cycle is broken and refused.
func (w *Workflow) ordered(steps []*tasks.Step) (list []*tasks.Step) {
	of := map[*sequence.Node]*tasks.Step{}
	for _, s := range steps {
		of[s.Node] = s
	}
	circle := func(s, waited *sequence.Node) {
		w.On(s, func() {
			w.Refuse(s.Map, "depends", "break the cycle", "the step %s waits for %s, which waits for it", s.Name, waited.Name)
		})
	}
	for _, s := range sequence.Ordered(nodesOf(steps), circle) {
		list = append(list, of[s])
	}
	return list
}
