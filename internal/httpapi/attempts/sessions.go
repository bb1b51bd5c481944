package attempts

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine/dig/keys"
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// sessionList responds with sessions; for a page size of 0 it does not query the store.
func sessionList(c *endpoint.Call, q host.SessionQuery) (any, error) {
	if searches(c) {
		return searchSessions(c, q)
	}
	var list []host.Session
	if q.Count > 0 {
		var err error
		q.Bytes = wire.MostListed
		if list, err = c.Node.Sessions(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("sessions", list, wire.SessionOf), nil
}

func getSessions(c *endpoint.Call) (any, error) {
	last, size, err := c.Page(c.Limits.Sessions)
	if err != nil {
		return nil, err
	}
	return sessionList(c, host.SessionQuery{Site: c.Actor.Site, Before: last, Count: size})
}

func getProjectSessions(c *endpoint.Call) (any, error) {
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	last, size, err := c.Page(c.Limits.Sessions)
	if err != nil {
		return nil, err
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	name, byName := c.Arg("workflow")
	if byName && name == "" {
		size = 0 // no workflow has an empty name, so the list is empty
	}
	return sessionList(c, host.SessionQuery{Site: c.Actor.Site, Project: p.ID, Workflow: name, Before: last, Count: size})
}

// sessionOf returns the session that the path names.
func sessionOf(c *endpoint.Call) (host.Session, error) {
	n, err := c.ID("id")
	if err != nil {
		return host.Session{}, err
	}
	s, err := c.Node.Session(c.Ctx(), c.Actor.Site, n)
	return s, wire.OrMissing(err, "session id=%d", n)
}

func getSession(c *endpoint.Call) (any, error) {
	s, err := sessionOf(c)
	if err != nil {
		return nil, err
	}
	return wire.SessionOf(s), nil
}

func getSessionAttempts(c *endpoint.Call) (any, error) {
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	last, size, err := c.Page(c.Limits.Attempts)
	if err != nil {
		return nil, err
	}
	s, err := sessionOf(c)
	if err != nil {
		return nil, err
	}
	return attemptList(c, host.AttemptQuery{Site: c.Actor.Site, Session: s.ID, Retried: true, Before: last, Count: size})
}

// searches reports whether the request filters sessions by their properties.
func searches(c *endpoint.Call) bool {
	return slices.ContainsFunc([]string{"tag", "label", "status", "from", "to", "q"}, func(name string) bool {
		_, given := c.Arg(name)
		return given
	})
}

// mostSearched is the maximum number of sessions that are read for a response.
const mostSearched = 10_000

func searchSessions(c *endpoint.Call, q host.SessionQuery) (any, error) {
	f, err := sessionFilter(c, "status")
	if err != nil {
		return nil, err
	}
	if len(f.Text) > mostQuery {
		return nil, wire.Invalid("q= must have at most %d bytes", mostQuery)
	}
	var p console.SessionPage
	if q.Count > 0 {
		f.Project, f.Workflow, f.Before, f.Count = q.Project, q.Workflow, q.Before, q.Count
		f.InFile, f.Most, f.Bytes = true, mostSearched, wire.MostListed
		if p, err = c.Console.Sessions(c.Ctx(), f); err != nil {
			return nil, err
		}
	}
	return wire.Searched{Sessions: wire.Each(p.Sessions, wire.SessionOf), Searched: p.Searched, Complete: !p.Cut, Next: wire.OrNull(p.Next)}, nil
}

func findSessions(c *endpoint.Call) (any, error) {
	f, err := sessionFilter(c, "state")
	if err != nil {
		return nil, err
	}
	f.Workflow = c.Text("workflow")
	if f.Before, err = c.Number("before", 0); err != nil {
		return nil, err
	}
	if f.Count, err = c.Counting("count", 50, 200); err != nil {
		return nil, err
	}
	if name, given := c.Arg("project"); given {
		p, err := c.ProjectNamed(name)
		if err != nil {
			return nil, err
		}
		f.Project = p.ID
	}
	p, err := c.Console.Sessions(c.Ctx(), f)
	if err != nil {
		return nil, err
	}
	return wire.Found{Sessions: wire.Each(p.Sessions, wire.LastBriefly), Next: wire.OrNull(p.Next)}, nil
}

// states lists the names of session states.
var states = []string{"running", "success", "error", "killed"}

// sessionFilter reads the filter for sessions. stateName is the name of the parameter with the states.
func sessionFilter(c *endpoint.Call, stateName string) (console.SessionFilter, error) {
	f := console.SessionFilter{Site: c.Actor.Site, Text: c.Text("q"), Tags: c.List("tag"), Labels: c.List("label"), States: map[string]bool{}}
	var err error
	if f.From, err = timeBound(c, "from"); err != nil {
		return f, err
	}
	if f.Until, err = timeBound(c, "to"); err != nil {
		return f, err
	}
	if len(f.Tags)+len(f.Labels) > keys.MostTags {
		return f, wire.Invalid("tag= and label= may be given at most %d times", keys.MostTags)
	}
	if slices.Contains(f.Tags, "") {
		return f, wire.Invalid("tag= must name a tag, such as daily or team=sales")
	}
	for _, label := range f.Labels {
		name, value, isPair := strings.Cut(label, "=")
		if !isPair {
			return f, wire.Invalid("label= must be a name and a value, such as label=team=sales, not %q", label)
		}
		if fault := keys.LabelFault(name, value); fault != "" {
			return f, wire.Invalid("label=: a label's %s", fault)
		}
	}
	list, given := c.Arg(stateName)
	for state := range strings.SplitSeq(list, ",") {
		switch {
		case !given:
		case !slices.Contains(states, state):
			return f, wire.Invalid("%s= must be one of %s, or several separated by commas, not %q", stateName, strings.Join(states, ", "), state)
		default:
			f.States[state] = true
		}
	}
	return f, nil
}

// timeBound reads a session time from the query; zero if it is missing.
func timeBound(c *endpoint.Call, name string) (console.Bound, error) {
	text := c.Text(name)
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
	return console.Bound{}, wire.Invalid("%s= must be a date, or a date and time, in the time zone of each session or with an offset or Z, such as 2026-01-31T00:00:00Z, not %q", name, text)
}
