package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Part says which tasks of a resumed attempt do not run although they might have to. All of it are patterns of tasks, see FindTask.
type Part struct {
	Only  string   // no task runs but this one, with what is below it
	Until string   // no task runs but this one, with what is below it, and what precedes it
	Done  []string // these, with what is below them, are success without having run
}

// Why a task of a resumed attempt is a success that has run in none.
const (
	skippedByPart = "the retry leaves it out"
	skippedByHand = "marked as success"
)

// leftOut are the tasks that no retry of a part has run yet, and the groups around them: nothing of them is done, although they
// are success. Outdated tasks do not count. A group whose failure was ignored in an earlier attempt is done, whatever below it never ran.
func (s *State) leftOut() map[TaskID]bool {
	var set, old map[TaskID]bool
	for _, t := range s.Tasks() {
		if t.Skipped != skippedByPart {
			continue
		}
		if set == nil {
			set, old = map[TaskID]bool{}, s.outdated()
		}
		for ; t.Parent != 0 && !set[t.ID] && !old[t.ID] && !(t.Resumed && t.Ignored); t = s.task(t.Parent) {
			set[t.ID] = true
		}
	}
	return set
}

// IsEmpty says whether nothing is asked for.
func (p Part) IsEmpty() bool { return p.Only == "" && p.Until == "" && len(p.Done) == 0 }

