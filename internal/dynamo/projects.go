package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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

// Project returns a project, a deleted one as well.
func (db *DB) Project(ctx context.Context, site, id int64) (host.Project, error) {
	it, err := db.get(ctx, projectKey(id))
	if err != nil || it == nil || site != host.AnySite && it.num(aSite) != site {
		return host.Project{}, orNotFound(err, "read project %d", id)
	}
	return projectOf(it)
}

// named returns the row of the living project of a name; nil when there is none.
func (db *DB) named(ctx context.Context, site int64, name string) (item, error) {
	it, err := db.get(ctx, projectName(site, name))
	if err != nil || it == nil {
		return nil, err
	}
	it, err = db.get(ctx, projectKey(it.num(aID)))
	if it.has(aDeleted) {
		return nil, err
	}
	return it, err
}

// Projects lists living projects, ascending by id.
func (db *DB) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	var out []host.Project
	choose := func(rows []item) (bool, error) {
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
			_, err = choose([]item{it})
		}
		return out, err
	}
	sites := []int64{q.Site}
	if q.Site == host.AnySite {
		var err error
		if sites, err = db.sites(ctx); err != nil {
			return nil, err
		}
	}
	err := db.projectList(sites, q.After, q.Count).rows(ctx, choose)
	return upTo(out, q.Count), err
}

func (db *DB) projectList(sites []int64, after int64, count int) *list {
	var partitions []string
	for _, site := range sites {
		partitions = append(partitions, projectsOf(site))
	}
	return db.listOf(env.BySite(), above(after), false, count, partitions)
}

// Revisions lists revisions of a project, newest first.
func (db *DB) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	if _, err := db.Project(ctx, q.Site, q.Project); errors.Is(err, host.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	ask := query{descending: true, limit: q.Count}
	below := ordered(max(q.Before-1, 0))
	if q.Before == 0 {
		below = "9" // above all numbers of 19 digits that ids can be
	}
	if q.Name != "" {
		it, err := db.get(ctx, revisionName(q.Project, q.Name))
		if err != nil || it == nil || q.Before != 0 && it.num(aID) >= q.Before {
			return nil, err
		}
		if it, err = db.get(ctx, revisionKey(q.Project, it.num(aID))); err != nil || it == nil {
			return nil, err
		}
		r, err := revisionOf(it)
		return []host.Revision{r}, err
	}
	ask.where = where{text: "#p = :p AND #s BETWEEN :first AND :last", names: []string{aPartition, aSort},
		values: item{":p": text(projectKey(q.Project).partition), ":first": text("V#"), ":last": text("V#" + below)}}
	list, err := db.find(ctx, ask)
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

// DeleteProject takes the name away and deletes the schedules. ErrNotFound when it was
// deleted before. Of very many schedules the last ones go a moment later.
func (db *DB) DeleteProject(ctx context.Context, site, id int64, at time.Time) error {
	for try := 0; ; try++ {
		it, err := db.get(ctx, projectKey(id))
		if err != nil || it == nil || it.has(aDeleted) || site != host.AnySite && it.num(aSite) != site {
			return orNotFound(err, "delete project %d", id)
		}
		m, err := db.newestManifest(ctx, it)
		if err != nil {
			return err
		}
		schedules := slices.Sorted(maps.Values(m.Schedules))
		actions := []action{
			{update: projectKey(id), change: where{text: "SET #dl = :at REMOVE #gs", names: []string{aDeleted, aListSite}, values: item{":at": micros(at)}},
				when: where{text: "attribute_not_exists(#dl) AND #np = :np", names: []string{aDeleted, aPushes}, values: item{":np": it[aPushes]}}},
			{delete: projectName(it.num(aSite), it.str(aProjectItem))}}
		first := min(len(schedules), maxActions-len(actions))
		for _, s := range schedules[:first] {
			actions = append(actions, action{delete: scheduleKey(s)})
		}
		_, err = db.transact(ctx, actions)
		if err == nil {
			return db.deleteSchedules(ctx, schedules[first:])
		}
		if !errors.Is(err, errCondition) {
			return err
		}
		if err := pause(ctx, try); err != nil { // a push, or another delete, was faster
			return err
		}
	}
}

// PauseProject sets who has paused a project: see host.Projects.
func (db *DB) PauseProject(ctx context.Context, site, id int64, p host.Pause) error {
	it, err := db.get(ctx, projectKey(id))
	if err != nil || it == nil || site != host.AnySite && it.num(aSite) != site {
		return orNotFound(err, "pause project %d", id)
	}
	change := where{text: "SET #pz = :at, #pw = :by, #py = :why", names: []string{aPausedAt, aPausedBy, aPauseReason},
		values: item{":at": micros(p.At), ":by": text(p.By), ":why": text(p.Reason)}}
	if p.IsZero() {
		change.text, change.values = "REMOVE #pz, #pw, #py", nil
	}
	_, err = db.update(ctx, projectKey(id), change, where{text: "attribute_exists(#p) AND attribute_not_exists(#dl)", names: []string{aPartition, aDeleted}})
	if errors.Is(err, errCondition) {
		return orNotFound(nil, "pause project %d", id)
	}
	return err
}

// newestManifest is that of a project's newest revision.
func (db *DB) newestManifest(ctx context.Context, project item) (manifest, error) {
	it, err := db.get(ctx, manifestKey(project.num(aRevision)))
	if err != nil || it == nil {
		return manifest{}, orNotFound(err, "read manifest of revision %d", project.num(aRevision))
	}
	return db.manifestOf(ctx, it)
}
