package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"zerodag/internal/host"
)

// projectsAtOnce is how many projects one query reads.
const projectsAtOnce = 20

// ForgetArchives removes unneeded archives of old revisions of existing projects with ids above after, until there are
// no more (over) or ctx ends. next is the id of the last project that it handled. An error concerns either individual
// projects, which the next sweep checks again, or the store.
//
// An archive is removed when its revision has not been the newest for longer than archives are kept and neither a
// schedule nor a remaining attempt refers to it. Because a start that is not yet visible may be under way, removal
// takes two sweeps: see host.ArchiveState.
func (c lifecycle) ForgetArchives(ctx context.Context, after int64) (next int64, over bool, err error) {
	if c.o.Limits.KeepArchives <= 0 || c.o.Retention == nil {
		return 0, true, nil
	}
	list, err := c.o.Projects.Projects(ctx, host.ProjectQuery{Site: host.AnySite, After: after, Count: projectsAtOnce})
	if err != nil {
		return after, false, fmt.Errorf("read projects: %w", err)
	}
	var failed []error
	for _, p := range list {
		err := c.forgetArchivesOf(ctx, p)
		if ctx.Err() != nil {
			return after, false, errors.Join(failed...)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("remove archives of project %d: %w", p.ID, err))
		}
		after = p.ID
	}
	if len(list) < projectsAtOnce {
		return 0, true, errors.Join(failed...)
	}
	return after, false, errors.Join(failed...)
}

// forgetArchivesOf handles the archives of one project as far as this sweep can.
func (c lifecycle) forgetArchivesOf(ctx context.Context, p host.Project) error {
	revisions, err := c.o.Projects.Revisions(ctx, host.RevisionQuery{Site: p.Site, Project: p.ID})
	if err != nil {
		return err
	}
	owners := map[string]int{} // of archives that still exist
	for _, r := range revisions {
		if r.Kept.Removed.IsZero() {
			owners[r.Archive]++
		}
	}
	before := c.o.Now().Add(-c.o.Limits.KeepArchives)
	var old []host.Revision // marked as removed but not cleared, or old enough to be removed
	for i, r := range revisions {
		switch {
		case r.Archive == "" || r.Kept.Cleared:
		case !r.Kept.Removed.IsZero():
			if owners[r.Archive] == 0 {
				old = append(old, r)
			}
		case i > 0 && r.ID != p.Latest.ID && owners[r.Archive] == 1 && revisions[i-1].CreatedAt.Before(before):
			old = append(old, r)
		}
	}
	judged, failed := c.readyToGo(ctx, old)
	if ctx.Err() == nil && len(judged) > 0 {
		failed = append(failed, c.judge(ctx, p, judged))
	}
	return errors.Join(failed...)
}

// readyToGo clears removed archives, and lists the other revisions whose uses must be checked now. It checks several
// concurrently: if attempts are kept forever, almost every revision needs a lookup in every sweep, and a sweep must
// finish a project in the time it has. An error with one revision does not affect the others.
func (c lifecycle) readyToGo(ctx context.Context, old []host.Revision) ([]*candidate, []error) {
	var mu sync.Mutex
	var judged []*candidate
	failed := each(c.o.Limits.Looks, old, func(r host.Revision) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.Kept.Removed.IsZero() {
			return c.clearArchive(ctx, r)
		}
		ready, err := c.mayGo(ctx, r)
		if ready {
			mu.Lock()
			defer mu.Unlock()
			judged = append(judged, &candidate{revision: r})
		}
		return err
	})
	return judged, failed
}

// mayGo reports whether it is time to search for uses of a revision's archive. It is too early while the attempt that
// the last search found still exists, or while a start that is not yet visible may be under way.
func (c lifecycle) mayGo(ctx context.Context, r host.Revision) (bool, error) {
	now := c.o.Now().UTC()
	if r.Kept.Needed != 0 {
		_, err := c.o.Attempts.Attempt(ctx, host.AnySite, r.Kept.Needed)
		if !errors.Is(err, host.ErrNotFound) {
			return false, err
		}
	}
	if r.Kept.Going.IsZero() {
		return false, c.setArchive(ctx, r, host.ArchiveState{Going: now})
	}
	return now.Sub(r.Kept.Going) > c.o.Limits.FenceTime(), nil
}

// setArchive is like Retention.SetArchive, but does nothing if there was a concurrent change.
func (c lifecycle) setArchive(ctx context.Context, r host.Revision, state host.ArchiveState) error {
	err := c.o.Retention.SetArchive(ctx, r, r.Kept, state)
	if errors.Is(err, host.ErrConflict) {
		return nil
	}
	return err
}

// candidate is a revision whose archive may be unneeded.
type candidate struct {
	revision host.Revision
	needed   int64 // the attempt that was found; 0: none
}

// judge removes archives that no schedule and no attempt needs.
func (c lifecycle) judge(ctx context.Context, p host.Project, list []*candidate) error {
	of, err := c.byDefinition(ctx, p, list)
	if err != nil {
		return err
	}
	scheduled := map[*candidate]bool{}
	schedules, err := c.o.Schedules.Schedules(ctx, host.ScheduleQuery{Site: p.Site, Project: p.ID})
	if err != nil {
		return err
	}
	for _, s := range schedules {
		scheduled[of[s.Workflow.ID]] = true
	}
	searched, err := c.searchAttempts(ctx, p, list, of)
	if err != nil {
		return err
	}
	return errors.Join(each(c.o.Limits.Looks, list, func(x *candidate) error {
		switch {
		case scheduled[x]: // by an interrupted push: the next push repairs it
			return nil
		case x.needed != 0:
			return c.setArchive(ctx, x.revision, host.ArchiveState{Needed: x.needed})
		case searched > 0: // ctx ended; the next sweep does not have to search this part again
			state := x.revision.Kept
			state.Searched = searched
			return c.setArchive(context.WithoutCancel(ctx), x.revision, state)
		}
		return c.removeArchive(ctx, x.revision)
	})...)
}

