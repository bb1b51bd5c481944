package sqlstore

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/host"
)

const selectProject = "SELECT p.id, p.site_id, coalesce(p.name, p.deleted_name), p.created_at, p.deleted_at," +
	" p.paused_at, p.paused_by, p.pause_reason, r.id, r.project_id, r.name, r.created_at, r.archive_path," +
	" r.archive_md5, r.user_info, r.archive_state FROM @projects p JOIN @revisions r ON r.id = p.latest_revision_id "

func scanProject(r *Row) host.Project {
	return host.Project{ID: r.ID(), Site: r.ID(), Name: r.Text(), CreatedAt: r.Time(), DeletedAt: r.Time(),
		Paused: scanPause(r), Latest: scanRevision(r)}
}

func scanPause(r *Row) host.Pause { return host.Pause{At: r.Time(), By: r.Text(), Reason: r.Text()} }

func scanRevision(r *Row) host.Revision {
	return host.Revision{ID: r.ID(), ProjectID: r.ID(), Name: r.Text(), CreatedAt: r.Time(),
		Archive: r.Text(), ArchiveMD5: r.Blob(), UserInfo: r.Tree(), Kept: scanArchiveState(r)}
}

// scanArchiveState reads the recorded state of an archive; NULL means no state.
func scanArchiveState(r *Row) host.ArchiveState {
	state, err := host.ParseArchiveState(r.Text())
	r.fail(err)
	return state
}

// Project returns a project, even if it is deleted.
func (s *Store) Project(ctx context.Context, site, id int64) (host.Project, error) {
	return ReadOne(ctx, s, scanProject, Select(selectProject+"WHERE p.id = ?", id).ofSite("p.site_id", site))
}

// Projects lists projects that are not deleted, in ascending order of ID.
func (s *Store) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	list := Select(selectProject+"WHERE p.deleted_at IS NULL AND p.id > ?", q.After).ofSite("p.site_id", q.Site)
	list.When(q.Name != "", " AND p.name = ?", q.Name)
	list.When(q.Pattern != "", " AND "+s.contains("p.name"), q.Pattern)
	list.Order("p.id", q.Count)
	return ReadAll(ctx, s, scanProject, list)
}

// DeleteProject removes the project's name and deletes its schedules. It returns ErrNotFound if the project was deleted
// before.
func (s *Store) DeleteProject(ctx context.Context, site, id int64, at time.Time) error {
	return s.acknowledge(ctx, func(t tx) error {
		q := Select("UPDATE @projects SET deleted_name = name, name = NULL, deleted_at = ?"+
			" WHERE id = ? AND deleted_at IS NULL", at, id).ofSite("site_id", site)
		n, err := t.Exec(q.SQL, q.Args...)
		if err != nil || n == 0 {
			return OrNotFound(err, "delete project %d", id)
		}
		if err := t.retire(id); err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM @schedules WHERE project_id = ?", id)
		return err
	})
}

// PauseProject sets who has paused a project: see host.Projects.
func (s *Store) PauseProject(ctx context.Context, site, id int64, p host.Pause) error {
	return s.acknowledge(ctx, func(t tx) error {
		q := Select("UPDATE @projects SET paused_at = ?, paused_by = ?, pause_reason = ? WHERE id = ? AND deleted_at IS NULL",
			p.At, p.By, p.Reason, id).ofSite("site_id", site)
		n, err := t.Exec(q.SQL, q.Args...)
		if err != nil || n == 0 {
			return OrNotFound(err, "pause project %d", id)
		}
		return nil
	})
}

// retire removes the definitions of a project's newest revision from the list of current ones.
func (t tx) retire(project int64) error {
	_, err := t.Exec("UPDATE @workflow_definitions SET latest_site_id = NULL"+
		" WHERE revision_id = (SELECT latest_revision_id FROM @projects WHERE id = ?)", project)
	return err
}

// Revisions lists revisions of a project, newest first.
func (s *Store) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	list := Select("SELECT r.id, r.project_id, r.name, r.created_at, r.archive_path, r.archive_md5, r.user_info,"+
		" r.archive_state FROM @revisions r JOIN @projects p ON p.id = r.project_id"+
		" WHERE r.project_id = ? AND p.site_id = ?", q.Project, q.Site)
	list.When(q.Name != "", " AND r.name = ?", q.Name)
	list.When(q.Before > 0, " AND r.id < ?", q.Before)
	list.Order("r.id DESC", q.Count)
	return ReadAll(ctx, s, scanRevision, list)
}

// Sites lists sites that have, or had, projects: one lookup in the index for each.
func (s *Store) Sites(ctx context.Context, after int64, n int) (list []host.Site, err error) {
	err = s.driver.Read(ctx, func(c Conn) error {
		list = nil
		for at := after; len(list) < n; {
			next, found, err := One(c, (*Row).ID, "SELECT site_id FROM @projects WHERE site_id > ? ORDER BY site_id LIMIT 1", at)
			if err != nil || !found {
				return err
			}
			living, _, err := One(c, (*Row).Int, "SELECT count(*) FROM @projects WHERE site_id = ? AND deleted_at IS NULL", next)
			if err != nil {
				return err
			}
			list, at = append(list, host.Site{ID: next, Projects: living}), next
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read sites: %w", err)
	}
	return list, nil
}
