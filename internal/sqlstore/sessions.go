package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

func scanSession(r *Row) host.Session {
	return host.Session{ID: r.ID(), Site: r.ID(), Project: scanRef(r), Workflow: scanRef(r), UUID: r.Text(),
		Time: r.Time(), Last: scanAttempt(r)}
}

// Session returns a session with its last attempt.
func (s *Store) Session(ctx context.Context, site, id int64) (host.Session, error) {
	return ReadOne(ctx, s, scanSession, Select(s.texts.session+"WHERE n.id = ?", id).ofSite("n.site_id", site))
}

// Sessions lists sessions in descending order of id.
func (s *Store) Sessions(ctx context.Context, q host.SessionQuery) ([]host.Session, error) {
	if q.Times != nil {
		return s.sessionsAt(ctx, q)
	}
	list := Select(s.texts.session+"WHERE n.site_id = ?", q.Site)
	list.When(q.Project != 0, " AND n.project_id = ?", q.Project)
	list.When(q.Workflow != "", " AND n.workflow_name = ?", q.Workflow)
	list.When(q.Before != 0, " AND n.id < ?", q.Before)
	list.Order("n.id DESC", q.Count)
	return readPage(ctx, s, scanSession, func(s host.Session) *param.Map { return s.Last.Params }, q.Bytes, list)
}

// sessionsAt returns the sessions that exist at the given times.
func (s *Store) sessionsAt(ctx context.Context, q host.SessionQuery) (list []host.Session, err error) {
	for _, t := range q.Times {
		found, err := ReadAll(ctx, s, scanSession, Select(s.texts.session+
			"WHERE n.project_id = ? AND n.workflow_name = ? AND n.session_time = ? AND n.site_id = ?",
			q.Project, q.Workflow, t, q.Site))
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b host.Session) int { return cmp.Compare(b.ID, a.ID) })
	return list, nil
}

// LastSession returns the newest session time of a workflow before t, or zero if there is none.
func (s *Store) LastSession(ctx context.Context, project int64, workflow string, t time.Time) (time.Time, error) {
	return ReadOne(ctx, s, (*Row).Time,
		Select("SELECT max(session_time) FROM @sessions WHERE project_id = ? AND workflow_name = ? AND session_time < ?",
			project, workflow, t))
}
