package recovery

import (
	"slices"
	"strings"
)

// Mode selects which tasks of an earlier attempt are carried over and which tasks run.
type Mode struct {
	Base string // all, failed, from, only, fork
	Task string // for from and only: a full name
	// Until and Done restrict a retry to a part.
	Until string
	Done  []string
}

type verdict int

const (
	runs verdict = iota
	take
	skip
	skipByPart
)

// verdict returns how the attempt treats a task, as decided when it starts.
func (x *exec) verdict(name string) verdict {
	for _, s := range x.spent {
		if isBelow(name, s) {
			return runs
		}
	}
	return x.verdicts[name]
}

func isBelow(name, above string) bool {
	return strings.HasPrefix(name, above+"+") || strings.HasPrefix(name, above+"^")
}

// done reports whether a task succeeded in the attempt and is carried over by a resume: the check of a failed task runs
// again.
func (r *Prediction) done(name string) bool {
	return !r.isChecking(name) && r.succeeded(name)
}

// succeeded reports whether a task succeeded in the attempt, so that it keeps its results if it is marked as
// successful.
func (r *Prediction) succeeded(name string) bool {
	t := r.index[name]
	if t == nil || t.state != ok || t == r.root || isHandler(name) {
		return false
	}
	again := r.isChecking(name)
	for _, x := range r.index { // a skipped part and the groups around it are not done
		if (x == t || isBelow(x.name, name)) && (r.leavesOut(x, name) || again && x.byPart) {
			return false
		}
	}
	return true
}

// isChecking reports whether a task belongs to the check of a task that failed.
func (r *Prediction) isChecking(name string) bool {
	owner, _, isCheck := strings.Cut(name, "^check")
	return isCheck && r.index[owner].state != ok
}

