package resume

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/engine/param"
)

// addStored appends to a list. Two entries become one if that gives the same parameters in every case: a loop of 10,000
// iterations that stores one value leaves one entry.
func addStored(list []engine.Stored, x engine.Stored) []engine.Stored {
	if len(x.Reset) == 0 && x.Stores.Len() == 0 {
		return list
	}
	if n := len(list); n > 0 && len(x.Reset) == 0 && mergesAlone(list[n-1].Stores, x.Stores) {
		last := list[n-1]
		last.Stores, last.Secret = param.Merge(last.Stores, x.Stores), last.Secret || x.Secret
		return append(list[:n-1:n-1], last)
	}
	return append(list, x)
}

// mergesAlone reports whether merging over into base first, and then both into something, gives the same result as
// merging one after the other. It is not if a mapping replaces another value, because it would then merge with a
// mapping below both.
func mergesAlone(base, over *param.Map) bool {
	for k, v := range over.All() {
		sub, isMap := v.(*param.Map)
		if !isMap || !base.Has(k) {
			continue
		}
		old := base.Map(k)
		if old == nil || !mergesAlone(old, sub) {
			return false
		}
	}
	return true
}

// carry describes a successful task for the new attempt into which it is carried over.
func carry(s *engine.State, t *engine.Task) engine.Carried {
	return engine.Carried{Name: t.Name, Config: t.Config, Export: t.Export, Outcome: t.Outcome, UpdatedAt: t.UpdatedAt, Skipped: t.Skipped, Ignored: t.Ignored,
		Left: leftBy(s, t, nil), Of: t.ID}
}

// leftBy collects the stores of tasks below t that a new attempt does not create when t is carried over. only, unless
// nil, restricts it to these tasks.
func leftBy(s *engine.State, t *engine.Task, only map[engine.TaskID]bool) engine.Left {
	own := t.Left
	if only != nil && !only[t.ID] {
		own = engine.Left{}
	}
	if own.Whole {
		return own
	}
	l := engine.Left{Before: layOn(nil, own.Before), Whole: t.Group && t.Ignored}
	newest := s.Newest(t)
	remade := false
	for _, id := range t.Children() {
		c := s.Task(id)
		switch {
		case l.Whole:
			l.After = storedBy(s, c, only, l.After)
		case t.Group && c.WrittenIn(t) && newest[c.Name] == id:
			remade = true // with its own Left
		case t.Group && !remade:
			l.Before = storedBy(s, c, only, l.Before)
		default:
			l.After = storedBy(s, c, only, l.After)
		}
	}
	l.After = layOn(l.After, own.After)
	return l
}

// storedBy appends what a task and all tasks below it stored, in the order of storesInto.
func storedBy(s *engine.State, t *engine.Task, only map[engine.TaskID]bool, list []engine.Stored) []engine.Stored {
	if !t.StoresBelow() {
		return list
	}
	counts := only == nil || only[t.ID]
	if counts {
		only = nil // and so do all tasks below it
	}
	if counts && t.Outcome != nil {
		list = addStored(list, engine.Stored{Reset: t.ResetStore, Stores: t.Stores, Secret: t.Secret})
	}
	if counts {
		list = layOn(list, t.Left.Before)
	}
	for _, id := range t.Children() {
		if !t.Left.Whole {
			list = storedBy(s, s.Task(id), only, list)
		}
	}
	if counts {
		list = layOn(list, t.Left.After)
	}
	return list
}

func layOn(list, more []engine.Stored) []engine.Stored {
	for _, x := range more {
		list = addStored(list, x)
	}
	return list
}

// Failed lists what a resume of mode "failed" carries over: every task that succeeded. It returns an error if the whole
// attempt succeeded, unless it ran only a part.
func Failed(s *engine.State) ([]engine.Carried, error) {
	not := leftOut(s, outdated(s))
	misses := func(id engine.TaskID) bool { return not[id] }
	if root := s.Task(engine.Root); root.State == engine.Success && !slices.ContainsFunc(root.Children(), misses) {
		return nil, param.Errorf("Resuming successfully completed attempts is not supported")
	}
	return Done(s), nil
}

