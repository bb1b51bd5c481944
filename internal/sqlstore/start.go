package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Start creates attempts: see host.Attempts.
func (s *Store) Start(ctx context.Context, list ...host.NewAttempt) (made []host.Attempt, err error) {
	err = s.driver.Send(ctx, func(c Conn, begin Begin) error {
		x := &starting{tx: tx{c, s}, begin: begin}
		err := x.all(list)
		made = x.made
		return err
	})
	return made, err
}

// starting is one call to Start, in one run of its transaction.
type starting struct {
	tx
	begin Begin
	made  []host.Attempt
}

func (x *starting) all(list []host.NewAttempt) error {
	for _, n := range list {
		a, err := x.start(n)
		if err != nil {
			return err
		}
		x.made = append(x.made, a)
	}
	return nil
}

func (x *starting) start(n host.NewAttempt) (host.Attempt, error) {
	var none host.Attempt
	session, last, err := x.sessionOf(sessionName{n.Site, n.Project.ID, n.Workflow.Name, n.SessionTime}, x.uuid)
	if err != nil {
		return none, err
	}
	if err := x.free(session, last, n); err != nil {
		return none, err
	}
	if err := x.remembered(n); err != nil {
		return none, err
	}
	var waits any
	if n.WaitsFor >= 0 {
		if n.WaitsFor >= len(x.made) {
			return none, fmt.Errorf("start attempt: it waits for number %d, which does not precede it", n.WaitsFor)
		}
		waits = x.made[n.WaitsFor].SessionID
	}
	id, err := x.add(n, session, waits)
	if err != nil {
		return none, err
	}
	if err := x.becomesLast(session, id, last); err != nil {
		return none, err
	}
	if n.WaitsFor < 0 {
		if err := enter(x.begin, id, false, n.First, n.Message); err != nil {
			return none, err
		}
	}
	a, _, err := One(x, scanAttempt, x.texts.attempt+"WHERE a.id = ?", id)
	return a, err
}

// enter writes entry 1 and sends the first message, in the group of the attempt.
func enter(begin Begin, attempt int64, known bool, first host.Entry, m host.Message) error {
	m.Group = strconv.FormatInt(attempt, 10)
	m.ID = m.Group + "/" + m.ID
	return begin(attempt, known, first, m)
}

// free returns ErrConflict, with the conflicting attempt, if the name is taken or if the session must be new but
// exists.
func (x *starting) free(session, last int64, n host.NewAttempt) error {
	id, taken, err := One(x, (*Row).ID, "SELECT id FROM @session_attempts WHERE session_id = ? AND attempt_name = ?",
		session, n.RetryName)
	if err != nil || !taken && (!n.New || last == 0) {
		return err
	}
	if n.RetryName == "" || !taken {
		id = last
	}
	x.made, err = Collect(x, scanAttempt, x.texts.attempt+"WHERE a.id = ?", id)
	if err == nil {
		err = host.ErrConflict
	}
	return err
}

// remembered returns ErrForgotten if an attempt must be created only once and its session was removed. The session is
// locked, so its removal has either finished or not begun.
func (x *starting) remembered(n host.NewAttempt) error {
	if !n.Once {
		return nil
	}
	forgotten, err := x.forgotten(n.Project.ID, n.Workflow.Name, n.SessionTime)
	if err == nil && forgotten {
		err = host.ErrForgotten
	}
	return err
}

// forgotten reports whether retention has removed a session.
func (t tx) forgotten(project int64, workflow string, at time.Time) (bool, error) {
	_, forgotten, err := One(t, (*Row).ID, "SELECT session_time FROM @forgotten_sessions WHERE project_id = ?"+
		" AND workflow_name = ? AND session_time = ?", project, workflow, at)
	return forgotten, err
}

// sessionName identifies a session.
type sessionName struct {
	site, project int64
	workflow      string
	time          time.Time
}

// sessionOf finds or creates the session, and returns it with its last attempt (0 if there is none). The session is
// locked until the end of the transaction: its attempts are created one after the other, and not while retention
// decides whether to remove it.
func (t tx) sessionOf(n sessionName, uuid func() string) (session, last int64, err error) {
	for range tries {
		err = t.Query(func(r *Row) { session, last = r.ID(), r.ID() },
			t.locking("SELECT id, last_attempt_id FROM @sessions WHERE project_id = ? AND workflow_name = ?"+
				" AND session_time = ?", "FOR UPDATE"), n.project, n.workflow, n.time)
		if err != nil || session != 0 {
			return session, last, err
		}
		session, err = t.Insert("INSERT INTO @sessions (site_id, project_id, workflow_name, session_time, session_uuid)"+
			" VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", n.site, n.project, n.workflow, n.time, uuid())
		if err != nil || session != 0 {
			return session, 0, err
		} // another transaction created or removed it in the meantime
	}
	return 0, 0, fmt.Errorf("start attempt: %w: its session keeps being created and removed", host.ErrUnavailable)
}

// add inserts the row.
func (x *starting) add(n host.NewAttempt, session int64, waits any) (int64, error) {
	params := n.Params
	if params == nil {
		params = param.New()
	}
	id, err := x.Insert("INSERT INTO @session_attempts (session_id, site_id, project_id, workflow_name,"+
		" workflow_definition_id, attempt_name, attempt_index, state_flags, timezone, params, created_at, retried,"+
		" has_log, dependent_session_id, labels) SELECT id, ?, ?, ?, ?, ?, attempts + 1, ?, ?, ?, ?, ?, ?, ?, ?"+
		" FROM @sessions WHERE id = ?",
		n.Site, n.Project.ID, n.Workflow.Name, n.Workflow.ID, n.RetryName,
		startsFlag(n.StartsAt), n.Zone, params, n.CreatedAt, false, waits == nil, waits, n.Labels, session)
	return id, err
}

// becomesLast makes an attempt the last one of its session, after the attempt last (0 if it is the first).
func (t tx) becomesLast(session, id, last int64) error {
	_, err := t.Exec("UPDATE @sessions SET last_attempt_id = ?, attempts = attempts + 1 WHERE id = ?", id, session)
	if err == nil && last != 0 {
		_, err = t.Exec("UPDATE @session_attempts SET retried = ? WHERE id = ?", true, last)
	}
	return err
}

// Begin starts an attempt that waited: see host.Attempts.
func (s *Store) Begin(ctx context.Context, attempt int64, first host.Entry, m host.Message) error {
	return s.driver.Send(ctx, func(c Conn, begin Begin) error {
		n, err := c.Exec("UPDATE @session_attempts SET dependent_session_id = NULL, has_log = ? WHERE id = ?"+
			" AND dependent_session_id IS NOT NULL AND finished_at IS NULL", true, attempt)
		if err != nil {
			return err
		}
		if n > 0 {
			return enter(begin, attempt, true, first, m)
		}
		_, exists, err := One(c, (*Row).ID, "SELECT id FROM @session_attempts WHERE id = ?", attempt)
		if err == nil && exists {
			return host.ErrConflict
		}
		return OrNotFound(err, "begin attempt %d", attempt)
	})
}
