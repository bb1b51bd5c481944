package postgres

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
		list = list[:i] // ids ascend with time, about
	}
	return list, err
}

// Forget removes a session: see host.Retention. What may go is judged in the transaction that removes it, under locks that
// whoever starts an attempt of it waits for. Before that it is only read, since most that is asked for stays.
func (db *DB) Forget(ctx context.Context, site, session int64, t time.Time, clear func(context.Context, []host.Attempt) error) (bool, error) {
	var list []host.Attempt
	if err := db.read(ctx, func(c *conn) (err error) {
		list, err = c.going(site, session, t)
		return err
	}); err != nil || len(list) == 0 {
		return false, err
	}
	err := db.write(ctx, func(c *conn) error {
		if err := c.holdSession(session); err != nil {
			return err
		}
		going, err := c.going(site, session, t)
		list = going
		if err != nil || len(list) == 0 {
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

// holdSession locks what is looked at to judge a session: itself, the next one of its workflow, which must not be started
// again meanwhile, and the schedule, which must not move back. All who hold several sessions for this take the earlier one
// first.
func (c *conn) holdSession(session int64) error {
	if _, err := c.exec("SELECT id FROM sessions WHERE id = $1 FOR UPDATE", session); err != nil {
		return err
	}
	if _, err := c.exec("SELECT l.id FROM sessions l WHERE l.id = ("+nextSession+") FOR UPDATE", session); err != nil {
		return err
	}
	_, err := c.exec("SELECT s.id FROM schedules s JOIN sessions n ON n.project_id = s.project_id AND n.workflow_name = s.workflow_name WHERE n.id = $1 FOR SHARE OF s", session)
	return err
}

// nextSession is the session of the same workflow behind one.
const nextSession = "SELECT x.id FROM sessions n JOIN sessions x ON x.project_id = n.project_id AND x.workflow_name = n.workflow_name AND x.session_time > n.session_time" +
	" WHERE n.id = $1 ORDER BY x.session_time LIMIT 1"

// going lists the attempts of a session if all may go; none when one has to stay.
func (c *conn) going(site, session int64, t time.Time) ([]host.Attempt, error) {
	list, err := collect(c, scanAttempt, selectAttempt+"WHERE a.session_id = $1 AND a.site_id = $2 ORDER BY a.id", session, site)
	if err != nil || slices.ContainsFunc(list, func(a host.Attempt) bool { return !a.Done || !a.FinishedAt.Before(t) }) {
		return nil, err
	}
	if len(list) == 0 || !list[0].SessionTime.Before(t) {
		return nil, nil
	}
	_, waits, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE dependent_session_id = $1 LIMIT 1", session)
	if err != nil || waits {
		return nil, err
	}
	_, next, err := one(c, (*row).id, "SELECT a.id FROM session_attempts a JOIN sessions l ON l.last_attempt_id = a.id WHERE a.finished_at IS NOT NULL AND l.id = ("+nextSession+")", session)
	if err != nil || !next {
		return nil, err
	}
	a := list[0]
	_, scheduled, err := one(c, (*row).id, "SELECT id FROM schedules WHERE project_id = $1 AND workflow_name = $2 AND next_schedule_time <= $3", a.Project.ID, a.Workflow.Name, a.SessionTime)
	if err != nil || scheduled {
		return nil, err
	}
	return list, nil
}

// forget deletes the rows, and notes which session that was.
func (c *conn) forget(session int64, list []host.Attempt) error {
	if _, err := c.exec("INSERT INTO forgotten_sessions (project_id, workflow_name, session_time) SELECT project_id, workflow_name, session_time FROM sessions WHERE id = $1"+
		" ON CONFLICT DO NOTHING", session); err != nil {
		return err
	}
	for _, a := range list {
		if err := c.expire(a.ID); err != nil {
			return err
		}
		if _, err := c.together(statement{"DELETE FROM task_logs WHERE attempt_id = $1", []any{a.ID}},
			statement{"DELETE FROM attempt_archives WHERE attempt_id = $1", []any{a.ID}}); err != nil {
			return err
		}
	}
	_, err := c.together(statement{"DELETE FROM session_attempts WHERE session_id = $1", []any{session}},
		statement{"DELETE FROM sessions WHERE id = $1", []any{session}})
	return err
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
	return db.write(ctx, func(c *conn) error {
		text, exists, err := one(c, (*row).text, "SELECT archive_state FROM revisions WHERE id = $1 AND project_id = $2 FOR UPDATE", r.ID, r.ProjectID)
		switch {
		case err != nil || !exists:
			return orNotFound(err, "change what is known of the archive of revision %d", r.ID)
		case text == state.Text():
			return nil
		case text != old.Text():
			return host.ErrConflict
		}
		_, err = c.exec("UPDATE revisions SET archive_state = nullif($1, ''::bytea) WHERE id = $2", state.Text(), r.ID)
		return err
	})
}

// ForgetRecords implements host.Retention. It stops at the first entry that is not old enough, since ids
// ascend with time, about.
func (db *DB) ForgetRecords(ctx context.Context, t time.Time, n int) (int, error) {
	type record struct {
		id int64
		at time.Time
	}
	gone := 0
	err := db.write(ctx, func(c *conn) error {
		list, err := collect(c, func(r *row) record { return record{r.id(), r.time()} }, "SELECT id, at FROM audits ORDER BY id LIMIT $1", n)
		if err != nil {
			return err
		}
		if gone = slices.IndexFunc(list, func(r record) bool { return !r.at.Before(t) }); gone < 0 {
			gone = len(list)
		}
		if gone == 0 {
			return nil
		}
		_, err = c.exec("DELETE FROM audits WHERE id <= $1 AND at < $2", list[gone-1].id, t)
		return err
	})
	return gone, err
}
