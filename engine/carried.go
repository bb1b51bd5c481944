package engine

import (
	"slices"
	"time"

	"zerodag/engine/param"
)

// Carried is a task that a new attempt takes over as succeeded from an earlier one.
type Carried struct {
	Name      string     `json:"name"` // full name; nothing else is compared
	Config    *param.Map `json:"config"`
	Export    *param.Map `json:"export"`
	Outcome   *Outcome   `json:"out,omitempty"`
	UpdatedAt time.Time  `json:"updated,omitzero"`
	Skipped   string     `json:"skipped,omitempty"`
	Ignored   bool       `json:"ignored,omitempty"`
	// Spent reports, in the new attempt, that the group around the task has begun another iteration, for which nothing
	// is carried over.
	Spent bool `json:"spent,omitempty"`
	Left

	// Of is the task in the earlier attempt, 0 if it did not run there. It is not stored.
	Of TaskID `json:"-"`
}

// Left holds the stores of tasks below this one that the new attempt does not create: generated tasks, earlier
// iterations of a group, handlers. Later tasks see them as if these tasks had run.
type Left struct {
	Before []Stored `json:"before,omitempty"` // merged below the stores of children that the new attempt creates
	After  []Stored `json:"after,omitempty"`  // merged on top of the stores above
	// Whole reports that After contains the stores of all tasks below, including tasks that the new attempt creates: some
	// of them failed, the failure was ignored, and none runs again.
	Whole bool `json:"whole,omitempty"`
}

// Stored holds the stores of one or more tasks.
type Stored struct {
	Reset  [][]string `json:"reset,omitempty"`
	Stores *param.Map `json:"store,omitempty"`
	Secret bool       `json:"secret,omitempty"` // see Outcome.Secret
}

// Parameters lists the top-level parameters that a carried-over task brings along, sorted.
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

// layStores merges a list of stores into m.
func layStores(m *param.Map, list []Stored) *param.Map {
	for _, x := range list {
		m = param.Merge(param.Reset(m, x.Reset...), x.Stores)
	}
	return m
}

// give makes t the task that was carried over: the old task's config and results, without its state params (engine.md
// 2.8).
func (c Carried) give(t *Task) {
	t.Resumed = true
	t.Config, t.Export, t.Left = c.Config, c.Export, c.Left
	t.Progress = Progress{State: Success, UpdatedAt: c.UpdatedAt, Skipped: c.Skipped, Ignored: c.Ignored}
	if c.Outcome != nil {
		o := *c.Outcome
		t.Outcome = &o
	}
}

// Part selects tasks of a resumed attempt that do not run although they otherwise would. All fields hold task patterns,
// see FindTask.
type Part struct {
	Only  string   // only this task and those below it run
	Until string   // only this task, those below it and those before it run
	Done  []string // these tasks and those below them succeed without running
}

// IsEmpty reports whether nothing is selected.
func (p Part) IsEmpty() bool { return p.Only == "" && p.Until == "" && len(p.Done) == 0 }
