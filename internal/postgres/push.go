package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Push adds a revision: see host.Projects.
func (db *DB) Push(ctx context.Context, p host.Push) (pushed host.Project, err error) {
	err = db.write(ctx, func(c *conn) (err error) {
		pushed, err = c.push(p)
		return err
	})
	return pushed, err
}

func (c *conn) push(p host.Push) (host.Project, error) {
	var none host.Project
	project, paused, err := c.projectOf(p)
	if err != nil {
		return host.Project{ID: project}, err
	}
	if err := c.retire(project); err != nil {
		return none, err
	}
	r := p.Revision
	revision, err := c.insert("INSERT INTO revisions (project_id, name, archive_path, archive_md5, created_at, user_info) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
		project, r.Name, r.Archive, r.ArchiveMD5, r.CreatedAt, r.UserInfo)
	if err != nil {
		return none, err
	}
	if _, err := c.exec("UPDATE projects SET latest_revision_id = $1 WHERE id = $2", revision, project); err != nil {
		return none, err
	}
	definitions := map[string]int64{}
	for _, w := range p.Workflows {
		config, err := c.configOf(project, w)
		if err != nil {
			return none, err
		}
		if definitions[w.Name], err = c.insert("INSERT INTO workflow_definitions (revision_id, config_id, name, latest_site_id) VALUES ($1, $2, $3, $4) RETURNING id",
			revision, config, w.Name, p.Site); err != nil {
			return none, err
		}
	}
	if err := c.reschedule(p, project, paused, definitions); err != nil {
		return none, err
	}
	made, _, err := one(c, scanProject, selectProject+"WHERE p.id = $1", project)
	return made, err
}

// projectOf finds the project, or makes it, and locks it: pushes of one project come one after the other, while attempts of it are started. It says whether it is paused. ErrConflict when it
// has the revision.
func (c *conn) projectOf(p host.Push) (id int64, paused bool, err error) {
	for range tries {
		found, exists, err := one(c, scanPaused, "SELECT id, paused_at FROM projects WHERE site_id = $1 AND name = $2 FOR NO KEY UPDATE", p.Site, p.Project)
		if err != nil {
			return 0, false, err
		}
		if exists {
			_, taken, err := one(c, (*row).id, "SELECT id FROM revisions WHERE project_id = $1 AND name = $2", found.ID, p.Revision.Name)
			if err == nil && taken {
				err = host.ErrConflict
			}
			return found.ID, !found.Paused.IsZero(), err
		}
		id, err = c.insert("INSERT INTO projects (site_id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (site_id, name) DO NOTHING RETURNING id", p.Site, p.Project, p.Revision.CreatedAt)
		if err != nil || id != 0 {
			return id, false, err
		} // another transaction has made it, or deleted it, in between
	}
	return 0, false, fmt.Errorf("push: %w: the project comes and goes", host.ErrUnavailable)
}

// scanPaused reads of a project as much as a push must know.
func scanPaused(r *row) host.Project {
	return host.Project{ID: r.id(), Paused: host.Pause{At: r.time()}}
}

// configOf finds the text of a workflow among those of the project, or stores it.
func (c *conn) configOf(project int64, w dig.Workflow) (int64, error) {
	text := string(param.AppendStored(nil, w.Config))
	digest := sha256.Sum256([]byte(w.Zone + "\n" + text))
	id, exists, err := one(c, (*row).id, "SELECT id FROM workflow_configs WHERE project_id = $1 AND config_digest = $2", project, digest[:])
	if err != nil || exists {
		return id, err
	}
	return c.insert("INSERT INTO workflow_configs (project_id, config_digest, timezone, config) VALUES ($1, $2, $3, $4) RETURNING id", project, digest[:], w.Zone, text)
}

// reschedule brings the schedules of a project in line with its newest revision. They are locked: none moves between the look
// and the change.
func (c *conn) reschedule(p host.Push, project int64, paused bool, definitions map[string]int64) error {
	list, err := collect(c, scanSchedule, selectSchedule+"WHERE s.project_id = $1 ORDER BY s.id FOR UPDATE OF s", project)
	if err != nil {
		return err
	}
	old := map[string]*host.Schedule{}
	for i, s := range list {
		if p.Schedules[s.Workflow.Name] != nil {
			old[s.Workflow.Name] = &list[i]
			continue
		}
		if _, err := c.exec("DELETE FROM schedules WHERE id = $1", s.ID); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Schedules)) {
		definition, ok := definitions[name]
		if !ok {
			return errors.New("push: schedule of " + name + ", which is no workflow of the revision")
		}
		if err := c.schedule(p, project, definition, name, p.Schedules[name](old[name], paused), old[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) schedule(p host.Push, project, definition int64, name string, t host.Times, old *host.Schedule) error {
	at := p.Revision.CreatedAt
	if old != nil {
		_, err := c.exec("UPDATE schedules SET workflow_definition_id = $1, next_run_time = $2, next_schedule_time = $3, last_session_time = $4, updated_at = $5 WHERE id = $6",
			definition, t.Run, t.Session, t.Last, at, old.ID)
		return err
	}
	_, err := c.exec("INSERT INTO schedules (site_id, project_id, workflow_name, workflow_definition_id, next_run_time, next_schedule_time, last_session_time, created_at, updated_at)"+
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)", p.Site, project, name, definition, t.Run, t.Session, t.Last, at)
	return err
}