// Done lists every task that has succeeded, except the root and skipped ones: a fork from this state carries these
// over.
func Done(s *engine.State) []engine.Carried {
	return succeeded(s, outdated(s))
}

// succeeded lists tasks as Done does, but omits only the tasks in old.
func succeeded(s *engine.State, old map[engine.TaskID]bool) []engine.Carried {
	var list []engine.Carried
	not := leftOut(s, old)
	for _, t := range s.Tasks() {
		if t.State == engine.Success && t.Parent != 0 && !not[t.ID] && !old[t.ID] && !s.IsClosing(t) {
			list = append(list, carry(s, t))
		}
	}
	return list
}

// outdated returns tasks that a new attempt does not carry over, no matter how they ended: superseded tasks, and the
// checks of a task that runs again.
func outdated(s *engine.State) map[engine.TaskID]bool {
	return below(s, func(t, c *engine.Task) bool { return t.State != engine.Success && c.Name == t.Name+engine.CheckName })
}

// superseded returns tasks whose outcome is irrelevant to a new attempt: tasks of earlier iterations of a group and of
// earlier runs of an operator, and handlers of failures, which run again for each failure.
func superseded(s *engine.State) map[engine.TaskID]bool {
	return below(s, func(*engine.Task, *engine.Task) bool { return false })
}

// below returns the superseded tasks and the children of tasks that also selects, each with all tasks below it.
func below(s *engine.State, also func(t, child *engine.Task) bool) map[engine.TaskID]bool {
	old := map[engine.TaskID]bool{}
	for _, t := range s.Tasks() {
		newest := s.Newest(t)
		for _, id := range t.Children() {
			c := s.Task(id)
			if newest[c.Name] == id && !engine.OfFailure(c.Name) && !also(t, c) {
				continue
			}
			for _, x := range s.Below(c, []*engine.Task{c}) {
				old[x.ID] = true
			}
		}
	}
	return old
}

// Before lists what a resume of mode "from" carries over: everything before the one task that pattern matches (see
// FindTask).
func Before(s *engine.State, pattern string) ([]engine.Carried, error) {
	old := outdated(s)
	not := leftOut(s, old)
	tasks := slices.DeleteFunc(s.Tasks(), func(t *engine.Task) bool { return old[t.ID] })
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	i, err := FindTask(names, pattern)
	if err != nil {
		return nil, err
	}
	var list []engine.Carried
	for t := tasks[i]; t.Parent != 0; t = s.Task(t.Parent) {
		for _, u := range s.UpstreamsOf(t, nil, map[engine.TaskID]bool{}) {
			for _, x := range s.Below(u, []*engine.Task{u}) {
				if s.IsClosing(x) || old[x.ID] || (x.State != engine.Success || not[x.ID]) && s.IgnoredBelow(x, u.Parent) {
					continue
				}
				if x.State != engine.Success || not[x.ID] {
					return nil, param.Errorf("Resuming non-successful tasks is not allowed: task_id=%d", x.ID)
				}
				list = append(list, carry(s, x))
			}
		}
	}
	return list, nil
}

var patternWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[+^][^+^]*|^[^+^]+`) })

// FindTask returns the index of the one name that ends with the words of pattern: "+b" and "+a+b" both match "+wf+a+b"
// (engine.md 2.8).
func FindTask(names []string, pattern string) (int, error) {
	words := patternWord().FindAllString(pattern, -1)
	for _, w := range words {
		if len(strings.TrimSpace(w)) < 2 {
			return 0, param.Errorf("Match patterns excepting direct child (+name+name) is not supported: %s", pattern)
		}
	}
	if len(words) == 0 {
		return 0, param.Errorf("Task pattern '%s' doesn't match with any tasks.", pattern)
	}
	var found []int
	for i, name := range names {
		if endsWith(patternWord().FindAllString(name, -1), words) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, param.Errorf("Task pattern '%s' doesn't match with any tasks.", pattern)
	}
	var candidates []string
	for _, i := range found {
		candidates = append(candidates, names[i])
	}
	return 0, param.Errorf("Task pattern '%s' is ambiguous. Matching candidates are [%s]", pattern, strings.Join(candidates, ", "))
}

func endsWith(name, words []string) bool {
	return len(name) >= len(words) && slices.Equal(name[len(name)-len(words):], words)
}
