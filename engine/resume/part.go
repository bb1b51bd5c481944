package resume

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Reasons why a task of a resumed attempt succeeded without ever running.
const (
	skippedByPart = "the retry omits it"
	skippedByHand = "marked as success"
)

// leftOut returns the tasks that partial retries have skipped so far, and the groups around them: these count as
// succeeded, but no part of them has been done. Tasks in old do not count. A group whose failure was ignored in an
// earlier attempt is done, even if tasks below it never ran.
func leftOut(s *engine.State, old map[engine.TaskID]bool) map[engine.TaskID]bool {
	var set map[engine.TaskID]bool
	for _, t := range s.Tasks() {
		if t.Skipped != skippedByPart {
			continue
		}
		if set == nil {
			set = map[engine.TaskID]bool{}
		}
		for ; t.Parent != 0 && !set[t.ID] && !old[t.ID] && !(t.Resumed && t.Ignored); t = s.Task(t.Parent) {
			set[t.ID] = true
		}
	}
	return set
}

// OfPart lists what an attempt of the definition carries over from an earlier one, s, if only a part of it will run.
// carried lists the tasks that it would otherwise carry over; this does not matter with Part.Only, which carries over
// all tasks but one. A task that does not run keeps its results if it succeeded before, and otherwise counts as skipped
// from then on. The groups around a task that runs also run. It returns an error if a pattern matches no task, several
// tasks, or the whole workflow.
func OfPart(d *engine.Definition, s *engine.State, carried []engine.Carried, p engine.Part, now time.Time) ([]engine.Carried, error) {
	f := familyWith(d, s)
	done, err := f.named(p.Done)
	if err != nil {
		return nil, err
	}
	var runs []bool // nil: all
	if last := cmp.Or(p.Only, p.Until); last != "" {
		i, err := f.find(last)
		if err != nil {
			return nil, err
		}
		runs = make([]bool, len(f))
		runs[i] = true
		for x := i; x > 0 && p.Only == ""; x = f[x].parent {
			f.precede(x, runs)
		}
		f.lower(runs)
		for x := i; x >= 0; x = f[x].parent {
			runs[x] = true
		}
		f = f.withChecks(i)
		runs = append(runs, make([]bool, len(f)-len(runs))...)
		done = append(done, make([]bool, len(f)-len(done))...)
	}
	list := byName(carried)
	if p.Only != "" {
		list = byName(Done(s))
	}
	var before map[string]engine.Carried
	if len(p.Done) > 0 {
		before = byName(succeeded(s, superseded(s))) // also from a check that will run again
	}
	for i, m := range f {
		switch {
		case i == 0:
		case done[i]:
			list[m.name] = m.skip(before, skippedByHand, now)
		case runs != nil && !runs[i]:
			list[m.name] = m.skip(list, skippedByPart, now)
		case p.Only != "":
			delete(list, m.name)
		}
	}
	maps.DeleteFunc(list, func(name string, _ engine.Carried) bool { return engine.OfFailure(name) }) // handlers also run for a failure of this attempt
	leaveToSkipped(s, list)
	all := make([]engine.Carried, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		all = append(all, list[name])
	}
	return all, nil
}

// named marks the tasks that patterns name, and all tasks below them.
func (f family) named(patterns []string) ([]bool, error) {
	marked := make([]bool, len(f))
	for _, pattern := range patterns {
		i, err := f.find(pattern)
		if err != nil {
			return nil, err
		}
		marked[i] = true
	}
	f.lower(marked)
	return marked, nil
}

// leaveToSkipped gives each task that did not succeed before, and does not run now, the stores of the carried-over
// tasks below it, which it will not create.
func leaveToSkipped(s *engine.State, list map[string]engine.Carried) {
	taken, last := map[engine.TaskID]bool{}, map[string]engine.TaskID{}
	for _, t := range s.Tasks() {
		last[t.Name] = t.ID
		taken[t.ID] = list[t.Name].Of == t.ID
	}
	for _, t := range s.Tasks() {
		if c, there := list[t.Name]; there && c.Of == 0 && last[t.Name] == t.ID {
			c.Left = leftBy(s, t, taken)
			list[t.Name] = c
		}
	}
}

// byName returns a list by name; the last entry of each name counts.
func byName(list []engine.Carried) map[string]engine.Carried {
	m := make(map[string]engine.Carried, len(list))
	for _, c := range list {
		m[c.Name] = c
	}
	return m
}

