package access

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// Memory records failed logins and ended sessions of a program's callers. It is safe for concurrent use, and is not
// shared with other programs.
type Memory struct {
	guesses *guesses

	mu    sync.Mutex
	users map[string]*user // users who have signed in or out, by the result of signedIn.who
	// warned holds when the log last reported that a token expires soon, by the token's id.
	warned map[int64]time.Time
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{guesses: newGuesses(), users: map[string]*user{}, warned: map[int64]time.Time{}}
}

// user holds the data of one user who signs in. Users are recorded separately, so that no user can make the memory
// forget another's data.
type user struct {
	ended  map[string]time.Time // when the sessions began that the user signed out of, by id
	before time.Time            // all sessions that began until then are over
	last   time.Time            // when the user was last recorded

	minute  time.Time // the beginning of the minute in which sign-ins are counted
	signIns int
}

const (
	mostEnded   = 100 // sessions of one user that are recorded one by one
	mostSignIns = 20  // sign-ins of one user in a minute
	mostUsers   = 10_000
)

// of returns a user; mu is held. If there are too many users, it forgets those whose sessions must be over anyway.
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

// warnEvery is the shortest time between two warnings about the same token.
const warnEvery = 24 * time.Hour

// mayWarn reports whether it is time to warn of a token's end again, and counts it.
func (m *Memory) mayWarn(token int64, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, known := m.warned[token]; known && now.Sub(last) < warnEvery {
		return false
	}
	maps.DeleteFunc(m.warned, func(_ int64, last time.Time) bool { return now.Sub(last) >= warnEvery })
	m.warned[token] = now
	return true
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

// end records that a user has signed out of a session. If there are too many, it forgets the oldest ones, and all
// sessions that did not begin later than those count as over.
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

// isOver reports whether the user has signed out of a session.
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

// who returns a text that identifies the user of a session, or the token.
func (s *signedIn) who() string { return fmt.Sprintf("%s %s %q %x", s.By, s.Grant, s.User, s.Token) }

func (s *signedIn) begun() time.Time { return time.UnixMilli(s.Begun) }
