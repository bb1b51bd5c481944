package sqlstore

import (
	"context"
	"slices"
	"time"

	"zerodag/internal/host"
)

// Old lists attempts that were created before a time: see host.Retention.
func (s *Store) Old(ctx context.Context, before time.Time, after int64, n int) ([]host.Attempt, error) {
	q := Select(s.texts.attempt+"WHERE a.id > ?", after)
	q.Order("a.id", n)
	list, err := ReadAll(ctx, s, scanAttempt, q)
	i := slices.IndexFunc(list, func(a host.Attempt) bool { return !a.CreatedAt.Before(before) })
	if err != nil || i < 0 {
		return list, err
	}
	// IDs ascend approximately with time, except those of imported attempts.
	list = list[:i]
	if i > 0 {
		after = list[i-1].ID
	}
	// The condition is the same text as that of the index attempts_imported.
	q = Select(s.texts.attempt+"WHERE a.state_flags & 64 <> 0 AND a.id > ? AND a.created_at < ?", after, before)
	q.Order("a.id", n-i)
	older, err := ReadAll(ctx, s, scanAttempt, q)
	return append(list, older...), err
}

// Forget removes a session: see host.Retention. The transaction that removes it also decides whether it may be removed,
// under locks that keep attempts of the session from starting. Before that, the session is only read, because most
// sessions stay, and a write would wait for other writes.
func (s *Store) Forget(ctx context.Context, site, session int64, before time.Time,
	clear func(context.Context, []host.Attempt) error) (bool, error) {
	var list []host.Attempt
	look := func(t tx) (err error) {
		list, err = t.going(site, session, before)
		return err
	}
	if err := s.driver.Read(ctx, func(c Conn) error { return look(tx{c, s}) }); err != nil || len(list) == 0 {
		return false, err
	}
	err := s.write(ctx, func(t tx) error {
		if err := t.holdSession(session); err != nil {
			return err
		}
		if err := look(t); err != nil || len(list) == 0 {
			return err // it was started again, or removed
		}
		return t.forget(session, list)
	})
	if err != nil || len(list) == 0 {
		return false, err
	}
	if clear == nil {
		return true, nil
	}
	return true, clear(ctx, list)
}

// Clear does nothing because Forget removes everything at once.
func (s *Store) Clear(context.Context) error { return nil }

// holdSession locks the rows that decide whether a session may be removed: the session, the next one of its workflow
// (which must not be started again in the meantime), and the schedule (which must not move back). Callers that lock
// several sessions lock the earlier one first.
func (t tx) holdSession(session int64) error {
	if err := t.lock(t, "SELECT id FROM @sessions WHERE id = ?", "FOR UPDATE", session); err != nil {
		return err
	}
	if err := t.lock(t, "SELECT l.id FROM @sessions l WHERE l.id = ("+nextSession+")", "FOR UPDATE", session); err != nil {
		return err
	}
	return t.lock(t, "SELECT s.id FROM @schedules s JOIN @sessions n ON n.project_id = s.project_id"+
		" AND n.workflow_name = s.workflow_name WHERE n.id = ?", "FOR SHARE OF s", session)
}

// nextSession selects the next session of the same workflow.
const nextSession = "SELECT x.id FROM @sessions n JOIN @sessions x ON x.project_id = n.project_id" +
	" AND x.workflow_name = n.workflow_name AND x.session_time > n.session_time WHERE n.id = ?" +
	" ORDER BY x.session_time LIMIT 1"

// going lists a session's attempts if all of them may be removed, or none if one has to stay.
func (t tx) going(site, session int64, before time.Time) ([]host.Attempt, error) {
	list, err := Collect(t, scanAttempt, t.texts.attempt+"WHERE a.session_id = ? AND a.site_id = ? ORDER BY a.id",
		session, site)
	if err != nil || len(list) == 0 || !list[0].SessionTime.Before(before) {
		return nil, err
	}
	if slices.ContainsFunc(list, func(a host.Attempt) bool { return !a.Done || !a.FinishedAt.Before(before) }) {
		return nil, nil
	}
	_, waits, err := One(t, (*Row).ID, "SELECT id FROM @session_attempts WHERE dependent_session_id = ? LIMIT 1", session)
	if err != nil || waits {
		return nil, err
	}
	_, next, err := One(t, (*Row).ID, "SELECT a.id FROM @session_attempts a JOIN @sessions l ON l.last_attempt_id = a.id"+
		" WHERE a.finished_at IS NOT NULL AND l.id = ("+nextSession+")", session)
	if err != nil || !next {
		return nil, err
	}
	a := list[0]
	_, scheduled, err := One(t, (*Row).ID, "SELECT id FROM @schedules WHERE project_id = ? AND workflow_name = ?"+
		" AND next_schedule_time <= ?", a.Project.ID, a.Workflow.Name, a.SessionTime)
	if err != nil || scheduled {
		return nil, err
	}
	return list, nil
}

// forget deletes the rows, and records which session was removed.
func (t tx) forget(session int64, list []host.Attempt) error {
	if _, err := t.Exec("INSERT INTO @forgotten_sessions (project_id, workflow_name, session_time)"+
		" SELECT project_id, workflow_name, session_time FROM @sessions WHERE id = ? ON CONFLICT DO NOTHING",
		session); err != nil {
		return err
	}
	for _, a := range list {
		if err := t.driver.EraseLog(t, a.ID); err != nil {
			return err
		}
		if err := t.Batch(Do("DELETE FROM @task_logs WHERE attempt_id = ?", a.ID),
			Do("DELETE FROM @attempt_archives WHERE attempt_id = ?", a.ID)); err != nil {
			return err
		}
	}
	return t.Batch(Do("DELETE FROM @session_attempts WHERE session_id = ?", session),
		Do("DELETE FROM @sessions WHERE id = ?", session))
}

// SetArchive implements host.Retention.
func (s *Store) SetArchive(ctx context.Context, r host.Revision, old, state host.ArchiveState) error {
	return s.acknowledge(ctx, func(t tx) error {
		text, exists, err := One(t, (*Row).Text, t.locking("SELECT archive_state FROM @revisions"+
			" WHERE id = ? AND project_id = ?", "FOR UPDATE"), r.ID, r.ProjectID)
		switch {
		case err != nil || !exists:
			return OrNotFound(err, "update the state of the archive of revision %d", r.ID)
		case text == state.Text():
			return nil
		case text != old.Text():
			return host.ErrConflict
		}
		var known any // NULL is nothing
		if state.Text() != "" {
			known = state.Text()
		}
		_, err = t.Exec("UPDATE @revisions SET archive_state = ? WHERE id = ?", known, r.ID)
		return err
	})
}

// ForgetRecords implements host.Retention. It stops at the first entry that is not old enough, because IDs ascend
// approximately with time.
func (s *Store) ForgetRecords(ctx context.Context, before time.Time, n int) (gone int, err error) {
	type record struct {
		id int64
		at time.Time
	}
	err = s.write(ctx, func(t tx) error {
		list, err := Collect(t, func(r *Row) record { return record{r.ID(), r.Time()} },
			"SELECT id, at FROM @audits ORDER BY id LIMIT ?", n)
		if err != nil {
			return err
		}
		if gone = slices.IndexFunc(list, func(r record) bool { return !r.at.Before(before) }); gone < 0 {
			gone = len(list)
		}
		if gone == 0 {
			return nil
		}
		_, err = t.Exec("DELETE FROM @audits WHERE id <= ? AND at < ?", list[gone-1].id, before)
		return err
	})
	return gone, err
}
