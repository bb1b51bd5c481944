package httpapi

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// sessionList answers with sessions; a page of none is not asked for.
func (c *call) sessionList(q host.SessionQuery) (any, error) {
	if c.searches() {
		return c.searchSessions(q)
	}
	var list []host.Session
	if q.Count > 0 {
		var err error
		q.Bytes = wire.MostListed
		if list, err = c.Node.Sessions(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("sessions", list, wire.SessionOf), nil
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
	return s, wire.OrMissing(err, "session id=%d", n)
}

func getSession(c *call) (any, error) {
	s, err := c.sessionOf()
	if err != nil {
		return nil, err
	}
	return wire.SessionOf(s), nil
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

// searches says whether sessions are asked for by what they are like.
func (c *call) searches() bool {
	return slices.ContainsFunc([]string{"tag", "label", "status", "from", "to", "q"}, func(name string) bool {
		_, given := c.arg(name)
		return given
	})
}

// mostSearched is how many sessions are looked at for an answer.
const mostSearched = 10_000

func (c *call) searchSessions(q host.SessionQuery) (any, error) {
	f, err := c.sessionFilter("status")
	if err != nil {
		return nil, err
	}
	if len(f.Text) > mostQuery {
		return nil, wire.Invalid("q= may have %d bytes at most", mostQuery)
	}
	var p console.SessionPage
	if q.Count > 0 {
		f.Project, f.Workflow, f.Before, f.Count = q.Project, q.Workflow, q.Before, q.Count
		f.InFile, f.Most, f.Bytes = true, mostSearched, wire.MostListed
		if p, err = c.console.Sessions(c.ctx(), f); err != nil {
			return nil, err
		}
	}
	return wire.Searched{Sessions: wire.Each(p.Sessions, wire.SessionOf), Searched: p.Searched, Complete: !p.Cut, Next: wire.OrNull(p.Next)}, nil
}

// states are the words of the states of sessions.
var states = []string{"running", "success", "error", "killed"}

// sessionFilter reads what sessions are to be like. The states are in a parameter of a name.
func (c *call) sessionFilter(stateName string) (console.SessionFilter, error) {
	f := console.SessionFilter{Site: c.actor.Site, Text: c.text("q"), Tags: c.list("tag"), Labels: c.list("label"), States: map[string]bool{}}
	var err error
	if f.From, err = c.bound("from"); err != nil {
		return f, err
	}
	if f.Until, err = c.bound("to"); err != nil {
		return f, err
	}
	if len(f.Tags)+len(f.Labels) > keys.MostTags {
		return f, wire.Invalid("tag= and label= may be given %d times at most", keys.MostTags)
	}
	if slices.Contains(f.Tags, "") {
		return f, wire.Invalid("tag= must name a tag, such as daily or team=sales")
	}
	for _, label := range f.Labels {
		name, value, isPair := strings.Cut(label, "=")
		if !isPair {
			return f, wire.Invalid("label= must be a name and a value, as label=team=sales, not %q", label)
		}
		if fault := keys.LabelFault(name, value); fault != "" {
			return f, wire.Invalid("label=: a label's %s", fault)
		}
	}
	for _, list := range c.list(stateName) {
		for state := range strings.SplitSeq(list, ",") {
			if !slices.Contains(states, state) {
				return f, wire.Invalid("%s= must be one of %s, or several with commas, not %q", stateName, strings.Join(states, ", "), state)
			}
			f.States[state] = true
		}
	}
	return f, nil
}

// bound reads a session time of the query; zero when it was not given.
func (c *call) bound(name string) (console.Bound, error) {
	text := c.text(name)
	if text == "" {
		return console.Bound{}, nil
	}
	if t, err := wire.ParseInstant(text); err == nil {
		return console.Bound{At: t}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return console.Bound{At: t, Local: true}, nil
		}
	}
	return console.Bound{}, wire.Invalid("%s= must be a date, or a date and time, in the zone of each session or with an offset or Z, as 2026-01-31T00:00:00Z, not %q", name, text)
}
