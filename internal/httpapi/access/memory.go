package access

import (
	"fmt"
	"sync"
	"time"
)

// Memory is what a program remembers of its callers: failed logins, and ended sessions. It is safe for concurrent use,
// and another program knows nothing of it.
type Memory struct {
	guesses *guesses

	mu    sync.Mutex
	users map[string]*user // who have signed in or out, by who they are
}

// NewMemory returns a memory of nothing.
func NewMemory() *Memory {
	return &Memory{guesses: newGuesses(), users: map[string]*user{}}
}

// user is one of those who sign in: each is remembered apart, so that no one can make the memory forget another's.
type user struct {
	ended  map[string]time.Time // sessions that they have signed out of, with when these began
	before time.Time            // all that began until then are over
	last   time.Time            // that anything was noted

	minute  time.Time // in which sign-ins are counted
	signIns int
}

const (
	mostEnded   = 100 // sessions of one user that are remembered one by one
	mostSignIns = 20  // of one user in a minute
	mostUsers   = 10_000
)

// of returns a user; mu is held. Of too many, those are forgotten whose sessions are over anyway.
func (m *Memory) of(who string, now time.Time) *user {
	u := m.users[who]
	if u == nil {
		if len(m.users) >= mostUsers {
			for name, u := range m.users {
				if now.Sub(u.last) > longestSession {
					delete(m.users, name)
				}
			}
		}
		u = &user{ended: map[string]time.Time{}}
		m.users[who] = u
	}
	u.last = now
	return u
}

// maySignIn reports whether a user may sign in once more, and counts it.
func (m *Memory) maySignIn(who string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.of(who, now)
	if now.Sub(u.minute) >= time.Minute {
		u.minute, u.signIns = now, 0
	}
	u.signIns++
	return u.signIns <= mostSignIns
}

// end notes that a user has signed out of a session. Of too many sessions, all are over that began before the newest of
// the oldest ones.
func (m *Memory) end(s *signedIn, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.of(s.who(), now)
	u.ended[s.ID] = s.begun()
	for len(u.ended) > mostEnded {
		oldest := ""
		for id, begun := range u.ended {
			if oldest == "" || begun.Before(u.ended[oldest]) {
				oldest = id
			}
		}
		if begun := u.ended[oldest]; begun.After(u.before) {
			u.before = begun
		}
		delete(u.ended, oldest)
	}
}

// isOver reports whether a session was signed out of.
func (m *Memory) isOver(s *signedIn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.users[s.who()]
	if u == nil {
		return false
	}
	_, ended := u.ended[s.ID]
	return ended || !s.begun().After(u.before)
}

// who identifies the user of a session, or the token.
func (s *signedIn) who() string { return fmt.Sprintf("%s %s %q %x", s.By, s.Grant, s.User, s.Token) }

func (s *signedIn) begun() time.Time { return time.UnixMilli(s.Begun) }
