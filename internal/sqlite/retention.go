package sqlite

import (
	"context"
	"slices"
	"time"

	"zerodag/internal/host"
)

// Old lists attempts that were made before t: see host.Retention.
func (db *DB) Old(ctx context.Context, t time.Time, after int64, n int) ([]host.Attempt, error) {
	list, err := readAll(ctx, db, scanAttempt, selection(selectAttempt+"WHERE a.id > ? ORDER BY a.id LIMIT ?", after, limit(n)))
	if i := slices.IndexFunc(list, func(a host.Attempt) bool { return !a.CreatedAt.Before(t) }); i >= 0 {
		list = list[:i] // ids ascend with time
	}
	return list, err
}

// Forget removes a session: see host.Retention. What may go is judged in the transaction that removes it, so
// that no attempt is started in between. Before that it is only read, since most that is asked for stays, and
// a write waits for others.
func (db *DB) Forget(ctx context.Context, site, session int64, t time.Time, clear func(context.Context, []host.Attempt) error) (bool, error) {
	var list []host.Attempt
	look := func(c *conn) (err error) {
		list, err = c.going(site, session, t)
		return err
	}
	if err := db.read(ctx, look); err != nil || len(list) == 0 {
		return false, err
	}
	err := db.write(ctx, func(c *conn) error {
		if err := look(c); err != nil || len(list) == 0 {
			return err // it was started again, or removed
		}
		return c.forget(session, list)
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	if clear == nil {
		return true, nil
	}
	return true, clear(ctx, list)
}

// Clear has nothing to do: what Forget removes goes at once.
func (db *DB) Clear(context.Context) error { return nil }

// going lists the attempts of a session if all may go; none when one has to stay.
func (c *conn) going(site, session int64, t time.Time) ([]host.Attempt, error) {
	list, err := collect(c, scanAttempt, selectAttempt+"WHERE a.session_id = ? AND a.site_id = ? ORDER BY a.id", session, site)
	if err != nil || slices.ContainsFunc(list, func(a host.Attempt) bool { return !a.Done || !a.FinishedAt.Before(t) }) {
		return nil, err
	}
	if len(list) == 0 || !list[0].SessionTime.Before(t) {
		return nil, nil
	}
	_, waits, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE dependent_session_id = ? LIMIT 1", session)
	if err != nil || waits {
		return nil, err
	}
	_, next, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE finished_at IS NOT NULL AND id = ("+
		"SELECT l.last_attempt_id FROM sessions n JOIN sessions l ON l.project_id = n.project_id AND l.workflow_name = n.workflow_name AND l.session_time > n.session_time"+
		" WHERE n.id = ? ORDER BY l.session_time LIMIT 1)", session)
	if err != nil || !next {
		return nil, err
	}
	a := list[0]
	_, scheduled, err := one(c, (*row).id, "SELECT id FROM schedules WHERE project_id = ? AND workflow_name = ? AND next_schedule_time <= ?", a.Project.ID, a.Workflow.Name, a.SessionTime)
	if err != nil || scheduled {
		return nil, err
	}
	return list, nil
}

// forget deletes the rows, and notes which session that was.
func (c *conn) forget(session int64, list []host.Attempt) error {
	if _, err := c.exec("INSERT OR IGNORE INTO forgotten_sessions (project_id, workflow_name, session_time) SELECT project_id, workflow_name, session_time FROM sessions WHERE id = ?", session); err != nil {
		return err
	}
	for _, a := range list {
		if err := c.expire(a.ID); err != nil {
			return err
		}
		for _, table := range []string{"task_logs", "attempt_archives"} {
			if _, err := c.exec("DELETE FROM "+table+" WHERE attempt_id = ?", a.ID); err != nil {
				return err
			}
		}
	}
	for _, rows := range []string{"session_attempts WHERE session_id = ?", "sessions WHERE id = ?"} {
		if _, err := c.exec("DELETE FROM "+rows, session); err != nil {
			return err
		}
	}
	return nil
}

// archiveState reads what is known of an archive; NULL is nothing.
func (r *row) archiveState() host.ArchiveState {
	s, err := host.ParseArchiveState(r.text())
	if err != nil {
		r.err = err
	}
	return s
}

// SetArchive implements host.Retention.
func (db *DB) SetArchive(ctx context.Context, r host.Revision, old, state host.ArchiveState) error {
	return db.acknowledge(ctx, func(c *conn) error {
		text, exists, err := one(c, (*row).text, "SELECT archive_state FROM revisions WHERE id = ? AND project_id = ?", r.ID, r.ProjectID)
		switch {
		case err != nil || !exists:
			return orNotFound(err, "change what is known of the archive of revision %d", r.ID)
		case text == state.Text():
			return nil
		case text != old.Text():
			return host.ErrConflict
		}
		_, err = c.exec("UPDATE revisions SET archive_state = nullif(?, '') WHERE id = ?", state.Text(), r.ID)
		return err
	})
}

// ForgetRecords implements host.Retention. It stops at the first entry that is not old enough, since ids
// ascend with time.
func (db *DB) ForgetRecords(ctx context.Context, t time.Time, n int) (int, error) {
	type record struct {
		id int64
		at time.Time
	}
	gone := 0
	err := db.write(ctx, func(c *conn) error {
		list, err := collect(c, func(r *row) record { return record{r.id(), r.time()} }, "SELECT id, at FROM audits ORDER BY id LIMIT ?", n)
		if err != nil {
			return err
		}
		if gone = slices.IndexFunc(list, func(r record) bool { return !r.at.Before(t) }); gone < 0 {
			gone = len(list)
		}
		if gone == 0 {
			return nil
		}
		_, err = c.exec("DELETE FROM audits WHERE id <= ?", list[gone-1].id)
		return err
	})
	return gone, err
}
