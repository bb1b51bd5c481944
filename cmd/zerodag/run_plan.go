package main

import (
	"fmt"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/operators"
)

// subtree leaves of a workflow its root and one task with all below it; groups between
// are left out, with what they export (wire.md 3.8). "" leaves everything.
func subtree(nodes []dig.Node, pattern string) ([]dig.Node, error) {
	if pattern == "" {
		return nodes, nil
	}
	from, err := findNode(nodes, pattern)
	if err != nil || from == 0 {
		return nodes, err
	}
	kept := []dig.Node{nodes[0]}
	index := map[int]int{}
	for i := from; i < len(nodes); i++ {
		n := nodes[i]
		parent, inside := index[n.Parent]
		if i != from && !inside {
			continue
		}
		if i == from {
			parent, n.Upstreams = 0, nil
		}
		n.Parent = parent
		var upstreams []int
		for _, u := range n.Upstreams {
			upstreams = append(upstreams, index[u])
		}
		n.Upstreams = upstreams
		index[i] = len(kept)
		kept = append(kept, n)
	}
	return kept, nil
}

func findNode(nodes []dig.Node, pattern string) (int, error) {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	at, err := engine.FindTask(names, pattern)
	if hint := meantTask(pattern, names); err != nil && hint != "" && !asDigdag() {
		return at, fmt.Errorf("%w\nhint: %s", err, strings.TrimRight(hint, "; "))
	}
	return at, err
}

// plan says which tasks --start, --goal, --end and --rerun let run, and for which a saved
// result is good. A nil set is everything.
type plan struct {
	run     map[string]bool // others are skipped as if they had succeeded
	saved   map[string]bool // a saved success is taken for these
	skipped sync.Map        // the names of the tasks for which one was taken
}

func (r *localRun) planOf(nodes []dig.Node) (*plan, error) {
	p := &plan{}
	if r.rerun {
		p.saved = map[string]bool{}
	}
	for _, option := range []struct {
		pattern string
		apply   func(at int)
	}{
		{r.goal, func(at int) {
			p.saved = preceding(nodes, at)
			p.run = preceding(nodes, at)
			addBelow(nodes, at, p.run)
		}},
		{r.start, func(at int) { p.saved = preceding(nodes, at) }},
		{r.end, func(at int) { p.run = preceding(nodes, at) }},
	} {
		if option.pattern == "" {
			continue
		}
		at, err := findNode(nodes, option.pattern)
		if err != nil {
			return nil, err
		}
		option.apply(at)
	}
	return p, nil
}

// preceding is all that comes before a task: its ancestors, their upstreams and its own,
// and what is below those.
func preceding(nodes []dig.Node, at int) map[string]bool {
	set := map[string]bool{}
	for i := at; i >= 0; i = nodes[i].Parent {
		addUpstreams(nodes, i, set)
		if i != at {
			set[nodes[i].Name] = true
		}
	}
	return set
}

func addUpstreams(nodes []dig.Node, at int, set map[string]bool) {
	for _, u := range nodes[at].Upstreams {
		if !set[nodes[u].Name] {
			addBelow(nodes, u, set)
			addUpstreams(nodes, u, set)
		}
	}
}

// addBelow adds a task and everything below it.
func addBelow(nodes []dig.Node, at int, set map[string]bool) {
	inside := map[int]bool{at: true}
	for i := at; i < len(nodes); i++ {
		if i == at || inside[nodes[i].Parent] {
			inside[i] = true
			set[nodes[i].Name] = true
		}
	}
}

// skip returns the result that stands for a run of the task, or nil when it must run.
func (p *plan) skip(name string, status *statusFolder) *operators.Result {
	switch {
	case status == nil:
		return nil
	case p.run != nil && !p.run[name]:
		return &operators.Result{}
	case p.saved == nil || p.saved[name]:
		result := status.read(name)
		if result != nil {
			p.skipped.Store(name, true)
		}
		return result
	}
	return nil
}
