// Package console answers what a page of pictures asks about many attempts at once: which sessions are like this,
// what became of the tasks of the last thirty, and what needs somebody now. Each answer is bounded in the rows that
// are read for it, so that a function can give it.
//
// The API calls it. It must never change anything, nor decide what happens to an attempt.
package console

import (
	"context"
	"strings"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// Console reads a catalogue. It is safe for concurrent use.
type Console struct {
	Catalogue *catalogue.Catalogue
	Now       func() time.Time
}

// SessionFilter says which sessions of a site are meant, by their last attempts.
type SessionFilter struct {
	Site        int64
	Project     int64           // 0 is any
	Workflow    string          // "" is any
	States      map[string]bool // words of host.Attempt.Status; none is any
	From, Until time.Time       // session times, Until not included; zero is any
	Text        string          // part of the name of the project, the workflow or the retry, in any case; "" is any
	Before      int64           // ids below; 0 is all
	Count       int
}

// SessionPage are sessions that are meant, the newest id first.
type SessionPage struct {
	Sessions []host.Session
	// Next is Before of the next page; 0 when all were looked at. A page may be short, even empty, and not the last:
	// so many rows were looked at.
	Next int64
}

// How many sessions are read at once, and looked at for a page.
const (
	sessionsAtOnce = 200
	mostSessions   = 2000
)

// Sessions lists those that are meant.
func (c *Console) Sessions(ctx context.Context, f SessionFilter) (SessionPage, error) {
	var p SessionPage
	before := f.Before
	for range mostSessions / sessionsAtOnce {
		list, err := c.Catalogue.Sessions(ctx, host.SessionQuery{Site: f.Site, Project: f.Project, Workflow: f.Workflow, Before: before, Count: sessionsAtOnce})
		if err != nil {
			return SessionPage{}, err
		}
		for _, s := range list {
			if before = s.ID; !f.means(s) {
				continue
			}
			if p.Sessions = append(p.Sessions, s); len(p.Sessions) == f.Count {
				p.Next = before
				return p, nil
			}
		}
		if len(list) < sessionsAtOnce {
			return p, nil
		}
	}
	p.Next = before
	return p, nil
}

func (f SessionFilter) means(s host.Session) bool {
	switch {
	case len(f.States) > 0 && !f.States[s.Last.Status()],
		!f.From.IsZero() && s.Time.Before(f.From),
		!f.Until.IsZero() && !s.Time.Before(f.Until):
		return false
	}
	text := strings.ToLower(f.Text)
	return strings.Contains(strings.ToLower(s.Project.Name+"/"+s.Workflow.Name), text) || strings.Contains(strings.ToLower(s.Last.RetryName), text)
}
