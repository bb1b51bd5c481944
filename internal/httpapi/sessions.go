package httpapi

import (
	"zerodag/internal/host"
)

// sessionList answers with sessions; a page of none is not asked for.
func (c *call) sessionList(q host.SessionQuery) (any, error) {
	var list []host.Session
	if q.Count > 0 {
		var err error
		q.Bytes = mostListed
		if list, err = c.Node.Sessions(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return collection("sessions", list, session), nil
}

func getSessions(c *call) (any, error) {
	last, size, err := c.page(c.Limits.Sessions)
	if err != nil {
		return nil, err
	}
	return c.sessionList(host.SessionQuery{Site: c.actor.Site, Before: last, Count: size})
}

func getProjectSessions(c *call) (any, error) {
	if _, err := c.id("id"); err != nil {
		return nil, err
	}
	last, size, err := c.page(c.Limits.Sessions)
	if err != nil {
		return nil, err
	}
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	name, byName := c.arg("workflow")
	if byName && name == "" {
		size = 0 // no workflow has an empty name
	}
	return c.sessionList(host.SessionQuery{Site: c.actor.Site, Project: p.ID, Workflow: name, Before: last, Count: size})
}

// sessionOf returns the session of the path.
func (c *call) sessionOf() (host.Session, error) {
	n, err := c.id("id")
	if err != nil {
		return host.Session{}, err
	}
	s, err := c.Node.Session(c.ctx(), c.actor.Site, n)
	return s, found(err, "session id=%d", n)
}

func getSession(c *call) (any, error) {
	s, err := c.sessionOf()
	if err != nil {
		return nil, err
	}
	return session(s), nil
}

func getSessionAttempts(c *call) (any, error) {
	if _, err := c.id("id"); err != nil {
		return nil, err
	}
	last, size, err := c.page(c.Limits.Attempts)
	if err != nil {
		return nil, err
	}
	s, err := c.sessionOf()
	if err != nil {
		return nil, err
	}
	return c.attemptList(host.AttemptQuery{Site: c.actor.Site, Session: s.ID, Retried: true, Before: last, Count: size})
}
