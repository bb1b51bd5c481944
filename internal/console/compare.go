package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// Comparison holds the differences between an attempt and an earlier attempt of the same workflow.
type Comparison struct {
	With     *host.Attempt // nil: none of the searched earlier attempts succeeded
	Looked   bool          // all earlier attempts were searched
	Revision [2]string     // of the earlier attempt and of this one; "" if it is no longer known
	// Files lists the files that differ; FilesKnown is false if one of the archives was removed or is too large to be read
	// completely.
	Files      []FileChange
	FilesKnown bool
	Params     []ParamChange // given at the start, without parameters that depend on the session time
	Tasks      []TaskChange  // tasks of a second or more whose duration at least halved or doubled
}

// FileChange is a file that differs.
type FileChange struct {
	Path string
	Kind string // "added", "removed" or "changed"
}

// ParamChange is a parameter that differs; nil means that it is missing. Secrets are removed from both values.
type ParamChange struct {
	Name     string
	From, To param.Value
}

// TaskChange is a task whose duration changed.
type TaskChange struct {
	Name     string // full
	From, To time.Duration
}

// mostEarlier is the maximum number of earlier attempts that are searched for a successful one.
const mostEarlier = 500

// mostChanged limits each list of a comparison.
const mostChanged = 200

// CompareWithSuccess compares an attempt with the last one before it that succeeded.
func (c *Console) CompareWithSuccess(ctx context.Context, a host.Attempt) (*Comparison, error) {
	list, err := c.Catalogue.Attempts(ctx, host.AttemptQuery{Site: a.Site, Project: a.Project.ID, Workflow: a.Workflow.Name, Retried: true, Before: a.ID, Count: mostEarlier})
	if err != nil {
		return nil, err
	}
	r := &Comparison{Looked: len(list) < mostEarlier}
	i := slices.IndexFunc(list, func(b host.Attempt) bool { return b.Success })
	if i < 0 {
		return r, nil
	}
	r.With = &list[i]
	if err := c.compareFiles(ctx, r, *r.With, a); err != nil {
		return nil, err
	}
	before, mask, err := c.took(ctx, *r.With)
	if err != nil {
		return nil, err
	}
	now, mask2, err := c.took(ctx, a)
	if err != nil {
		return nil, err
	}
	r.Params = compareParams(mask(r.With.Params), mask2(a.Params))
	r.Tasks = compareTimes(before, now)
	return r, nil
}

func (c *Console) compareFiles(ctx context.Context, r *Comparison, from, to host.Attempt) error {
	var archives [2]host.Revision
	for i, a := range []host.Attempt{from, to} {
		w, err := c.Catalogue.Workflow(ctx, a.Site, a.Workflow.ID)
		if errors.Is(err, host.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Revision[i], archives[i].Archive = w.Revision.Name, w.Archive
	}
	if archives[0].Archive == archives[1].Archive {
		r.FilesKnown = true
		return nil
	}
	var files [2]map[string][sha256.Size]byte
	for i, archive := range archives {
		if archive.Archive == "" {
			return nil
		}
		sums, all, err := c.sums(ctx, archive)
		if errors.Is(err, host.ErrNotFound) || err == nil && !all {
			return nil
		}
		if err != nil {
			return err
		}
		files[i] = sums
	}
	r.FilesKnown = true
	r.Files = compareNames(files[0], files[1])
	return nil
}

func compareNames(from, to map[string][sha256.Size]byte) (list []FileChange) {
	for name, sum := range from {
		if now, still := to[name]; !still {
			list = append(list, FileChange{name, "removed"})
		} else if now != sum {
			list = append(list, FileChange{name, "changed"})
		}
	}
	for name := range to {
		if _, before := from[name]; !before {
			list = append(list, FileChange{name, "added"})
		}
	}
	slices.SortFunc(list, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	return list[:min(len(list), mostChanged)]
}

// compareParams omits parameters that naturally differ from session to session.
func compareParams(from, to *param.Map) (list []ParamChange) {
	names := map[string]bool{}
	for _, m := range []*param.Map{from, to} {
		for k := range m.All() {
			names[k] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ofSession(name) {
			continue
		}
		a, had := from.Get(name)
		b, has := to.Get(name)
		if had != has || !param.Equal(a, b) {
			list = append(list, ParamChange{name, a, b})
		}
	}
	return list[:min(len(list), mostChanged)]
}

// ofSession reports whether a parameter depends on the session time.
func ofSession(name string) bool {
	return slices.Contains([]string{"last_session_time", "next_session_time", "last_executed_session_time"}, name) || slices.Contains(schedule.BusinessVariables(), name)
}

// took returns how long the finished tasks of an attempt took, by their full names, and a function that hides its
// secrets.
func (c *Console) took(ctx context.Context, a host.Attempt) (took map[string]time.Duration, mask func(*param.Map) *param.Map, err error) {
	took = map[string]time.Duration{}
	var wrong error
	err = c.Catalogue.View(ctx, a, func(s *engine.State) {
		if mask, wrong = c.Catalogue.Masker(ctx, a, s); wrong != nil || s == nil {
			return
		}
		first := begins(s)
		for _, t := range s.Tasks() {
			if began := first[t.ID].at; t.State.Done() && !began.IsZero() {
				took[t.Name] = t.UpdatedAt.Sub(began)
			}
		}
	})
	return took, mask, errors.Join(err, wrong)
}

func compareTimes(from, to map[string]time.Duration) (list []TaskChange) {
	for name, now := range to {
		before, known := from[name]
		if known && max(before, now) >= time.Second && (now >= 2*before || before >= 2*now) {
			list = append(list, TaskChange{name, before, now})
		}
	}
	slices.SortFunc(list, func(a, b TaskChange) int {
		return cmp.Or(cmp.Compare((b.To-b.From).Abs(), (a.To-a.From).Abs()), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), mostChanged)]
}
