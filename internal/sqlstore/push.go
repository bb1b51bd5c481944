package sqlstore

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
func (s *Store) Push(ctx context.Context, p host.Push) (pushed host.Project, err error) {
	err = s.acknowledge(ctx, func(t tx) (err error) {
		pushed, err = t.push(p)
		return err
	})
	return pushed, err
}

func (t tx) push(p host.Push) (host.Project, error) {
	var none host.Project
	project, paused, err := t.projectOf(p)
	if err != nil {
		return host.Project{ID: project}, err
	}
	if err := t.retire(project); err != nil {
		return none, err
	}
	r := p.Revision
	revision, err := t.Insert("INSERT INTO @revisions (project_id, name, archive_path, archive_md5, created_at, user_info)"+
		" VALUES (?, ?, ?, ?, ?, ?)", project, r.Name, r.Archive, r.ArchiveMD5, r.CreatedAt, r.UserInfo)
	if err != nil {
		return none, err
	}
	if _, err := t.Exec("UPDATE @projects SET latest_revision_id = ? WHERE id = ?", revision, project); err != nil {
		return none, err
	}
	definitions := map[string]int64{}
	for _, w := range p.Workflows {
		config, err := t.configOf(project, w)
		if err != nil {
			return none, err
		}
		if definitions[w.Name], err = t.Insert("INSERT INTO @workflow_definitions (revision_id, config_id, name,"+
			" latest_site_id) VALUES (?, ?, ?, ?)", revision, config, w.Name, p.Site); err != nil {
			return none, err
		}
	}
	if err := t.reschedule(p, project, paused, definitions); err != nil {
		return none, err
	}
	made, _, err := One(t, scanProject, selectProject+"WHERE p.id = ?", project)
	return made, err
}

// projectOf finds or creates the project and locks it, so that pushes of one project run one after the other; its
// attempts can still be started. It reports whether the project is paused. It returns ErrConflict if the project
// already has the revision.
func (t tx) projectOf(p host.Push) (id int64, paused bool, err error) {
	for range tries {
		found, exists, err := One(t, scanPaused, t.locking("SELECT id, paused_at FROM @projects"+
			" WHERE site_id = ? AND name = ?", "FOR NO KEY UPDATE"), p.Site, p.Project)
		if err != nil {
			return 0, false, err
		}
		if exists {
			_, taken, err := One(t, (*Row).ID, "SELECT id FROM @revisions WHERE project_id = ? AND name = ?",
				found.ID, p.Revision.Name)
			if err == nil && taken {
				err = host.ErrConflict
			}
			return found.ID, !found.Paused.IsZero(), err
		}
		id, err = t.Insert("INSERT INTO @projects (site_id, name, created_at) VALUES (?, ?, ?)"+
			" ON CONFLICT (site_id, name) DO NOTHING", p.Site, p.Project, p.Revision.CreatedAt)
		if err != nil || id != 0 {
			return id, false, err
		} // another transaction created or deleted it in the meantime
	}
	return 0, false, fmt.Errorf("push: %w: the project keeps being created and deleted", host.ErrUnavailable)
}

// scanPaused reads only the data of a project that a push needs.
func scanPaused(r *Row) host.Project {
	return host.Project{ID: r.ID(), Paused: host.Pause{At: r.Time()}}
}

// configOf finds a workflow's text among the project's stored texts, or stores it.
func (t tx) configOf(project int64, w dig.Workflow) (int64, error) {
	text := string(param.AppendStored(nil, w.Config))
	digest := sha256.Sum256([]byte(w.Zone + "\n" + text))
	id, exists, err := One(t, (*Row).ID, "SELECT id FROM @workflow_configs WHERE project_id = ? AND config_digest = ?",
		project, digest[:])
	if err != nil || exists {
		return id, err
	}
	return t.Insert("INSERT INTO @workflow_configs (project_id, config_digest, timezone, config) VALUES (?, ?, ?, ?)",
		project, digest[:], w.Zone, text)
}

// reschedule brings the schedules of a project in line with its newest revision. They are locked so that no schedule
// can change between the read and the write.
func (t tx) reschedule(p host.Push, project int64, paused bool, definitions map[string]int64) error {
	list, err := Collect(t, scanSchedule, t.locking(t.texts.schedule+"WHERE s.project_id = ?",
		"ORDER BY s.id FOR UPDATE OF s"), project)
	if err != nil {
		return err
	}
	old := map[string]*host.Schedule{}
	for i, s := range list {
		if p.Schedules[s.Workflow.Name] != nil {
			old[s.Workflow.Name] = &list[i]
			continue
		}
		if _, err := t.Exec("DELETE FROM @schedules WHERE id = ?", s.ID); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Schedules)) {
		definition, ok := definitions[name]
		if !ok {
			return errors.New("push: schedule of " + name + ", which is not a workflow of the revision")
		}
		next := host.Schedule{Site: p.Site, Project: host.Ref{ID: project}, Workflow: host.Ref{ID: definition, Name: name},
			Times: p.Schedules[name](old[name], paused), UpdatedAt: p.Revision.CreatedAt}
		if err := t.putSchedule(next, old[name]); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) putSchedule(s host.Schedule, old *host.Schedule) error {
	if old != nil {
		_, err := t.Exec("UPDATE @schedules SET workflow_definition_id = ?, next_run_time = ?, next_schedule_time = ?,"+
			" last_session_time = ?, updated_at = ? WHERE id = ?",
			s.Workflow.ID, s.Times.Run, s.Times.Session, s.Times.Last, s.UpdatedAt, old.ID)
		return err
	}
	_, err := t.Exec("INSERT INTO @schedules (site_id, project_id, workflow_name, workflow_definition_id, next_run_time,"+
		" next_schedule_time, last_session_time, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		s.Site, s.Project.ID, s.Workflow.Name, s.Workflow.ID, s.Times.Run, s.Times.Session, s.Times.Last, s.UpdatedAt,
		s.UpdatedAt)
	return err
}