// byDefinition finds the candidates by the ids of their revisions' definitions.
func (c lifecycle) byDefinition(ctx context.Context, p host.Project, list []*candidate) (map[int64]*candidate, error) {
	var mu sync.Mutex
	of := map[int64]*candidate{}
	failed := each(c.o.Limits.Looks, list, func(x *candidate) error {
		definitions, err := c.o.Workflows.Workflows(ctx, host.WorkflowQuery{Site: p.Site, Revision: x.revision.ID})
		mu.Lock()
		defer mu.Unlock()
		for _, w := range definitions {
			of[w.ID] = x
		}
		return err
	})
	return of, errors.Join(failed...)
}

// searchAttempts searches a project's attempts for uses of these archives. It begins with the newest attempt, or where
// the previous sweep stopped, and ends at a time when none of the revisions existed yet. A result above 0 is the id
// that it reached when ctx ended; 0 means that it searched all.
func (c lifecycle) searchAttempts(ctx context.Context, p host.Project, list []*candidate, of map[int64]*candidate) (int64, error) {
	before := list[0].revision.Kept.Searched
	for _, x := range list {
		if s := x.revision.Kept.Searched; s == 0 || before == 0 {
			before = 0
		} else {
			before = max(before, s)
		}
	}
	for left := len(list); left > 0; {
		page, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: p.Site, Project: p.ID, Retried: true, Before: before, Count: atOnce})
		if ctx.Err() != nil && before > 0 {
			return before, nil
		}
		if err != nil {
			return 0, err
		}
		for _, a := range page {
			if x := of[a.Workflow.ID]; x != nil && x.needed == 0 {
				x.needed = a.ID
				left--
			}
			before = a.ID
		}
		began := c.beginOf(list)
		if len(page) < atOnce || !slices.ContainsFunc(page, func(a host.Attempt) bool { return a.CreatedAt.After(began) }) {
			return 0, nil
		}
	}
	return 0, nil
}

// beginOf returns a time before which no attempt can need an archive whose use has not been found yet: the oldest of
// these revisions was created later, even if the clock was wrong by as long as archives are kept.
func (c lifecycle) beginOf(list []*candidate) time.Time {
	began := c.o.Now()
	for _, x := range list {
		if made := x.revision.CreatedAt; x.needed == 0 && made.Before(began) {
			began = made
		}
	}
	return began.Add(-c.o.Limits.KeepArchives)
}

// removeArchive removes an unneeded archive, unless an attempt with its revision was started in the meantime. The row
// is marked first: if the process ends in between, the next sweep finds the blob and deletes it.
func (c lifecycle) removeArchive(ctx context.Context, r host.Revision) error {
	gone := host.ArchiveState{Removed: c.o.Now().UTC()}
	err := c.o.Retention.SetArchive(ctx, r, r.Kept, gone)
	if errors.Is(err, host.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	c.o.Logger.Info("archive of an old revision is removed", "project", r.ProjectID, "revision", r.Name)
	r.Kept = gone
	return c.clearArchive(ctx, r)
}

// clearArchive deletes the blob of an archive that is marked as removed in its row.
func (c lifecycle) clearArchive(ctx context.Context, r host.Revision) error {
	if err := c.o.Blobs.Delete(ctx, r.Archive); err != nil {
		return fmt.Errorf("delete %s: %w", r.Archive, err)
	}
	cleared := r.Kept
	cleared.Cleared = true
	return c.setArchive(ctx, r, cleared)
}

// holdArchive is called before an attempt with a workflow of an older revision starts. It keeps the archive, because
// the attempt will need it, or returns an *Error if the archive was removed.
func (c lifecycle) holdArchive(ctx context.Context, w host.Workflow) error {
	for ctx.Err() == nil {
		list, err := c.o.Projects.Revisions(ctx, host.RevisionQuery{Site: w.Site, Project: w.Project.ID, Before: w.Revision.ID + 1, Count: 1})
		if err != nil {
			return fmt.Errorf("read revision: %w", err)
		}
		if len(list) == 0 || list[0].ID != w.Revision.ID {
			return nil // a definition without a revision has no archive that could be removed
		}
		r := list[0]
		switch {
		case !r.Kept.Removed.IsZero():
			return ArchiveRemoved(r)
		case r.Kept.Going.IsZero():
			return nil
		}
		err = c.o.Retention.SetArchive(ctx, r, r.Kept, host.ArchiveState{})
		if !errors.Is(err, host.ErrConflict) {
			return err
		}
	}
	return ctx.Err()
}

// ArchiveRemoved returns an *Error if retention has removed a revision's archive, else nil.
func ArchiveRemoved(r host.Revision) error {
	if r.Kept.Removed.IsZero() {
		return nil
	}
	return &host.Error{Code: host.Missing, Message: fmt.Sprintf("The archive of revision %s was removed at %s because it had expired and was unused. Use a newer revision, or push it again under a different name",
		r.Name, r.Kept.Removed.Format(time.RFC3339))}
}
