package access

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"zerodag/internal/host"
)

// ends is a store, shared by two servers, that records when sessions ended.
type ends struct {
	host.Users
	until map[string]time.Time
	asked int
}

func (e *ends) SessionsEnded(_ context.Context, who string) (time.Time, error) {
	e.asked++
	return e.until[who], nil
}

// TestEndedSessions proves that a server learns within two seconds that a user signed out on another server, that the
// store is queried no more often than that, that a sign-in always queries it, and that another user's sessions
// continue.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	store, m := &ends{until: map[string]time.Time{}}, NewMemory()
	ended := func(who string, at time.Time, fresh time.Duration) time.Time {
		t.Helper()
		until, err := m.ended(t.Context(), store, who, at, fresh)
		if err != nil {
			t.Fatal(err)
		}
		return until
	}
	if !ended("ops", now, Recheck).IsZero() {
		t.Error("sessions ended before anyone signed out")
	}
	store.until["ops"] = now // on another server
	if until := ended("ops", now.Add(Recheck-1), Recheck); !until.IsZero() || store.asked != 1 {
		t.Errorf("after less than the recheck: %v, asked %d times", until, store.asked)
	}
	if until := ended("ops", now.Add(Recheck), Recheck); !until.Equal(now) || store.asked != 2 {
		t.Errorf("after the recheck: %v, asked %d times", until, store.asked)
	}
	if ended("ops", now.Add(Recheck), 0); store.asked != 3 {
		t.Error("a sign-in did not ask")
	}
	m.end("ops", now.Add(Recheck), now.Add(Recheck))
	if until := ended("ops", now.Add(Recheck), Recheck); !until.Equal(now.Add(Recheck)) {
		t.Errorf("on the server of the sign-out: %v", until)
	}
	if !ended("viewer", now.Add(Recheck), Recheck).IsZero() {
		t.Error("another user's sessions ended")
	}
}

// TestSignInsAreLimited proves that one user cannot sign in without limit, and that others still can.
func TestSignInsAreLimited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m := NewMemory()
	for i := range mostSignIns + 1 {
		if may := m.maySignIn("a", now); may != (i < mostSignIns) {
			t.Errorf("sign-in %d: %v", i+1, may)
		}
	}
	if !m.maySignIn("b", now) || !m.maySignIn("a", now.Add(time.Minute)) {
		t.Error("another user or another minute is limited")
	}
}

// TestSignInEntries proves that the audit log gets an entry for the first sign-in of a user from an address and another
// an hour later, which counts the sign-ins in between, and that other users have separate entries.
func TestSignInEntries(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m := NewMemory()
	for i := range 5 {
		if more, due := m.noteSignIn("a", now.Add(time.Duration(i)*time.Minute)); more != 0 || due != (i == 0) {
			t.Errorf("sign-in %d: %d more, entry %v", i+1, more, due)
		}
	}
	if _, due := m.noteSignIn("b", now); !due {
		t.Error("another user has no entry")
	}
	if more, due := m.noteSignIn("a", now.Add(signInEvery)); more != 4 || !due {
		t.Errorf("after an hour: %d more, entry %v", more, due)
	}
}

// TestAddress checks which address counts: that of the connection, unless it is a trusted proxy, and never one that a
// caller could have made up.
func TestAddress(t *testing.T) {
	t.Parallel()
	g := NewGate(Rules{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	for _, c := range []struct {
		remote, forwarded, want string
	}{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "1.1.1.1, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "1.1.1.1, 198.51.100.7, 10.2.3.4", "198.51.100.7"},
		{"10.0.0.1:5", "198.51.100.7, nonsense", "10.0.0.1"},
		{"[::1]:5", "2001:db8::1", "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", "198.51.100.7", "198.51.100.7"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := g.Caller(nil, r).Address(); got != c.want {
			t.Errorf("%s, forwarded %q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}
