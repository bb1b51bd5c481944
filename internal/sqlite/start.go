package sqlite

import (
	"context"
	"fmt"
	"strconv"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Start makes attempts: see host.Attempts.
func (db *DB) Start(ctx context.Context, list ...host.NewAttempt) ([]host.Attempt, error) {
	s := &starting{db: db, list: list}
	err := db.writer.do(ctx, &write{power: true, run: s.run, after: s.after, undo: s.undo})
	return s.made, err
}

// starting is one call of Start or Begin: the functions of its write.
type starting struct {
	db   *DB
	list []host.NewAttempt
	made []host.Attempt
	sent []*sending
}

func (s *starting) run(c *conn) error {
	s.made, s.sent = nil, nil
	for _, n := range s.list {
		a, err := s.start(c, n)
		if err != nil {
			return err
		}
		s.made = append(s.made, a)
	}
	return nil
}

func (s *starting) after() {
	for _, m := range s.sent {
		m.after()
	}
}

func (s *starting) undo() {
	for _, m := range s.sent {
		m.undo()
	}
	s.sent = nil
}

func (s *starting) start(c *conn, n host.NewAttempt) (host.Attempt, error) {
	var none host.Attempt
	session, last, err := c.sessionOf(n, s.db.uuid)
	if err != nil {
		return none, err
	}
	if err := s.free(c, session, last, n); err != nil {
		return none, err
	}
	if err := c.remembered(n); err != nil {
		return none, err
	}
	var waits any
	if n.WaitsFor >= 0 {
		if n.WaitsFor >= len(s.made) {
			return none, fmt.Errorf("start attempt: it waits for number %d, which is not before it", n.WaitsFor)
		}
		waits = s.made[n.WaitsFor].SessionID
	}
	id, err := c.attempt(n, session, waits)
	if err != nil {
		return none, err
	}
	if last != 0 {
		if _, err := c.exec("UPDATE session_attempts SET retried = 1 WHERE id = ?", last); err != nil {
			return none, err
		}
	}
	if n.WaitsFor < 0 {
		if err := s.enter(c, id, n.First, n.Message); err != nil {
			return none, err
		}
	}
	a, _, err := one(c, scanAttempt, selectAttempt+"WHERE a.id = ?", id)
	return a, err
}

// enter writes entry 1 and sends the first message.
func (s *starting) enter(c *conn, attempt int64, first host.Entry, m host.Message) error {
	if err := c.first(attempt, first); err != nil {
		return err
	}
	m.Group = strconv.FormatInt(attempt, 10)
	m.ID = m.Group + "/" + m.ID
	sent := s.db.Queue("events").sending(m)
	s.sent = append(s.sent, sent)
	return sent.run(c)
}

// free is ErrConflict, with the attempt that is in the way, when the name is taken or the session is to be new and is not.
func (s *starting) free(c *conn, session, last int64, n host.NewAttempt) error {
	id, taken, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE session_id = ? AND attempt_name = ?", session, n.RetryName)
	if err != nil || !taken && (!n.New || last == 0) {
		return err
	}
	if n.RetryName == "" || !taken {
		id = last
	}
	s.made, err = collect(c, scanAttempt, selectAttempt+"WHERE a.id = ?", id)
	if err == nil {
		err = host.ErrConflict
	}
	return err
}

// remembered is ErrForgotten when the session of an attempt that is to be made once was removed.
func (c *conn) remembered(n host.NewAttempt) error {
	if !n.Once {
		return nil
	}
	_, forgotten, err := one(c, (*row).id, "SELECT session_time FROM forgotten_sessions WHERE project_id = ? AND workflow_name = ? AND session_time = ?",
		n.Project.ID, n.Workflow.Name, n.SessionTime)
	if err == nil && forgotten {
		err = host.ErrForgotten
	}
	return err
}

// sessionOf finds the session, or makes it, and returns it with its last attempt, 0 for none.
func (c *conn) sessionOf(n host.NewAttempt, uuid func() string) (session, last int64, err error) {
	err = c.query(func(r *row) { session, last = r.id(), r.id() },
		"SELECT id, last_attempt_id FROM sessions WHERE project_id = ? AND workflow_name = ? AND session_time = ?", n.Project.ID, n.Workflow.Name, n.SessionTime)
	if err != nil || session != 0 {
		return session, last, err
	}
	session, err = c.insert("INSERT INTO sessions (site_id, project_id, workflow_name, session_time, session_uuid) VALUES (?, ?, ?, ?, ?)",
		n.Site, n.Project.ID, n.Workflow.Name, n.SessionTime, uuid())
	return session, 0, err
}

// attempt makes the row, which is then the last one of its session.
func (c *conn) attempt(n host.NewAttempt, session int64, waits any) (int64, error) {
	params := n.Params
	if params == nil {
		params = param.New()
	}
	id, err := c.insert("INSERT INTO session_attempts (session_id, site_id, project_id, workflow_name, workflow_definition_id, attempt_name,"+
		" attempt_index, state_flags, timezone, params, created_at, retried, has_log, dependent_session_id, labels)"+
		" SELECT id, ?2, ?3, ?4, ?5, ?6, attempts + 1, ?12, ?7, ?8, ?9, 0, ?10, ?11, ?13 FROM sessions WHERE id = ?1",
		session, n.Site, n.Project.ID, n.Workflow.Name, n.Workflow.ID, n.RetryName, n.Zone, params, n.CreatedAt, waits == nil, waits, startsFlag(n.StartsAt), n.Labels)
	if err != nil {
		return 0, err
	}
	_, err = c.exec("UPDATE sessions SET last_attempt_id = ?, attempts = attempts + 1 WHERE id = ?", id, session)
	return id, err
}

// Begin starts an attempt that waited: see host.Attempts.
func (db *DB) Begin(ctx context.Context, attempt int64, first host.Entry, m host.Message) error {
	s := &starting{db: db}
	return db.writer.do(ctx, &write{power: true, after: s.after, undo: s.undo, run: func(c *conn) error {
		s.sent = nil
		n, err := c.exec("UPDATE session_attempts SET dependent_session_id = NULL, has_log = 1"+
			" WHERE id = ? AND dependent_session_id IS NOT NULL AND finished_at IS NULL", attempt)
		if err != nil {
			return err
		}
		if n > 0 {
			return s.enter(c, attempt, first, m)
		}
		_, exists, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE id = ?", attempt)
		if err == nil && exists {
			return host.ErrConflict
		}
		return orNotFound(err, "begin attempt %d", attempt)
	}})
}
