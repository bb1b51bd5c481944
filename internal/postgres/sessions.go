package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

const selectSession = "SELECT n.id, n.site_id, n.project_id, coalesce(p.name, p.deleted_name), a.workflow_definition_id, n.workflow_name, n.session_uuid, n.session_time, " +
	attemptColumns + " FROM sessions n JOIN session_attempts a ON a.id = n.last_attempt_id JOIN projects p ON p.id = n.project_id "

func scanSession(r *row) host.Session {
	return host.Session{ID: r.id(), Site: r.id(), Project: scanRef(r), Workflow: scanRef(r), UUID: r.text(), Time: r.time(), Last: scanAttempt(r)}
}

// Session returns a session with its last attempt.
func (db *DB) Session(ctx context.Context, site, id int64) (host.Session, error) {
	return readOne(ctx, db, scanSession, selection(selectSession+"WHERE n.id = ? AND ?::bigint IN (-1, n.site_id)", id, site))
}

// Sessions lists sessions, descending by id.
func (db *DB) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	if q.Times != nil {
		return db.sessionsAt(ctx, q)
	}
	s := selection(selectSession+"WHERE n.site_id = ?", q.Site)
	s.when(q.Project != 0, " AND n.project_id = ?", q.Project)
	s.when(q.Workflow != "", " AND n.workflow_name = ?", q.Workflow)
	s.when(q.Before != 0, " AND n.id < ?", q.Before)
	s.when(true, " ORDER BY n.id DESC LIMIT ?", limit(q.Count))
	return readPage(ctx, db, scanSession, func(s host.Session) *param.Map { return s.Last.Params }, q.Bytes, s)
}

// Attempts lists attempts, descending by id.
func (db *DB) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	s := selection(selectAttempt+"WHERE a.site_id = ?", q.Site)
	s.when(q.Session != 0, " AND a.session_id = ?", q.Session)
	s.when(!q.Retried, " AND NOT a.retried")
	s.when(q.Project != 0, " AND a.project_id = ?", q.Project)
	s.when(q.Workflow != "", " AND a.workflow_name = ?", q.Workflow)
	s.when(q.Before != 0, " AND a.id < ?", q.Before)
	s.when(true, " ORDER BY a.id DESC LIMIT ?", limit(q.Count))
	return readPage(ctx, db, scanAttempt, func(a host.Attempt) *param.Map { return a.Params }, q.Bytes, s)
}

// Active lists unfinished attempts, ascending by id.
func (db *DB) Active(ctx context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	s := selection(selectAttempt+"WHERE a.finished_at IS NULL AND a.id > ?", q.After)
	s.when(q.Site >= 0, " AND a.site_id = ?", q.Site)
	s.when(true, " ORDER BY a.id LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanAttempt, s)
}

// CountActive counts unfinished attempts of a site, up to a limit.
func (db *DB) CountActive(ctx context.Context, site int64, most int) (int, error) {
	return readOne(ctx, db, (*row).int,
		selection("SELECT count(*) FROM (SELECT 1 FROM session_attempts WHERE finished_at IS NULL AND site_id = ? LIMIT ?) AS few", site, limit(most)))
}

// Waiting lists attempts that wait for a session.
func (db *DB) Waiting(ctx context.Context, session int64) ([]host.Attempt, error) {
	return readAll(ctx, db, scanAttempt, selection(selectAttempt+"WHERE a.dependent_session_id = ? ORDER BY a.id", session))
}

// sessionsAt are the sessions that there are of some times.
func (db *DB) sessionsAt(ctx context.Context, q host.SessionQuery) (list []host.Session, err error) {
	for _, t := range q.Times {
		found, err := readAll(ctx, db, scanSession, selection(selectSession+"WHERE n.project_id = ? AND n.workflow_name = ? AND n.session_time = ? AND n.site_id = ?", q.Project, q.Workflow, t, q.Site))
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b host.Session) int { return cmp.Compare(b.ID, a.ID) })
	return list, nil
}

// LastSession is the newest session time of a workflow before t; zero for none.
func (db *DB) LastSession(ctx context.Context, project int64, workflow string, t time.Time) (time.Time, error) {
	return readOne(ctx, db, (*row).time,
		selection("SELECT max(session_time) FROM sessions WHERE project_id = ? AND workflow_name = ? AND session_time < ?", project, workflow, t))
}
