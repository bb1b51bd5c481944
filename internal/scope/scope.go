package scope

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Scope holds the names of the projects that a caller may use. Names, not ids: a token may be created before its
// project, and a project that is deleted and pushed again stays the same to users.
type Scope []string

// Has reports whether the scope includes a project.
func (s Scope) Has(project string) bool { return slices.Contains(s, project) }

// Within returns the ports in the form in which a caller with this scope sees them.
func (s Scope) Within(p host.Ports) host.Ports {
	known := projects{p.Projects, s}
	p.Projects = known
	p.Workflows = workflows{p.Workflows, known}
	p.Schedules = schedules{p.Schedules, known}
	p.Attempts = attempts{p.Attempts, s}
	p.Sessions = sessions{p.Sessions, known}
	p.Backfills = backfills{p.Backfills, known}
	p.Pools = pools{p.Pools, known}
	return p
}

// Names that differ from the methods of the stores.
type (
	projectStore  = host.Projects
	workflowStore = host.Workflows
	scheduleStore = host.Schedules
	attemptStore  = host.Attempts
	sessionStore  = host.Sessions
	backfillStore = host.Backfills
	poolStore     = host.Pools
)

// visible returns v if its project is in the scope.
func visible[T any](s Scope, v T, err error, project func(T) string) (T, error) {
	if err == nil && !s.Has(project(v)) {
		err = host.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

type projects struct {
	projectStore
	scope Scope
}

func nameOf(p host.Project) string { return p.Name }

func (p projects) Push(ctx context.Context, r host.Push) (host.Project, error) {
	if !p.scope.Has(r.Project) {
		return host.Project{}, host.ErrNotFound
	}
	return p.projectStore.Push(ctx, r)
}

func (p projects) Project(ctx context.Context, site, id int64) (host.Project, error) {
	found, err := p.projectStore.Project(ctx, site, id)
	return visible(p.scope, found, err, nameOf)
}

// Projects looks up each name, because the projects of a scope may be far apart in the site's list.
func (p projects) Projects(ctx context.Context, q host.ProjectQuery) (list []host.Project, err error) {
	for _, name := range p.scope {
		if q.Name != "" && q.Name != name || !strings.Contains(name, q.Pattern) {
			continue
		}
		found, err := p.projectStore.Projects(ctx, host.ProjectQuery{Site: q.Site, Name: name, Count: 1})
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b host.Project) int { return cmp.Compare(a.ID, b.ID) })
	list = slices.DeleteFunc(list, func(p host.Project) bool { return p.ID <= q.After })
	return first(list, q.Count), nil
}

func (p projects) DeleteProject(ctx context.Context, site, id int64, at time.Time) error {
	if _, err := p.Project(ctx, site, id); err != nil {
		return err
	}
	return p.projectStore.DeleteProject(ctx, site, id, at)
}

func (p projects) PauseProject(ctx context.Context, site, id int64, pause host.Pause) error {
	if _, err := p.Project(ctx, site, id); err != nil {
		return err
	}
	return p.projectStore.PauseProject(ctx, site, id, pause)
}

func (p projects) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	if _, err := p.Project(ctx, q.Site, q.Project); err != nil {
		return nil, noneIfMissing(err)
	}
	return p.projectStore.Revisions(ctx, q)
}

func (p projects) Sites(context.Context, int64, int) ([]host.Site, error) { return nil, nil }

// living lists the existing projects of the scope.
func (p projects) living(ctx context.Context, site int64) ([]host.Project, error) {
	return p.Projects(ctx, host.ProjectQuery{Site: site})
}

// noneIfMissing turns the absence of an object into an empty list.
func noneIfMissing(err error) error {
	if errors.Is(err, host.ErrNotFound) {
		return nil
	}
	return err
}

type workflows struct {
	workflowStore
	projects projects
}

func (w workflows) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	found, err := w.workflowStore.Workflow(ctx, site, id)
	return visible(w.projects.scope, found, err, func(x host.Workflow) string { return x.Project.Name })
}

