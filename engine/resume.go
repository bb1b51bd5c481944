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
	// Spent, in the new attempt, says that what is around the task has begun another round, for which nothing is taken over.
	Spent bool `json:"spent,omitempty"`
}

// give makes t what was carried over: the old task's config and results, without the
// keys it reset and without its state params (engine.md 2.8).
func (c Carried) give(t *Task) {
	t.Resumed = true
	t.Config, t.Export = c.Config, c.Export
	t.Progress = Progress{State: Success, UpdatedAt: c.UpdatedAt, Skipped: c.Skipped, Ignored: c.Ignored}
	if c.Outcome != nil {
		o := *c.Outcome
		o.ResetStore = nil
		t.Outcome = &o
	}
}

func carry(t *Task) Carried {
	return Carried{Name: t.Name, Config: t.Config, Export: t.Export, Outcome: t.Outcome, UpdatedAt: t.UpdatedAt, Skipped: t.Skipped, Ignored: t.Ignored}
}

// CarryFailed lists what a resume of mode "failed" takes over: every success. It is an
// error when the whole attempt succeeded, unless it was one of a part.
func (s *State) CarryFailed() ([]Carried, error) {
	if s.task(Root).State == Success && len(s.leftOut()) == 0 {
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
			list = append(list, carry(t))
		}
	}
	return list
}

// outdated are tasks of files with `zerodag: 1` that a new attempt has nothing of, whatever became of them: those of earlier rounds of a group, and
// of earlier runs of an operator, and those that were made because one failed, which is told of each failure.
func (s *State) outdated() map[TaskID]bool {
	old := map[TaskID]bool{}
	for _, t := range s.Tasks() {
		if t.Level == 0 {
			continue
		}
		newest := s.newest(t)
		for _, id := range t.children {
			if c := s.task(id); newest[c.Name] != id || OfFailure(c.Name) {
				for _, x := range s.descendants(c, []*Task{c}) {
					old[x.ID] = true
				}
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
				if s.isClosing(x) || old[x.ID] || x.State != Success && s.ignoredBelow(x, u.Parent) {
					continue
				}
				if x.State != Success || not[x.ID] {
					return nil, param.Errorf("Resuming non-successful tasks is not allowed: task_id=%d", x.ID)
				}
				list = append(list, carry(x))
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
