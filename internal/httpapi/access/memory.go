package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Memory records failed logins and sign-ins of a program's callers, and briefly caches the store's data about ended
// sessions. It is safe for concurrent use, and is not shared with other programs.
type Memory struct {
	guesses *guesses

	mu    sync.Mutex
	users map[string]*user // users who have signed in, by the result of signedIn.who
	// warned holds when the log last reported that a token expires soon, by the token's id.
	warned  map[int64]time.Time
	signIns map[string]signInEntry // by user and address
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{guesses: newGuesses(), users: map[string]*user{}, warned: map[int64]time.Time{}, signIns: map[string]signInEntry{}}
}

// user holds the data of one user who signs in.
type user struct {
	before time.Time // all sessions that began before that have ended
	read   time.Time // when before was last read from the store
	last   time.Time // when the user was last recorded

	minute  time.Time // the beginning of the minute in which sign-ins are counted
	signIns int
}

// signInEntry is the last audit log entry about a user's sign-ins from an address.
type signInEntry struct {
	at   time.Time
	more int // sign-ins since then
}

// signInEvery is the shortest time between two such entries: a script may sign in all day.
const signInEvery = time.Hour

// noteSignIn counts a sign-in of a user from an address. due reports whether the audit log gets an entry; more is the
// number of sign-ins since the last entry, which have no entry.
func (m *Memory) noteSignIn(who string, now time.Time) (more int, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, known := m.signIns[who]
	if known && now.Sub(e.at).Abs() < signInEvery {
		e.more++
		m.signIns[who] = e
		return 0, false
	}
	if !known && len(m.signIns) >= mostUsers {
		maps.DeleteFunc(m.signIns, func(_ string, e signInEntry) bool { return now.Sub(e.at) >= signInEvery })
	}
	m.signIns[who] = signInEntry{at: now}
	return e.more, true
}

const (
	mostSignIns = 20 // one user's sign-ins per minute
	mostUsers   = 10_000
)

// of returns a user; mu is held. If there are too many users, it forgets users whose sessions must have ended anyway.
func (m *Memory) of(who string, now time.Time) *user {
	u := m.users[who]
	if u == nil {
		if len(m.users) >= mostUsers {
			maps.DeleteFunc(m.users, func(_ string, u *user) bool { return now.Sub(u.last) > longestSession })
		}
		u = &user{}
		m.users[who] = u
	}
	u.last = now
	return u
}

// warnEvery is the shortest time between two warnings about the same token.
const warnEvery = 24 * time.Hour

// mayWarn reports whether another warning about a token's expiry is due, and counts it.
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

// end records that a user ended all sessions that began up to a given time.
func (m *Memory) end(who string, until, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u := m.of(who, now); until.After(u.before) {
		u.before = until
	}
}

// Recheck is how long a session or token may still be accepted after another server ended it.
const Recheck = 2 * time.Second

// ended returns the latest time at which a user's ended sessions may have begun; zero for none. It reads the store
// unless it did so less than fresh ago. Without a store, only this process knows.
func (m *Memory) ended(ctx context.Context, store host.Users, who string, now time.Time, fresh time.Duration) (time.Time, error) {
	m.mu.Lock()
	u := m.of(who, now)
	before, known := u.before, store == nil || !u.read.IsZero() && now.Sub(u.read) < fresh
	m.mu.Unlock()
	if known {
		return before, nil
	}
	until, err := store.SessionsEnded(ctx, who)
	if err != nil {
		return time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u = m.of(who, now)
	u.read = now
	if until.After(u.before) {
		u.before = until
	}
	return u.before, nil
}

// who returns a short string that identifies a session's user, or the token. It is a hash because names may be of any
// length.
func (s *signedIn) who() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %x", s.By, s.User, s.Token))
	return hex.EncodeToString(sum[:])
}

func (s *signedIn) begun() time.Time { return time.UnixMilli(s.Begun) }