// CarryPart lists what an attempt of the definition takes over from an earlier one, s, of which no more than a part is to run.
// carried is what it takes over otherwise; it does not matter with Part.Only, where all but one task is taken over. A task that
// does not run keeps what it returned if it was a success before, and counts as skipped since now if not. The groups around a task
// that runs do run. An error is about a pattern that names no task, several, or the whole workflow.
func (d *Definition) CarryPart(s *State, carried []Carried, p Part, now time.Time) ([]Carried, error) {
	f := d.familyWith(s)
	done := make([]bool, len(f))
	for _, pattern := range p.Done {
		i, err := f.find(pattern)
		if err != nil {
			return nil, err
		}
		done[i] = true
	}
	f.lower(done)
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
	before, list := byName(s.CarryDone()), byName(carried)
	if p.Only != "" {
		list = before
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
	maps.DeleteFunc(list, func(name string, _ Carried) bool { return OfFailure(name) }) // handlers run for a failure of this attempt, too
	s.leaveToSkipped(list)
	all := make([]Carried, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		all = append(all, list[name])
	}
	return all, nil
}

// leaveToSkipped gives each task that did not succeed before, and does not run now, the stores of the tasks below it that are taken over:
// it will not create them.
func (s *State) leaveToSkipped(list map[string]Carried) {
	taken, last := map[TaskID]bool{}, map[string]TaskID{}
	for _, t := range s.Tasks() {
		last[t.Name] = t.ID
		taken[t.ID] = list[t.Name].of == t.ID
	}
	for _, t := range s.Tasks() {
		if c, there := list[t.Name]; there && c.of == 0 && last[t.Name] == t.ID {
			c.Left = s.leftBy(t, taken)
			list[t.Name] = c
		}
	}
}

// byName is a list by names; of several of one name the last one counts.
func byName(list []Carried) map[string]Carried {
	m := make(map[string]Carried, len(list))
	for _, c := range list {
		m[c.Name] = c
	}
	return m
}

// family are the tasks that an attempt may have, parents first: those that are written, and those that an earlier attempt made besides.
type family []member

type member struct {
	name           string
	parent         int // -1: the root
	upstreams      []int
	config, export *param.Map
}

// familyWith lists the tasks of a definition with `_check` of its groups, and those of an attempt that were made at run time below one of them. What a failure
// or the end of a task has made is none of these: nobody knows whether it is made again.
func (d *Definition) familyWith(s *State) family {
	var f family
	place := map[string]int{}
	f.add(d.Nodes, -1)
	for i, m := range f {
		place[m.name] = i
	}
	for _, t := range s.Tasks() {
		if _, known := place[t.Name]; known || !strings.Contains(t.Name, "^") || OfFailure(t.Name) || s.isClosing(t) {
			continue // one without ^ was written in another revision, and is gone
		}
		m := member{name: t.Name, config: t.Config, export: t.Export}
		var there bool
		if m.parent, there = place[s.task(t.Parent).Name]; !there {
			continue
		}
		for _, id := range t.Upstreams {
			if u, there := place[s.task(id).Name]; there {
				m.upstreams = append(m.upstreams, u)
			}
		}
		place[t.Name] = len(f)
		f = append(f, m)
	}
	return f
}

// add adds nodes, the first of them below a member, or as the root, and those of `_check` of groups among them, which come last there.
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
		check, err := dig.Compile(n.Name, checkName, keys.Language{Level: n.Level}, body)
		if err != nil {
			continue // which is told when it is made
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

// withChecks adds the checks of the groups around a member that the earlier attempt did not reach: a group that runs only in part is not checked.
func (f family) withChecks(i int) family {
	known := map[string]bool{}
	for _, m := range f {
		known[m.name] = true
	}
	for x := f[i].parent; x >= 0; x = f[x].parent {
		if name := f[x].name + checkName; !known[name] && (f[x].config.Has("_check") || f[x].export.Has("_check")) {
			f = append(f, member{name: name, parent: x, config: param.New()})
		}
	}
	return f
}

// OfFailure says whether a task was made because another one failed, was killed or was late: nobody knows whether one is again.
func OfFailure(name string) bool {
	return strings.Contains(name, "^error") || strings.Contains(name, "^cancel") || strings.Contains(name, FailureAlert) || strings.Contains(name, "^sla")
}

// OwnName returns what a task adds to the full name of its parent: `+task`, or `^error` and the like.
func OwnName(name string) string {
	if at := strings.LastIndexAny(name, "+^"); at > 0 {
		return name[at:]
	}
	return name
}

// HandlerOf splits the name of a task that the engine runs for its owner, another task, in addition to that task's work: part of `_error`,
// `_check`, `_finally`, `_cancel`, an alert, or what `sla:` adds. handler is the name of the outermost of these.
func HandlerOf(name string) (owner, handler string, is bool) {
	first := len(name)
	for _, mark := range []string{"^error", checkName, "^finally", "^cancel", FailureAlert, "^sla"} {
		if at := strings.Index(name, mark); at >= 0 && at < first {
			first, is = at, true
			handler = name[:at+len(mark)]
		}
	}
	return name[:first], handler, is
}

// WorksBelow says by their names whether a task is below a group or another task, and was not made of a failure.
func WorksBelow(name, above string) bool {
	rest, is := strings.CutPrefix(name, above)
	return is && (strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "^")) && !OfFailure(name)
}

// find returns the place of the task that a pattern names.
func (f family) find(pattern string) (int, error) {
	names := make([]string, len(f))
	for i, m := range f {
		names[i] = m.name
	}
	i, err := FindTask(names, pattern)
	if err == nil && i == 0 {
		err = param.Errorf("Task pattern '%s' names the whole workflow: name one task or group of it", pattern)
	}
	return i, err
}

// lower adds to a set what is below each member of it.
func (f family) lower(set []bool) {
	for i := 1; i < len(f); i++ {
		set[i] = set[i] || set[f[i].parent]
	}
}

// precede adds to a set what must succeed before a member of the family starts, among its siblings.
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

// skip is the task as success: as it was in an earlier attempt, else as one that did not run and why.
func (m member) skip(before map[string]Carried, why string, now time.Time) Carried {
	if c, ok := before[m.name]; ok {
		return c
	}
	return Carried{Name: m.name, Config: m.config, Export: m.export, UpdatedAt: now, Skipped: why}
}
