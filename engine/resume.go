package engine

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
)

// Carried is a task that a new attempt takes over as success from an earlier one.
type Carried struct {
	Name      string     `json:"name"` // full name: the only thing that is compared
	Config    *param.Map `json:"config"`
	Export    *param.Map `json:"export"`
	Outcome   *Outcome   `json:"out,omitempty"`
	UpdatedAt time.Time  `json:"updated,omitzero"`
	Skipped   string     `json:"skipped,omitempty"`
	Ignored   bool       `json:"ignored,omitempty"`
	// Spent, in the new attempt, reports that the group around the task has begun another round, for which nothing is taken over.
	Spent bool `json:"spent,omitempty"`
	Left

	of TaskID // in the earlier attempt; 0 for a task that did not run there
}

// Left holds the stores of the tasks below a task that the new attempt does not create: generated tasks, earlier rounds of a group,
// handlers. Later tasks see them as if these tasks had run.
type Left struct {
	Before []Stored `json:"before,omitempty"` // lower than the stores of children that the new attempt creates
	After  []Stored `json:"after,omitempty"`  // on top of these
	// Whole reports that After has the stores of all tasks below, including those that the new attempt creates: some of them failed,
	// the failure was ignored, and none runs again.
	Whole bool `json:"whole,omitempty"`
}

// Stored holds the stores of one or several tasks.
type Stored struct {
	Reset  [][]string `json:"reset,omitempty"`
	Stores *param.Map `json:"store,omitempty"`
	Secret bool       `json:"secret,omitempty"` // see Outcome.Secret
}

