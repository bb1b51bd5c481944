package localrun

import (
	"fmt"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/resume"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
	"zerodag/operators"
)

// subtree reduces a workflow to its root and one task with everything below it; it drops the groups between them, along
// with their exports (wire.md 3.8). "" keeps everything.
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
	at, err := resume.FindTask(names, pattern)
	if hint := remedy.MeantTask(pattern, names); err != nil && hint != "" && !program.AsDigdag() {
		return at, fmt.Errorf("%w\nhint: %s", err, strings.TrimRight(hint, "; "))
	}
	return at, err
}

// plan decides which tasks a run skips: tasks excluded by --goal or --end, and tasks that succeeded in an earlier run
// of the session, unless --rerun, --start or --goal runs them again.
type plan struct {
	run    map[string]bool // tasks of the file that run: others count as succeeded without a result; nil: all
	saved  map[string]bool // tasks of the file whose saved success is used; nil: all
	status *statusFolder   // nil with --no-save
	goal   bool            // tasks that follow tasks that run again are not run
	dry    bool

	mu    sync.Mutex
	began map[string]part // the parts of tasks and groups that ran in this process
	seen  map[string]bool // tasks that this process has decided about
	taken map[string]bool // tasks whose saved success it used
	left  map[string]bool // tasks that it skipped
}

func (r *run) planOf(nodes []dig.Node) (*plan, error) {
	p := &plan{goal: r.Goal != "", dry: r.DryRun, began: map[string]part{}, seen: map[string]bool{}, taken: map[string]bool{}, left: map[string]bool{}}
	if r.Rerun {
		p.saved = map[string]bool{}
	}
	for _, option := range []struct {
		pattern string
		apply   func(at int)
	}{
		{r.Goal, func(at int) {
			p.saved = preceding(nodes, at)
			p.run = preceding(nodes, at)
			addBelow(nodes, at, p.run)
		}},
		{r.Start, func(at int) { p.saved = preceding(nodes, at) }},
		{r.End, func(at int) { p.run = preceding(nodes, at) }},
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

// use sets the plan's folder of saved successes. It immediately removes the successes of tasks that must run again:
// however this run ends, the next one must not use them.
func (p *plan) use(f *statusFolder, nodes []dig.Node) {
	p.status = f
	if p.saved == nil || p.dry {
		return
	}
	again := map[string]bool{}
	for _, n := range nodes {
		again[n.Name] = !p.saved[n.Name] && (!p.goal || p.run[n.Name])
	}
	f.forgetAll(func(task string) bool { return again[written(task)] })
}

// written returns the name of the given task if it is written in the file, or of the task in the file that generated
// it.
func written(name string) string {
	name, _, _ = strings.Cut(name, "^")
	return name
}

// preceding returns all tasks that precede a task: its ancestors, its own and their upstream tasks, and the tasks below
// the upstream tasks.
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

// instead returns the result that replaces a run of the task, or nil if it must run.
func (p *plan) instead(name string) *operators.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status == nil { // as in Digdag, no option skips anything without saved state
		return nil
	}
	if p.run != nil && !p.run[written(name)] {
		p.left[name] = true
		return &operators.Result{}
	}
	first := !p.seen[name]
	p.seen[name] = true
	if first && (p.saved == nil || p.saved[written(name)]) && p.mayTake(name) {
		if result := p.status.read(name); result != nil {
			p.taken[name] = true
			return result
		}
	}
	if !p.dry {
		p.begin(name)
	}
	return nil
}

// mayTake reports whether a task's saved success may be used. A check or `_finally` must run if any other part of its
// task has run. Handlers of failures always run.
func (p *plan) mayTake(name string) bool {
	owner, handler, handles := engine.HandlerOf(name)
	return !handles || !engine.OfFailure(name) && p.began[owner]&^partOf(handler[len(owner):]) == 0
}

// begin records that a task runs, and removes its saved success.
func (p *plan) begin(name string) {
	delete(p.taken, name)
	p.status.forget(name)
	for at := len(name); at > 0; at = strings.LastIndexAny(name[:at], "+^") {
		p.began[name[:at]] |= partOf(name[at:])
	}
}

// part is a set of parts of a task.
type part int

const (
	ofWork part = 1 << iota // the task, and the tasks that it generated
	ofCheck
	ofFinally
)

// partOf returns the part of a task to which a name belongs; rest is the name after the task's own name.
func partOf(rest string) part {
	switch {
	case strings.HasPrefix(rest, "^check"):
		return ofCheck
	case strings.HasPrefix(rest, "^finally"):
		return ofFinally
	}
	return ofWork
}

// save stores a task's success for later runs, unless the task was skipped or handles a failure.
func (p *plan) save(s *engine.State, t *engine.Task) {
	p.mu.Lock()
	keeps := !p.dry && !p.taken[t.Name] && !p.left[t.Name] && !engine.OfFailure(t.Name)
	p.mu.Unlock()
	if keeps {
		p.status.save(t, resume.Kept(s, t))
	}
	if !t.Group {
		return
	}
	if first := resume.FirstOf(s, t); first != nil && first.State == engine.Success { // earlier iterations of the group are saved with it
		p.save(s, first)
	}
}

// leaves reports whether --goal or --end skipped a task.
func (p *plan) leaves(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[name]
}

// took reports whether a task's saved success was used.
func (p *plan) took(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[name]
}