// Names lists the tasks that a mode may name, sorted: only tasks that began, or all.
func (r *Prediction) Names(began bool) (list []string) {
	for name, t := range r.index {
		if t != r.root && !strings.Contains(strings.ReplaceAll(name, "^sub", ""), "^") && (!began || t.state != notRun) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Works returns how many times the attempt ran a command.
func (r *Prediction) Works() int { return r.works }

// Reaches reports whether everything before a task is done, so that an attempt may begin with the task.
func (r *Prediction) Reaches(name string) bool {
	for x := name; x != r.root.name; x = parentOf(x) {
		if slices.ContainsFunc(r.preceding(x), func(other string) bool { return !r.done(other) }) {
			return false
		}
	}
	return true
}

// LeavesOut reports whether the attempt skipped a part.
func (r *Prediction) LeavesOut() bool {
	for _, t := range r.index {
		if r.leavesOut(t, r.root.name) {
			return true
		}
	}
	return false
}

// leavesOut reports whether a skipped task would otherwise have run. The check of a failed task would not. Neither
// would tasks below a group that is carried over because its failure was ignored, judging by that group and the groups
// around it.
func (r *Prediction) leavesOut(t *made, seenFrom string) bool {
	if !t.byPart || r.isChecking(t.name) {
		return false
	}
	for x := parentOf(t.name); len(x) >= len(seenFrom) && x != ""; x = parentOf(x) {
		if around := r.index[x]; around != nil && around.before != nil && around.ignored {
			return false
		}
	}
	return true
}

// MayResume reports whether the attempt can be resumed: it did not succeed as a whole.
func (r *Prediction) MayResume() bool {
	return r.root.state != ok || r.LeavesOut()
}

func parentOf(name string) string { return name[:max(0, strings.LastIndexAny(name, "+^"))] }

// preceding lists the siblings that must succeed before a task starts, and all tasks below them.
func (r *Prediction) preceding(name string) (list []string) {
	parent := r.index[parentOf(name)]
	if parent == nil || !parent.group || parent.piece.Parallel {
		return nil
	}
	for _, b := range parent.current() {
		if b.name == name {
			return list
		}
		list = append(list, b.name)
		for other := range r.index {
			if isBelow(other, b.name) {
				list = append(list, other)
			}
		}
	}
	return nil
}

// family lists all tasks that an attempt may have: tasks in the file and tasks that the earlier attempt generated.
func (p *Pipeline) family(r *Prediction) []string {
	all := map[string]bool{}
	var add func(x *Piece, name string)
	add = func(x *Piece, name string) {
		all[name] = true
		if x.Kind != "group" {
			return
		}
		for _, b := range x.Below {
			add(b, name+b.Name)
		}
		if len(x.Check) > 0 {
			all[name+"^check"] = true
			for _, b := range x.Check {
				all[name+"^check"+b.Name] = true
			}
		}
	}
	add(p.Root, p.Root.Name)
	for name := range r.index {
		all[name] = all[name] || !isHandler(name)
	}
	var list []string
	for name, in := range all {
		if in && name != p.Root.Name {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// verdicts decides how the attempt treats all tasks that are known when it starts.
func (p *Pipeline) verdicts(g Given) map[string]verdict {
	r, m := g.Before, g.Mode
	v := p.takenOver(r, m)
	if m.Base != "only" && m.Until == "" && len(m.Done) == 0 {
		return v
	}
	var part map[string]bool // the part that runs, unless it is carried over
	last := m.Until
	if m.Base == "only" {
		last = m.Task
	}
	family := p.family(r)
	if last != "" {
		part = p.upTo(r, last, m.Base == "only", family)
		for x := parentOf(last); x != ""; x = parentOf(x) { // groups that run only in part are not checked
			family = append(family, x+"^check")
		}
	}
	for _, name := range family {
		switch {
		case slices.ContainsFunc(m.Done, func(d string) bool { return name == d || isBelow(name, d) }):
			v[name] = takeOr(skip, r.succeeded(name))
		case part != nil && !part[name]:
			v[name] = takeOr(skipByPart, v[name] == take)
		case m.Base == "only":
			v[name] = runs
		}
	}
	return v
}

// takenOver decides which tasks a mode carries over if no part of the attempt is skipped.
func (p *Pipeline) takenOver(r *Prediction, m Mode) map[string]verdict {
	v := map[string]verdict{}
	keep := func(name string) {
		if r.done(name) {
			v[name] = take
		}
	}
	switch m.Base {
	case "failed", "fork", "only":
		for name := range r.index {
			keep(name)
		}
	case "from":
		for x := m.Task; x != p.Root.Name; x = parentOf(x) {
			for _, name := range r.preceding(x) {
				keep(name)
			}
		}
	}
	return v
}

// upTo returns the part of an attempt that ends with a task: that task, the tasks around and below it and, unless it
// runs alone, the tasks before it.
func (p *Pipeline) upTo(r *Prediction, last string, alone bool, family []string) map[string]bool {
	part := map[string]bool{last: true}
	for x := last; x != p.Root.Name && !alone; x = parentOf(x) {
		for _, name := range r.preceding(x) {
			part[name] = true
		}
	}
	for _, name := range family {
		part[name] = part[name] || part[parentOf(name)]
	}
	for x := last; x != ""; x = parentOf(x) {
		part[x] = true
	}
	return part
}

func takeOr(other verdict, done bool) verdict {
	if done {
		return take
	}
	return other
}

// Written lists the tasks and groups that the main file has, parents first.
func (p *Pipeline) Written() (names []string) {
	var add func(x *Piece, name string)
	add = func(x *Piece, name string) {
		names = append(names, name)
		for _, b := range x.Below {
			if x.Kind == "group" {
				add(b, name+b.Name)
			}
		}
	}
	add(p.Root, p.Root.Name)
	return names
}

// From returns the saved results that `run --start` keeps: the results of tasks that precede the named task.
func (s Saved) From(p *Pipeline, start string) Saved {
	kept := Saved{}
	for name, list := range s {
		written, _, _ := strings.Cut(name, "^")
		if p.precedes(written, start) {
			kept[name] = list
		}
	}
	return kept
}

// precedes reports whether a written task must succeed before another starts.
func (p *Pipeline) precedes(name, start string) bool {
	at, path := p.Root, p.Root.Name
	for path != start {
		if name == path {
			return true // the group around it
		}
		for _, b := range at.Below {
			own := path + b.Name
			if own == start || isBelow(start, own) {
				at, path = b, own
				break
			}
			if name == own || isBelow(name, own) {
				return !at.Parallel
			}
		}
	}
	return false
}

// saved returns the saved success of a task. `zerodag run` uses it only once: a further iteration of a group runs all
// tasks. Handlers of failures always run. A check or `_finally` runs if any other part of its task ran.
func (x *exec) saved(name string) (result, bool) {
	first := !x.seen[name]
	x.seen[name] = true
	list, there := x.Local[name]
	if !first || !there || strings.Contains(name, "^error") || strings.Contains(name, "^cancel") {
		return result{}, false
	}
	at := len(name)
	for _, mark := range []string{"^check", "^finally"} {
		if i := strings.Index(name, mark); i >= 0 {
			at = min(at, i)
		}
	}
	if at == len(name) {
		return list, true
	}
	owner, handler := name[:at], name[:at]+"^finally"
	if strings.HasPrefix(name[at:], "^check") {
		handler = owner + "^check"
	}
	for _, ran := range x.ran {
		if (ran == owner || isBelow(ran, owner)) && !isBelow(ran, handler) {
			return result{}, false
		}
	}
	return list, true
}

// begin records that a task runs, which removes its saved success.
func (x *exec) begin(name string) {
	x.ran = append(x.ran, name)
	delete(x.Local, name)
}

// save keeps the result of a task that succeeded.
func (x *exec) save(t *made) {
	if x.Local != nil {
		x.keep(t, nil)
	}
}

// keep keeps a task's result. before holds the results of earlier iterations of groups whose first task it is: the next
// run does not repeat these iterations. Neither does it repeat earlier runs of the task, or the handlers of an ignored
// failure, unless the task fails again.
func (x *exec) keep(t *made, before []effect) {
	if t.state != ok {
		return
	}
	current := t.current()
	if t.group {
		for _, b := range t.below[:t.round] {
			before = append(before, b.effects()...)
		}
		for _, b := range current {
			if !strings.Contains(b.name[len(t.name):], "^") {
				x.keep(b, before)
				return
			}
		}
		return
	}
	generated, again := t.parts()
	list := slices.Concat(before, t.own)
	for _, b := range t.below {
		if !slices.Contains(current, b) || !again && (b.name == t.name+"^error" || b.name == t.name+"^cancel") {
			list = append(list, b.effects()...)
		}
	}
	x.Local[t.name] = result{list, generated}
}

// parts reports whether an operator generated tasks, and whether these tasks or its check failed.
func (t *made) parts() (generated, failed bool) {
	for _, b := range t.current() {
		part := b.name[len(t.name):]
		generated = generated || part == "^sub"
		failed = failed || (part == "^sub" || part == "^check") && b.state != ok
	}
	return generated, failed
}