// family lists the tasks that an attempt may have, parents first: tasks in the file, and tasks that an earlier attempt
// generated.
type family []member

type member struct {
	name           string
	parent         int // -1 for the root
	upstreams      []int
	config, export *param.Map
}

// familyWith lists the tasks of a definition with `_check` of its groups, and the tasks that an attempt generated below
// one of them at run time. Tasks created because a task failed or ended are not included: they may not be created
// again.
func familyWith(d *engine.Definition, s *engine.State) family {
	var f family
	place := map[string]int{}
	f.add(d.Nodes, -1)
	for i, m := range f {
		place[m.name] = i
	}
	for _, t := range s.Tasks() {
		if _, known := place[t.Name]; known || !strings.Contains(t.Name, "^") || engine.OfFailure(t.Name) || s.IsClosing(t) {
			continue // a task without ^ was written in another revision, and no longer exists
		}
		m := member{name: t.Name, config: t.Config, export: t.Export}
		var there bool
		if m.parent, there = place[s.Task(t.Parent).Name]; !there {
			continue
		}
		for _, id := range t.Upstreams {
			if u, there := place[s.Task(id).Name]; there {
				m.upstreams = append(m.upstreams, u)
			}
		}
		place[t.Name] = len(f)
		f = append(f, m)
	}
	return f
}

// add adds nodes, the first of them below a member or as the root, and the nodes of `_check` of their groups, which
// come last in each group.
func (f *family) add(nodes []dig.Node, below int) {
	first := len(*f)
	for _, n := range nodes {
		m := member{name: n.Name, parent: below, config: n.Config, export: n.Export}
		if n.Parent >= 0 {
			m.parent = first + n.Parent
		}
		for _, u := range n.Upstreams {
			m.upstreams = append(m.upstreams, first+u)
		}
		*f = append(*f, m)
	}
	for i, n := range nodes {
		body := n.Config.Map("_check")
		if !n.Group || n.Level == 0 || body.Len() == 0 {
			continue
		}
		check, err := dig.Compile(n.Name, engine.CheckName, keys.Language{Level: n.Level}, body)
		if err != nil {
			continue // reported when it is created
		}
		at := len(*f)
		f.add(check, first+i)
		for j, sibling := range nodes {
			if sibling.Parent == i {
				(*f)[at].upstreams = append((*f)[at].upstreams, first+j)
			}
		}
	}
}

// withChecks adds the checks of the groups around a member that the earlier attempt did not reach: a group that runs
// only in part is not checked.
func (f family) withChecks(i int) family {
	known := map[string]bool{}
	for _, m := range f {
		known[m.name] = true
	}
	for x := f[i].parent; x >= 0; x = f[x].parent {
		if name := f[x].name + engine.CheckName; !known[name] && (f[x].config.Has("_check") || f[x].export.Has("_check")) {
			f = append(f, member{name: name, parent: x, config: param.New()})
		}
	}
	return f
}

// find returns the index of the task that a pattern matches.
func (f family) find(pattern string) (int, error) {
	names := make([]string, len(f))
	for i, m := range f {
		names[i] = m.name
	}
	i, err := FindTask(names, pattern)
	if err == nil && i == 0 {
		err = param.Errorf("Task pattern '%s' matches the whole workflow: name one of its tasks or groups", pattern)
	}
	return i, err
}

// lower adds to a set everything below its members.
func (f family) lower(set []bool) {
	for i := 1; i < len(f); i++ {
		set[i] = set[i] || set[f[i].parent]
	}
}

// precede adds to a set the siblings that must succeed before a member of the family starts.
func (f family) precede(i int, set []bool) {
	for next := slices.Clone(f[i].upstreams); len(next) > 0; {
		u := next[len(next)-1]
		next = next[:len(next)-1]
		if !set[u] {
			set[u] = true
			next = append(next, f[u].upstreams...)
		}
	}
}

// skip returns the task as succeeded: with its results from an earlier attempt, or else as skipped, with the reason.
func (m member) skip(before map[string]engine.Carried, why string, now time.Time) engine.Carried {
	if c, ok := before[m.name]; ok {
		return c
	}
	return engine.Carried{Name: m.name, Config: m.config, Export: m.export, UpdatedAt: now, Skipped: why}
}
