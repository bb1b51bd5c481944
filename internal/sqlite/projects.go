package sqlite

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/host"
)

const selectProject = "SELECT p.id, p.site_id, coalesce(p.name, p.deleted_name), p.created_at, p.deleted_at, p.paused_at, p.paused_by, p.pause_reason," +
	" r.id, r.project_id, r.name, r.created_at, r.archive_path, r.archive_md5, r.user_info, r.archive_state" +
	" FROM projects p JOIN revisions r ON r.id = p.latest_revision_id "

func scanProject(r *row) host.Project {
	return host.Project{ID: r.id(), Site: r.id(), Name: r.text(), CreatedAt: r.time(), DeletedAt: r.time(), Paused: scanPause(r), Latest: scanRevision(r)}
}

func scanPause(r *row) host.Pause { return host.Pause{At: r.time(), By: r.text(), Reason: r.text()} }

func scanRevision(r *row) host.Revision {
	return host.Revision{ID: r.id(), ProjectID: r.id(), Name: r.text(), CreatedAt: r.time(), Archive: r.text(), ArchiveMD5: r.blob(), UserInfo: r.tree(), Kept: r.archiveState()}
}

// Project returns a project, a deleted one as well.
func (db *DB) Project(ctx context.Context, site, id int64) (host.Project, error) {
	return readOne(ctx, db, scanProject, selectProject+"WHERE p.id = ? AND ? IN (-1, p.site_id)", id, site)
}

// Projects lists living projects, ascending by id.
func (db *DB) Projects(ctx context.Context, q host.ProjectQuery) ([]host.Project, error) {
	s := selection(selectProject+"WHERE p.deleted_at IS NULL AND p.id > ?", q.After)
	s.when(q.Site != host.AnySite, " AND p.site_id = ?", q.Site)
	s.when(q.Name != "", " AND p.name = ?", q.Name)
	s.when(q.Pattern != "", " AND instr(p.name, ?) > 0", q.Pattern)
	s.when(true, " ORDER BY p.id LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanProject, s)
}

// DeleteProject takes the name away and deletes the schedules. ErrNotFound when it was
// deleted before.
func (db *DB) DeleteProject(ctx context.Context, site, id int64, at time.Time) error {
	return db.acknowledge(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE projects SET deleted_name = name, name = NULL, deleted_at = ? WHERE id = ? AND ? IN (-1, site_id) AND deleted_at IS NULL", at, id, site)
		if err != nil || n == 0 {
			return orNotFound(err, "delete project %d", id)
		}
		if err := c.retire(id); err != nil {
			return err
		}
		_, err = c.exec("DELETE FROM schedules WHERE project_id = ?", id)
		return err
	})
}

// PauseProject sets who has paused a project: see host.Projects.
func (db *DB) PauseProject(ctx context.Context, site, id int64, p host.Pause) error {
	return db.acknowledge(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE projects SET paused_at = ?, paused_by = ?, pause_reason = ? WHERE id = ? AND ? IN (-1, site_id) AND deleted_at IS NULL", p.At, p.By, p.Reason, id, site)
		if err != nil || n == 0 {
			return orNotFound(err, "pause project %d", id)
		}
		return nil
	})
}

// retire takes the definitions of a project's newest revision out of the list of those
// that run.
func (c *conn) retire(project int64) error {
	_, err := c.exec("UPDATE workflow_definitions SET latest_site_id = NULL"+
		" WHERE revision_id = (SELECT latest_revision_id FROM projects WHERE id = ?)", project)
	return err
}

// Revisions lists revisions of a project, newest first.
func (db *DB) Revisions(ctx context.Context, q host.RevisionQuery) ([]host.Revision, error) {
	s := selection("SELECT r.id, r.project_id, r.name, r.created_at, r.archive_path, r.archive_md5, r.user_info, r.archive_state"+
		" FROM revisions r JOIN projects p ON p.id = r.project_id WHERE r.project_id = ? AND p.site_id = ?", q.Project, q.Site)
	s.when(q.Name != "", " AND r.name = ?", q.Name)
	s.when(q.Before > 0, " AND r.id < ?", q.Before)
	s.when(true, " ORDER BY r.id DESC LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanRevision, s)
}

// Sites lists sites that have, or had, projects: one look into the index for each.
func (db *DB) Sites(ctx context.Context, after int64, n int) ([]host.Site, error) {
	var list []host.Site
	err := db.read(ctx, func(c *conn) error {
		for len(list) < n {
			next, found, err := one(c, (*row).id, "SELECT site_id FROM projects WHERE site_id > ? ORDER BY site_id LIMIT 1", after)
			if err != nil || !found {
				return err
			}
			living, _, err := one(c, (*row).int, "SELECT count(*) FROM projects WHERE site_id = ? AND deleted_at IS NULL", next)
			if err != nil {
				return err
			}
			list, after = append(list, host.Site{ID: next, Projects: living}), next
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read sites: %w", err)
	}
	return list, nil
}
