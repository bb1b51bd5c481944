package access

import (
	"strconv"
	"testing"
	"time"
)

// TestEndedSessions proves that a session stays over after its user signed out, however often that user and others sign
// in and out, and that other sessions of the user continue.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	m := NewMemory()
	session := func(user, id string, at time.Time) *signedIn {
		return &signedIn{ID: id, By: ByPassword, User: user, Begun: at.UnixMilli(), Last: at.Unix()}
	}
	copied, other := session("ops", "copied", now), session("ops", "other", now.Add(time.Second))
	m.end(copied, now)
	for i := range 20_000 { // a viewer signs in and out
		m.end(session("viewer", strconv.Itoa(i), now.Add(time.Duration(i)*time.Millisecond)), now)
	}
	if !m.isOver(copied) || m.isOver(other) {
		t.Errorf("the copy is over: %v, the other session: %v", m.isOver(copied), m.isOver(other))
	}
	if n := len(m.users["password  \"viewer\" "].ended); n > mostEnded {
		t.Errorf("%d sessions are remembered one by one", n)
	}
	for i := range 200 { // and so does the same user
		m.end(session("ops", "again"+strconv.Itoa(i), now.Add(time.Hour+time.Duration(i)*time.Second)), now)
	}
	if !m.isOver(copied) || m.isOver(session("ops", "new", now.Add(2*time.Hour))) {
		t.Error("an ended session came back, or a new one is over")
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