func (w workflows) Workflows(ctx context.Context, q host.WorkflowQuery) ([]host.Workflow, error) {
	if q.Revision != 0 {
		list, err := w.workflowStore.Workflows(ctx, q)
		if len(list) > 0 && !w.projects.scope.Has(list[0].Project.Name) {
			return nil, nil
		}
		return list, err
	}
	known, err := w.projects.living(ctx, q.Site)
	if err != nil {
		return nil, err
	}
	var parts []part[host.Workflow]
	for _, p := range known {
		one := q
		one.Revision = p.Latest.ID
		if q.OrProject && strings.Contains(p.Name, q.Pattern) {
			one.Pattern = ""
		}
		one.OrProject = false
		parts = append(parts, func(last int64) ([]host.Workflow, error) {
			if last != 0 {
				one.Last = last
			}
			return w.workflowStore.Workflows(ctx, one)
		})
	}
	return merge(parts, merging[host.Workflow]{count: q.Count, bytes: q.Bytes, descending: q.Descending,
		id: func(x host.Workflow) int64 { return x.ID }, size: func(x host.Workflow) int { return param.Size(x.Config) }})
}

type schedules struct {
	scheduleStore
	projects projects
}

func projectOfSchedule(s host.Schedule) string { return s.Project.Name }

func (s schedules) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	found, err := s.scheduleStore.Schedule(ctx, site, id)
	return visible(s.projects.scope, found, err, projectOfSchedule)
}

func (s schedules) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	return ofProjects(ctx, s.projects, q.Site, q.Project, merging[host.Schedule]{count: q.Count, id: func(x host.Schedule) int64 { return x.ID }},
		func(project, last int64) ([]host.Schedule, error) {
			one := q
			one.Project, one.After = project, max(q.After, last)
			return s.scheduleStore.Schedules(ctx, one)
		})
}

func (s schedules) Update(ctx context.Context, to host.Schedule, old host.Times, at time.Time) error {
	if !s.projects.scope.Has(projectOfSchedule(to)) {
		return host.ErrNotFound
	}
	return s.scheduleStore.Update(ctx, to, old, at)
}

// chosen returns the ids of the projects whose objects a list may contain: the one that a query names, or all of the
// scope that exist.
func (p projects) chosen(ctx context.Context, site, project int64) ([]int64, error) {
	if project != 0 {
		if _, err := p.Project(ctx, site, project); err != nil {
			return nil, noneIfMissing(err)
		}
		return []int64{project}, nil
	}
	list, err := p.living(ctx, site)
	ids := make([]int64, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	return ids, err
}

// ofProjects merges the objects of the projects that a list may contain. list reads one project's objects after the one
// with the id last, which is 0 at first.
func ofProjects[T any](ctx context.Context, p projects, site, project int64, m merging[T], list func(project, last int64) ([]T, error)) ([]T, error) {
	known, err := p.chosen(ctx, site, project)
	if err != nil {
		return nil, err
	}
	parts := make([]part[T], len(known))
	for i, id := range known {
		parts[i] = func(last int64) ([]T, error) { return list(id, last) }
	}
	return merge(parts, m)
}

type attempts struct {
	attemptStore
	scope Scope
}

func (a attempts) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	if slices.ContainsFunc(list, func(n host.NewAttempt) bool { return !a.scope.Has(n.Project.Name) }) {
		return nil, host.ErrNotFound
	}
	return a.attemptStore.Start(ctx, list...)
}

func (a attempts) Import(ctx context.Context, list ...host.PastAttempt) (int, error) {
	if slices.ContainsFunc(list, func(p host.PastAttempt) bool { return !a.scope.Has(p.Project.Name) }) {
		return 0, host.ErrNotFound
	}
	return a.attemptStore.Import(ctx, list...)
}

func projectOfAttempt(a host.Attempt) string { return a.Project.Name }

