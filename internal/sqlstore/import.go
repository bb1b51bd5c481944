package sqlstore

import (
	"context"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Import adds attempts from another server: see host.Attempts.
func (s *Store) Import(ctx context.Context, list ...host.PastAttempt) (added int, err error) {
	err = s.acknowledge(ctx, func(t tx) error {
		added = 0
		for _, p := range list {
			is, err := t.importOne(p)
			if err != nil {
				return err
			}
			if is {
				added++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

func (t tx) importOne(p host.PastAttempt) (added bool, err error) {
	// Before the session is created: nothing else would remove one without attempts.
	if forgotten, err := t.forgotten(p.Project.ID, p.Workflow.Name, p.SessionTime); err != nil || forgotten {
		return false, err
	}
	name := sessionName{p.Site, p.Project.ID, p.Workflow.Name, p.SessionTime}
	session, last, err := t.sessionOf(name, func() string { return p.SessionUUID })
	if err != nil {
		return false, err
	}
	_, taken, err := One(t, (*Row).ID, "SELECT id FROM @session_attempts WHERE session_id = ?"+
		" AND (attempt_name = ? OR state_flags & ? = 0 OR created_at > ?)", session, p.RetryName, imported, p.CreatedAt)
	if err != nil || taken {
		return false, err
	}
	params := p.Params
	if params == nil {
		params = param.New()
	}
	flags := done | imported | bit(p.Success, success) | bit(p.Canceled, Canceled)
	id, err := t.Insert("INSERT INTO @session_attempts (session_id, site_id, project_id, workflow_name,"+
		" workflow_definition_id, attempt_name, attempt_index, state_flags, timezone, params, created_at, finished_at,"+
		" retried, has_log) SELECT id, ?, ?, ?, ?, ?, attempts + 1, ?, ?, ?, ?, ?, ?, ? FROM @sessions WHERE id = ?",
		p.Site, p.Project.ID, p.Workflow.Name, p.Workflow.ID, p.RetryName, flags, p.Zone, params, p.CreatedAt,
		p.FinishedAt, false, false, session)
	if err != nil {
		return false, err
	}
	return true, t.becomesLast(session, id, last)
}
