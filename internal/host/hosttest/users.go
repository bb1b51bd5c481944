package hosttest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// usersSuite checks a host.Users.
func usersSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"create, list and revoke": usersTokens, "end sessions": usersSessions}.Run(t, h)
}

// auditSuite checks a host.Audit.
func auditSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"record and list": usersAudit}.Run(t, h)
}

func usersTokens(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	make := func(site int64, name string) host.Token {
		return suite.Got(s.Users.Create(ctx, host.Token{Site: site, Name: name, Role: "viewer", Hash: []byte("hash of " + name), CreatedAt: suite.Instant(0)}))(t)
	}
	one, two, other := make(1, "one"), make(1, "two"), make(2, "other")
	_, err := s.Users.Create(ctx, host.Token{Site: 2, Name: "x", Role: "admin", Hash: one.Hash, CreatedAt: suite.Instant(0)})
	suite.WantError(t, "create with an existing hash", err, host.ErrConflict)
	if diff := cmp.Diff([]host.Token{one, two}, suite.Got(s.Users.List(ctx, 1))(t)); diff != "" {
		t.Errorf("tokens of a site (-want +got):\n%s", diff)
	}
	limited := suite.Got(s.Users.Create(ctx, host.Token{Site: 3, Name: "limited", Role: "admin", Hash: []byte("hash of limited"), CreatedAt: suite.Instant(0),
		ExpiresAt: suite.Instant(60), Projects: []string{"sales", "crm, new"}}))(t)
	if diff := cmp.Diff([]host.Token{limited}, suite.Got(s.Users.List(ctx, 3))(t)); diff != "" {
		t.Errorf("token with an end and projects (-want +got):\n%s", diff)
	}
	if got := suite.Got(s.Users.ByHash(ctx, limited.Hash))(t); !got.ExpiresAt.Equal(limited.ExpiresAt) || !slices.Equal(got.Projects, limited.Projects) {
		t.Errorf("token with an end and projects by hash: %+v", got)
	}
	found := suite.Got(s.Users.ByHash(ctx, other.Hash))(t)
	if found.ID != other.ID || found.Site != 2 || found.Role != "viewer" {
		t.Errorf("got token by hash %+v", found)
	}
	suite.WantError(t, "revoke a token of another site", s.Users.Revoke(ctx, 1, other.ID), host.ErrNotFound)
	suite.Must(t, s.Users.Revoke(ctx, 1, one.ID))
	suite.WantError(t, "revoke again", s.Users.Revoke(ctx, 1, one.ID), host.ErrNotFound)
	_, err = s.Users.ByHash(ctx, one.Hash)
	suite.WantError(t, "read a revoked token", err, host.ErrNotFound)
}

func usersSessions(t *testing.T, s suite.Stores) {
	ctx, now := t.Context(), suite.Instant(100)
	ended := func(who string, want time.Time) {
		t.Helper()
		if got := suite.Got(s.Users.SessionsEnded(ctx, who))(t); !got.Equal(want) {
			t.Errorf("sessions of %s ended at %v, want %v", who, got, want)
		}
	}
	ended("one", time.Time{})
	suite.Must(t, s.Users.EndSessions(ctx, "one", suite.Instant(10), now))
	suite.Must(t, s.Users.EndSessions(ctx, "other", suite.Instant(11), now))
	suite.Must(t, s.Users.EndSessions(ctx, "one", suite.Instant(20), now))
	suite.Must(t, s.Users.EndSessions(ctx, "one", suite.Instant(15), now))
	ended("one", suite.Instant(20))
	ended("other", suite.Instant(11))
	suite.Must(t, s.Users.EndSessions(ctx, "third", suite.Instant(12), now.Add(host.SessionsKept)))
	ended("one", suite.Instant(20))
}

func usersAudit(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for i, site := range []int64{1, 2, 1, 1} {
		suite.Must(t, s.Audit.Record(ctx, host.Record{At: suite.Instant(int64(i)), Site: site, Who: "me", Action: "push", Target: "project demo", Detail: "r1"}))
	}
	list := suite.Got(s.Audit.Audits(ctx, 1, 0, 2))(t)
	list = append(list, suite.Got(s.Audit.Audits(ctx, 1, list[1].ID, 9))(t)...)
	want := host.Record{Site: 1, Who: "me", Action: "push", Target: "project demo", Detail: "r1"}
	for i, at := range []int64{3, 2, 0} {
		if want.At, want.ID = suite.Instant(at), list[i].ID; list[i] != want {
			t.Errorf("record %d: got %+v, want %+v", i, list[i], want)
		}
	}
}
