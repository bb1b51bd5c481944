package postgres

import (
	"context"
	"fmt"
	"strconv"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Start makes attempts: see host.Attempts.
func (db *DB) Start(ctx context.Context, list ...host.NewAttempt) (made []host.Attempt, err error) {
	err = db.write(ctx, func(c *conn) error {
		s := &starting{db: db, conn: c}
		err := s.startAll(list)
		made = s.made
		return err
	})
	return made, err
}

// starting is one call of Start, in one try of its transaction.
type starting struct {
	db *DB
	*conn
	made []host.Attempt
}

func (s *starting) startAll(list []host.NewAttempt) error {
	for _, n := range list {
		a, err := s.start(n)
		if err != nil {
			return err
		}
		s.made = append(s.made, a)
	}
	return nil
}

func (s *starting) start(n host.NewAttempt) (host.Attempt, error) {
	var none host.Attempt
	session, last, err := s.sessionOf(n, s.db.uuid)
	if err != nil {
		return none, err
	}
	if err := s.free(session, last, n); err != nil {
		return none, err
	}
	if err := s.remembered(n); err != nil {
		return none, err
	}
	var waits any
	if n.WaitsFor >= 0 {
		if n.WaitsFor >= len(s.made) {
			return none, fmt.Errorf("start attempt: it waits for number %d, which is not before it", n.WaitsFor)
		}
		waits = s.made[n.WaitsFor].SessionID
	}
	id, err := s.attempt(n, session, waits)
	if err != nil {
		return none, err
	}
	if last != 0 {
		if _, err := s.exec("UPDATE session_attempts SET retried = true WHERE id = $1", last); err != nil {
			return none, err
		}
	}
	if n.WaitsFor < 0 {
		if err := s.db.enter(s.conn, id, false, n.First, n.Message); err != nil {
			return none, err
		}
	}
	a, _, err := one(s.conn, scanAttempt, selectAttempt+"WHERE a.id = $1", id)
	return a, err
}

// enter writes entry 1 and sends the first message. Of an attempt that this transaction makes nobody else knows.
func (db *DB) enter(c *conn, attempt int64, known bool, first host.Entry, m host.Message) error {
	if err := c.first(attempt, first); err != nil {
		return err
	}
	m.Group = strconv.FormatInt(attempt, 10)
	m.ID = m.Group + "/" + m.ID
	return db.Queue("events").send(c, known, m)
}

// free is ErrConflict, with the attempt that is in the way, when the name is taken or the session is to be new and is not.
func (s *starting) free(session, last int64, n host.NewAttempt) error {
	id, taken, err := one(s.conn, (*row).id, "SELECT id FROM session_attempts WHERE session_id = $1 AND attempt_name = $2", session, n.RetryName)
	if err != nil || !taken && (!n.New || last == 0) {
		return err
	}
	if n.RetryName == "" || !taken {
		id = last
	}
	s.made, err = collect(s.conn, scanAttempt, selectAttempt+"WHERE a.id = $1", id)
	if err == nil {
		err = host.ErrConflict
	}
	return err
}

// remembered is ErrForgotten when the session of an attempt that is to be made once was removed. The session is locked, so
// its removal is over or has not begun.
func (c *conn) remembered(n host.NewAttempt) error {
	if !n.Once {
		return nil
	}
	_, forgotten, err := one(c, (*row).id, "SELECT session_time FROM forgotten_sessions WHERE project_id = $1 AND workflow_name = $2 AND session_time = $3",
		n.Project.ID, n.Workflow.Name, n.SessionTime)
	if err == nil && forgotten {
		err = host.ErrForgotten
	}
	return err
}

// sessionOf finds the session, or makes it, and returns it with its last attempt, 0 for none. It is locked until the end of
// the transaction: its attempts are made one after the other, and not while retention judges it.
func (c *conn) sessionOf(n host.NewAttempt, uuid func() string) (session, last int64, err error) {
	for range tries {
		err = c.query(func(r *row) { session, last = r.id(), r.id() },
			"SELECT id, last_attempt_id FROM sessions WHERE project_id = $1 AND workflow_name = $2 AND session_time = $3 FOR UPDATE", n.Project.ID, n.Workflow.Name, n.SessionTime)
		if err != nil || session != 0 {
			return session, last, err
		}
		session, err = c.insert("INSERT INTO sessions (site_id, project_id, workflow_name, session_time, session_uuid) VALUES ($1, $2, $3, $4, $5)"+
			" ON CONFLICT DO NOTHING RETURNING id", n.Site, n.Project.ID, n.Workflow.Name, n.SessionTime, uuid())
		if err != nil || session != 0 {
			return session, 0, err
		} // another transaction has made it, or removed it, in between
	}
	return 0, 0, fmt.Errorf("start attempt: %w: its session comes and goes", host.ErrUnavailable)
}

// attempt makes the row, which is then the last one of its session.
func (c *conn) attempt(n host.NewAttempt, session int64, waits any) (int64, error) {
	params := n.Params
	if params == nil {
		params = param.New()
	}
	id, err := c.insert("INSERT INTO session_attempts (session_id, site_id, project_id, workflow_name, workflow_definition_id, attempt_name,"+
		" attempt_index, state_flags, timezone, params, created_at, retried, has_log, dependent_session_id, labels)"+
		" SELECT id, $2, $3, $4, $5, $6, attempts + 1, $12, $7, $8, $9, false, $10, $11, $13 FROM sessions WHERE id = $1 RETURNING id",
		session, n.Site, n.Project.ID, n.Workflow.Name, n.Workflow.ID, n.RetryName, n.Zone, params, n.CreatedAt, waits == nil, waits, startsFlag(n.StartsAt), n.Labels)
	if err != nil {
		return 0, err
	}
	_, err = c.exec("UPDATE sessions SET last_attempt_id = $1, attempts = attempts + 1 WHERE id = $2", id, session)
	return id, err
}

// Begin starts an attempt that waited: see host.Attempts.
func (db *DB) Begin(ctx context.Context, attempt int64, first host.Entry, m host.Message) error {
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE session_attempts SET dependent_session_id = NULL, has_log = true"+
			" WHERE id = $1 AND dependent_session_id IS NOT NULL AND finished_at IS NULL", attempt)
		if err != nil {
			return err
		}
		if n > 0 {
			return db.enter(c, attempt, true, first, m)
		}
		_, exists, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE id = $1", attempt)
		if err == nil && exists {
			return host.ErrConflict
		}
		return orNotFound(err, "begin attempt %d", attempt)
	})
}