func (a attempts) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	found, err := a.attemptStore.Attempt(ctx, site, id)
	return visible(a.scope, found, err, projectOfAttempt)
}

type sessions struct {
	sessionStore
	projects projects
}

func (s sessions) Session(ctx context.Context, site, id int64) (host.Session, error) {
	found, err := s.sessionStore.Session(ctx, site, id)
	return visible(s.projects.scope, found, err, func(x host.Session) string { return x.Project.Name })
}

func (s sessions) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	if len(q.Times) > 0 { // of one project
		known, err := s.projects.chosen(ctx, q.Site, q.Project)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		return s.sessionStore.Sessions(ctx, q)
	}
	return ofProjects(ctx, s.projects, q.Site, q.Project, merging[host.Session]{count: q.Count, bytes: q.Bytes, descending: true,
		id: func(x host.Session) int64 { return x.ID }, size: func(x host.Session) int { return param.Size(x.Last.Params) }},
		func(project, last int64) ([]host.Session, error) {
			one := q
			one.Project, one.Before = project, cmp.Or(last, q.Before)
			return s.sessionStore.Sessions(ctx, one)
		})
}

func (s sessions) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	if q.Session != 0 { // of one project
		list, err := s.sessionStore.Attempts(ctx, q)
		return s.only(list), err
	}
	return ofProjects(ctx, s.projects, q.Site, q.Project, merging[host.Attempt]{count: q.Count, bytes: q.Bytes, descending: true,
		id: func(x host.Attempt) int64 { return x.ID }, size: func(x host.Attempt) int { return param.Size(x.Params) }},
		func(project, last int64) ([]host.Attempt, error) {
			one := q
			one.Project, one.Before = project, cmp.Or(last, q.Before)
			return s.sessionStore.Attempts(ctx, one)
		})
}

// Active reads all unfinished attempts of the site, of which there are few.
func (s sessions) Active(ctx context.Context, q host.ActiveQuery) (list []host.Attempt, err error) {
	for wanted := q.Count; ; {
		page, err := s.sessionStore.Active(ctx, q)
		if err != nil {
			return nil, err
		}
		list = append(list, s.only(page)...)
		if len(list) >= wanted || len(page) < q.Count || len(page) == 0 {
			return first(list, wanted), nil
		}
		q.After = page[len(page)-1].ID
	}
}

func (s sessions) only(list []host.Attempt) []host.Attempt {
	return slices.DeleteFunc(slices.Clone(list), func(a host.Attempt) bool { return !s.projects.scope.Has(projectOfAttempt(a)) })
}

type backfills struct {
	backfillStore
	projects projects
}

func (b backfills) Backfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	found, err := b.backfillStore.Backfill(ctx, site, id)
	return visible(b.projects.scope, found, err, func(x host.Backfill) string { return x.Project.Name })
}

func (b backfills) Backfills(ctx context.Context, q host.BackfillQuery) ([]host.Backfill, error) {
	return ofProjects(ctx, b.projects, q.Site, q.Project, merging[host.Backfill]{count: q.Count, descending: true, id: func(x host.Backfill) int64 { return x.ID }},
		func(project, last int64) ([]host.Backfill, error) {
			one := q
			one.Project, one.Before = project, cmp.Or(last, q.Before)
			return b.backfillStore.Backfills(ctx, one)
		})
}

// pools hides pools only in lists: a project's tasks may use its site's pools.
type pools struct {
	poolStore
	projects projects
}

func (p pools) Pools(ctx context.Context, q host.PoolQuery) (list []host.Pool, err error) {
	known, err := p.projects.chosen(ctx, q.Site, 0)
	if err != nil {
		return nil, err
	}
	for wanted := q.Count; ; {
		page, err := p.poolStore.Pools(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if slices.Contains(known, one.Project) {
				list = append(list, one)
			}
		}
		if wanted == 0 || len(list) >= wanted || len(page) < q.Count {
			return first(list, wanted), nil
		}
		q.After = page[len(page)-1].ID
	}
}
