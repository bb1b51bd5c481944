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
	suite.Cases{"record and list": usersAudit, "filter": usersAuditFilter}.Run(t, h)
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
	list := suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: 1, Count: 2}))(t)
	list = append(list, suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: 1, Before: list[1].ID, Count: 9}))(t)...)
	want := host.Record{Site: 1, Who: "me", Action: "push", Target: "project demo", Detail: "r1"}
	for i, at := range []int64{3, 2, 0} {
		if want.At, want.ID = suite.Instant(at), list[i].ID; list[i] != want {
			t.Errorf("record %d: got %+v, want %+v", i, list[i], want)
		}
	}
}

func usersAuditFilter(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	origin := host.Origin{Address: "192.0.2.7", With: "token 3", Request: "PUT /api/projects"}
	// Stores may find entries of a period by the time at which they were recorded, which is close to the time that they
	// contain.
	began := time.Now().UTC().Truncate(time.Second)
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for i, r := range []host.Record{
		{Who: "ann", Action: "push", Target: "project 50%_done", Origin: origin},
		{Who: "bob", Action: "push", Target: "project other", Detail: "denied", Refused: true},
		{Who: "ann", Action: "kill", Target: "attempt 7"},
		{Who: "ann", Action: "push", Target: "project other"},
	} {
		r.At, r.Site = after(10*i), 5
		suite.Must(t, s.Audit.Record(ctx, r))
	}
	all := suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: 5}))(t)
	if len(all) != 4 || all[3].Origin != origin || all[3].Refused || !all[2].Refused {
		t.Fatalf("all entries: %+v", all)
	}
	for name, c := range map[string]struct {
		q    host.AuditQuery
		want []int // indexes in all
	}{
		"who":          {host.AuditQuery{Who: "ann"}, []int{0, 1, 3}},
		"action":       {host.AuditQuery{Action: "kill"}, []int{1}},
		"target":       {host.AuditQuery{Target: "other"}, []int{0, 2}},
		"literal":      {host.AuditQuery{Target: "50%_d"}, []int{3}},
		"no pattern":   {host.AuditQuery{Target: "50__d"}, nil},
		"from":         {host.AuditQuery{From: after(20)}, []int{0, 1}},
		"until":        {host.AuditQuery{Until: after(20)}, []int{2, 3}},
		"refused":      {host.AuditQuery{Refused: true}, []int{2}},
		"page":         {host.AuditQuery{Who: "ann", Count: 2}, []int{0, 1}},
		"next page":    {host.AuditQuery{Who: "ann", Count: 2, Before: all[1].ID}, []int{3}},
		"several":      {host.AuditQuery{Who: "ann", Action: "push", Target: "project"}, []int{0, 3}},
		"empty period": {host.AuditQuery{From: after(20), Until: after(20)}, nil},
	} {
		c.q.Site = 5
		want := []host.Record{}
		for _, i := range c.want {
			want = append(want, all[i])
		}
		if diff := cmp.Diff(want, append([]host.Record{}, suite.Got(s.Audit.Audits(ctx, c.q))(t)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
