package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

func parse(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Project returns a project, even a deleted one.
func (db *DB) Project(ctx context.Context, site, id int64) (host.Project, error) {
	it, err := db.t.Get(ctx, projectKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return host.Project{}, table.OrNotFound(err, "read project %d", id)
	}
	return projectOf(it)
}

// named returns the row of the existing project with the given name; nil if there is none.
func (db *DB) named(ctx context.Context, site int64, name string) (table.Item, error) {
	it, err := db.t.Get(ctx, projectName(site, name))
	if err != nil || it == nil {
		return nil, err
	}
	it, err = db.t.Get(ctx, projectKey(it.Num(table.ID)))
	if it.Has(aDeleted) {
		return nil, err
	}
	return it, err
}

// Projects lists projects that are not deleted, ascending by id.
func (db *DB) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	var out []host.Project
	choose := func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			p, err := projectOf(it)
			if err != nil {
				return false, err
			}
			if p.DeletedAt.IsZero() && p.ID > q.After && strings.Contains(p.Name, q.Pattern) {
				out = append(out, p)
			}
		}
		return q.Count > 0 && len(out) >= q.Count, nil
	}
	if q.Name != "" {
		it, err := db.named(ctx, q.Site, q.Name)
		if err == nil && it != nil {
			_, err = choose([]table.Item{it})
		}
		return out, err
	}
	sites := []int64{q.Site}
	if q.Site == host.AnySite {
		var err error
		if sites, err = allSites(ctx, db.t); err != nil {
			return nil, err
		}
	}
	err := db.projectList(sites, q.After, q.Count).Rows(ctx, choose)
	return upTo(out, q.Count), err
}

func (db *DB) projectList(sites []int64, after int64, count int) *table.List {
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, projectsOf(site))
	}
	return db.t.ListOf(env.BySite(), table.Above(after), false, count, partitions)
}

// Revisions lists revisions of a project, newest first.
func (db *DB) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	if _, err := db.Project(ctx, q.Site, q.Project); errors.Is(err, host.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	ask := table.Query{Descending: true, Limit: q.Count}
	below := table.Ordered(max(q.Before-1, 0))
	if q.Before == 0 {
		below = "9" // sorts after all ids, which have 19 digits
	}
	if q.Name != "" {
		it, err := db.t.Get(ctx, revisionName(q.Project, q.Name))
		if err != nil || it == nil || q.Before != 0 && it.Num(table.ID) >= q.Before {
			return nil, err
		}
		if it, err = db.t.Get(ctx, revisionKey(q.Project, it.Num(table.ID))); err != nil || it == nil {
			return nil, err
		}
		r, err := revisionOf(it)
		return []host.Revision{r}, err
	}
	ask.Where = table.Where{Text: "#p = :p AND #s BETWEEN :first AND :last", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(projectKey(q.Project).Partition), ":first": table.Text("V#"), ":last": table.Text("V#" + below)}}
	list, err := db.t.Find(ctx, ask)
	if err != nil {
		return nil, err
	}
	var out []host.Revision
	for _, it := range list {
		r, err := revisionOf(it)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// DeleteProject releases the project's name and deletes its schedules. It returns ErrNotFound if the project was
// already deleted. If there are very many schedules, the last ones are deleted a moment later.
func (db *DB) DeleteProject(ctx context.Context, site, id int64, at time.Time) error {
	for try := 0; ; try++ {
		it, err := db.t.Get(ctx, projectKey(id))
		if err != nil || it == nil || it.Has(aDeleted) || site != host.AnySite && it.Num(table.Site) != site {
			return table.OrNotFound(err, "delete project %d", id)
		}
		m, err := db.newestManifest(ctx, it)
		if err != nil {
			return err
		}
		schedules := slices.Sorted(maps.Values(m.Schedules))
		actions := []table.Action{
			{Update: projectKey(id), Change: table.Where{Text: "SET #dl = :at REMOVE #gs", Names: []string{aDeleted, aListSite}, Values: table.Item{":at": table.Micros(at)}},
				When: table.Where{Text: "attribute_not_exists(#dl) AND #np = :np", Names: []string{aDeleted, aPushes}, Values: table.Item{":np": it[aPushes]}}},
			{Delete: projectName(it.Num(table.Site), it.Str(aProjectItem))}}
		first := min(len(schedules), table.MaxActions-len(actions))
		for _, s := range schedules[:first] {
			actions = append(actions, table.Action{Delete: scheduleKey(s)})
		}
		_, err = db.t.Transact(ctx, actions)
		if err == nil {
			return db.deleteSchedules(ctx, schedules[first:])
		}
		if !errors.Is(err, table.ErrCondition) {
			return err
		}
		if err := table.Pause(ctx, try); err != nil { // a push, or another delete, was faster
			return err
		}
	}
}

// PauseProject records who paused a project: see host.Projects.
func (db *DB) PauseProject(ctx context.Context, site, id int64, p host.Pause) error {
	it, err := db.t.Get(ctx, projectKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return table.OrNotFound(err, "pause project %d", id)
	}
	change := table.Where{Text: "SET #pz = :at, #pw = :by, #py = :why", Names: []string{aPausedAt, aPausedBy, aPauseReason},
		Values: table.Item{":at": table.Micros(p.At), ":by": table.Text(p.By), ":why": table.Text(p.Reason)}}
	if p.IsZero() {
		change.Text, change.Values = "REMOVE #pz, #pw, #py", nil
	}
	_, err = db.t.Update(ctx, projectKey(id), change, table.Where{Text: "attribute_exists(#p) AND attribute_not_exists(#dl)", Names: []string{table.Partition, aDeleted}})
	if errors.Is(err, table.ErrCondition) {
		return table.OrNotFound(nil, "pause project %d", id)
	}
	return err
}

// newestManifest returns the manifest of a project's newest revision.
func (db *DB) newestManifest(ctx context.Context, project table.Item) (manifest, error) {
	it, err := db.t.Get(ctx, manifestKey(project.Num(aRevision)))
	if err != nil || it == nil {
		return manifest{}, table.OrNotFound(err, "read manifest of revision %d", project.Num(aRevision))
	}
	return db.manifestOf(ctx, it)
}