// Parameters lists the top-level parameters that a task brings along when it is taken over, sorted.
func (c Carried) Parameters() []string {
	var names []string
	add := func(stores *param.Map) {
		for k := range stores.All() {
			names = append(names, k)
		}
	}
	if c.Outcome != nil {
		add(c.Outcome.Stores)
	}
	for _, x := range append(slices.Clip(c.Before), c.After...) {
		add(x.Stores)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (l Left) isEmpty() bool { return len(l.Before) == 0 && len(l.After) == 0 }

func (l Left) holdsSecrets() bool {
	secret := func(x Stored) bool { return x.Secret }
	return slices.ContainsFunc(l.Before, secret) || slices.ContainsFunc(l.After, secret)
}

// layStores lays a list of stores on m.
func layStores(m *param.Map, list []Stored) *param.Map {
	for _, x := range list {
		m = param.Merge(param.Reset(m, x.Reset...), x.Stores)
	}
	return m
}

// addStored appends to a list. Two entries become one where that gives the same parameters whatever they are laid on: a loop of 10,000
// rounds that stores one value leaves one.
func addStored(list []Stored, x Stored) []Stored {
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

// mergesAlone reports whether merging over on base first, and then both on something, is the same as laying one after the other. It is not
// where a mapping replaces another value, which would then merge with a mapping below both.
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

// give makes t the task that was carried over: the old task's config and results, without its state params (engine.md 2.8).
func (c Carried) give(t *Task) {
	t.Resumed = true
	t.Config, t.Export, t.left = c.Config, c.Export, c.Left
	t.Progress = Progress{State: Success, UpdatedAt: c.UpdatedAt, Skipped: c.Skipped, Ignored: c.Ignored}
	if c.Outcome != nil {
		o := *c.Outcome
		t.Outcome = &o
	}
}

// carry describes a successful task for the new attempt that takes it over.
func (s *State) carry(t *Task) Carried {
	return Carried{Name: t.Name, Config: t.Config, Export: t.Export, Outcome: t.Outcome, UpdatedAt: t.UpdatedAt, Skipped: t.Skipped, Ignored: t.Ignored,
		Left: s.leftBy(t, nil), of: t.ID}
}

// leftBy collects what the tasks below t stored that a new attempt does not create when it takes t over. only, unless nil, restricts it to
// these tasks.
func (s *State) leftBy(t *Task, only map[TaskID]bool) Left {
	own := t.left
	if only != nil && !only[t.ID] {
		own = Left{}
	}
	if own.Whole {
		return own
	}
	l := Left{Before: layOn(nil, own.Before), Whole: t.Group && t.Ignored}
	newest := s.newest(t)
	remade := false
	for _, id := range t.children {
		c := s.task(id)
		switch {
		case l.Whole:
			l.After = s.storedBy(c, only, l.After)
		case t.Group && c.isWrittenIn(t) && newest[c.Name] == id:
			remade = true // and has its own Left
		case t.Group && !remade:
			l.Before = s.storedBy(c, only, l.Before)
		default:
			l.After = s.storedBy(c, only, l.After)
		}
	}
	l.After = layOn(l.After, own.After)
	return l
}

// storedBy appends what a task and all below it stored, in the order in which storesInto lays it.
func (s *State) storedBy(t *Task, only map[TaskID]bool, list []Stored) []Stored {
	if !t.storing {
		return list
	}
	counts := only == nil || only[t.ID]
	if counts {
		only = nil // and so does all below it
	}
	if counts && t.Outcome != nil {
		list = addStored(list, Stored{Reset: t.ResetStore, Stores: t.Stores, Secret: t.Secret})
	}
	if counts {
		list = layOn(list, t.left.Before)
	}
	for _, id := range t.children {
		if !t.left.Whole {
			list = s.storedBy(s.task(id), only, list)
		}
	}
	if counts {
		list = layOn(list, t.left.After)
	}
	return list
}

func layOn(list, more []Stored) []Stored {
	for _, x := range more {
		list = addStored(list, x)
	}
	return list
}

// CarryFailed lists what a resume of mode "failed" takes over: every success. It is an
// error when the whole attempt succeeded, unless it was one of a part.
func (s *State) CarryFailed() ([]Carried, error) {
	not := s.leftOut()
	misses := func(id TaskID) bool { return not[id] }
	if root := s.task(Root); root.State == Success && !slices.ContainsFunc(root.children, misses) {
		return nil, param.Errorf("Resuming successfully completed attempts is not supported")
	}
	return s.CarryDone(), nil
}

// CarryDone lists every task that is success now, but for the root and for what was left out: what a fork from
// this state takes over.
func (s *State) CarryDone() []Carried {
	var list []Carried
	not, old := s.leftOut(), s.outdated()
	for _, t := range s.Tasks() {
		if t.State == Success && t.Parent != 0 && !not[t.ID] && !old[t.ID] && !s.isClosing(t) {
			list = append(list, s.carry(t))
		}
	}
	return list
}

// outdated are tasks that a new attempt does not take over, whatever their outcome: those of earlier rounds of a group and of earlier runs of
// an operator, handlers of failures, which run again for each failure, and the checks of a task that runs again.
func (s *State) outdated() map[TaskID]bool {
	old := map[TaskID]bool{}
	for _, t := range s.Tasks() {
		newest := s.newest(t)
		for _, id := range t.children {
			c := s.task(id)
			if newest[c.Name] == id && !OfFailure(c.Name) && (t.State == Success || c.Name != t.Name+checkName) {
				continue
			}
			for _, x := range s.descendants(c, []*Task{c}) {
				old[x.ID] = true
			}
		}
	}
	return old
}

// CarryBefore lists what a resume of mode "from" takes over: everything that precedes
// the one task that pattern matches (see FindTask).
func (s *State) CarryBefore(pattern string) ([]Carried, error) {
	not, old := s.leftOut(), s.outdated()
	tasks := slices.DeleteFunc(s.Tasks(), func(t *Task) bool { return old[t.ID] })
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	i, err := FindTask(names, pattern)
	if err != nil {
		return nil, err
	}
	var list []Carried
	for t := tasks[i]; t.Parent != 0; t = s.task(t.Parent) {
		for _, u := range s.upstreamsOf(t, nil, map[TaskID]bool{}) {
			for _, x := range s.descendants(u, []*Task{u}) {
				if s.isClosing(x) || old[x.ID] || (x.State != Success || not[x.ID]) && s.ignoredBelow(x, u.Parent) {
					continue
				}
				if x.State != Success || not[x.ID] {
					return nil, param.Errorf("Resuming non-successful tasks is not allowed: task_id=%d", x.ID)
				}
				list = append(list, s.carry(x))
			}
		}
	}
	return list, nil
}

var patternWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[+^][^+^]*|^[^+^]+`) })

// FindTask returns the index of the one name whose last words are those of pattern:
// "+b" and "+a+b" both match "+wf+a+b" (engine.md 2.8).
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
