package hosttest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// backfillsSuite checks a host.Backfills. Projects are pushed first, because stores may use only sites that have
// projects.
func backfillsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"store and update": backfillsKept, "names are unique": backfillsNamed, "concurrent changes": backfillsChanged, "list": backfillsListed,
		"remove old backfills": backfillsForgotten}.Run(t, h)
}

// backfillOf returns a backfill of four sessions.
func backfillOf(site int64, w host.Workflow, name string) host.Backfill {
	return host.Backfill{Site: site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, Name: name, CreatedAt: suite.Instant(1), UpdatedAt: suite.Instant(1),
		Plan: host.BackfillPlan{Sessions: host.SessionTimes{suite.Instant(0), suite.Instant(60), suite.Instant(120), suite.Instant(600)}, Parallel: 3, Descending: true, Existing: "skip", Priority: -1, Zone: "Asia/Tokyo",
			Params: param.New("n", int64(1), "data", param.Literal("${x}"))},
		State: host.BackfillState{LeftOut: 2}}
}

func backfillsKept(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	want := backfillOf(1, w, "a")
	b := suite.Got(s.Backfills.AddBackfill(ctx, want))(t)
	if b.ID <= 0 {
		t.Errorf("got id %d, want a positive one", b.ID)
	}
	want.ID = b.ID
	if diff := cmp.Diff(want, b, sameTree()); diff != "" {
		t.Errorf("added backfill (-want +got):\n%s", diff)
	}
	for _, site := range []int64{1, host.AnySite} {
		if diff := cmp.Diff(want, suite.Got(s.Backfills.Backfill(ctx, site, b.ID))(t), sameTree()); diff != "" {
			t.Errorf("stored backfill (-want +got):\n%s", diff)
		}
	}
	_, err := s.Backfills.Backfill(ctx, 2, b.ID)
	suite.WantError(t, "read for another site", err, host.ErrNotFound)
	_, err = s.Backfills.Backfill(ctx, 1, b.ID+1)
	suite.WantError(t, "read an unknown backfill", err, host.ErrNotFound)
	b.State = host.BackfillState{Begun: 3, Running: []host.BackfillRun{{Session: 2, Attempt: 7, Since: suite.Instant(3)}}, Succeeded: 1, Failed: 1, FailedAttempts: []int64{6}, OnHold: true, Why: "why"}
	b.UpdatedAt = suite.Instant(4)
	suite.Must(t, s.Backfills.UpdateBackfill(ctx, b))
	b.Version++
	if diff := cmp.Diff(b, suite.Got(s.Backfills.Backfill(ctx, 1, b.ID))(t), sameTree()); diff != "" {
		t.Errorf("changed backfill (-want +got):\n%s", diff)
	}
	b.FinishedAt, b.State.Running = suite.Instant(5), nil
	suite.Must(t, s.Backfills.UpdateBackfill(ctx, b))
	b.Version++
	if diff := cmp.Diff(b, suite.Got(s.Backfills.Backfill(ctx, 1, b.ID))(t), sameTree()); diff != "" {
		t.Errorf("finished backfill (-want +got):\n%s", diff)
	}
}

func backfillsNamed(t *testing.T, s suite.Stores) {
	ctx, w, other := t.Context(), suite.Definition(t, s, 1, "demo"), suite.Definition(t, s, 1, "other")
	b := suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(1, w, "a")))(t)
	again, err := s.Backfills.AddBackfill(ctx, backfillOf(1, w, "a"))
	suite.WantError(t, "add with an existing name", err, host.ErrConflict)
	if diff := cmp.Diff(b, again, sameTree()); diff != "" {
		t.Errorf("existing backfill (-want +got):\n%s", diff)
	}
	for _, free := range []host.Backfill{backfillOf(1, w, "b"), backfillOf(1, other, "a")} {
		if x := suite.Got(s.Backfills.AddBackfill(ctx, free))(t); x.ID == b.ID {
			t.Errorf("added with an unused name: got the existing backfill %+v", x)
		}
	}
}

// backfillsChanged lets many writers change one backfill: each change is applied once, and none is based on an outdated
// version. A change whose response was lost may have been applied although the store reports a conflict: reading again
// shows that.
func backfillsChanged(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	b := suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(1, w, "a")))(t)
	var all sync.WaitGroup
	var done atomic.Int64
	for n := range int64(5) {
		all.Go(func() {
			for mine := 4*n + 1; mine <= 4*n+4; mine++ {
				for {
					now, err := s.Backfills.Backfill(ctx, 1, b.ID)
					if err != nil {
						t.Error(err)
						return
					}
					if !slices.Contains(now.State.FailedAttempts, mine) {
						now.State.FailedAttempts = append(now.State.FailedAttempts, mine)
						if s.Backfills.UpdateBackfill(ctx, now) != nil {
							continue
						}
					}
					done.Add(1)
					break
				}
			}
		})
	}
	all.Wait()
	now := suite.Got(s.Backfills.Backfill(ctx, 1, b.ID))(t)
	if n := len(now.State.FailedAttempts); n != 20 || done.Load() != 20 || now.Version != 20 {
		t.Errorf("got %d changes after %d successful calls in version %d, want 20 of each", n, done.Load(), now.Version)
	}
	suite.WantError(t, "change of an outdated version", s.Backfills.UpdateBackfill(ctx, b), host.ErrConflict)
}

func backfillsListed(t *testing.T, s suite.Stores) {
	ctx, w, other := t.Context(), suite.Definition(t, s, 1, "demo"), suite.Definition(t, s, 1, "other")
	elsewhere := suite.Definition(t, s, 2, "demo")
	add := func(site int64, w host.Workflow, name string) host.Backfill {
		return suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(site, w, name)))(t)
	}
	a, b, c, d := add(1, w, "a"), add(1, w, "b"), add(1, other, "c"), add(2, elsewhere, "d")
	b.FinishedAt = suite.Instant(9)
	suite.Must(t, s.Backfills.UpdateBackfill(ctx, b))
	for what, x := range map[string]struct {
		q    host.BackfillQuery
		want []host.Backfill
	}{
		"site":                    {host.BackfillQuery{Site: 1}, []host.Backfill{c, b, a}},
		"project":                 {host.BackfillQuery{Site: 1, Project: w.Project.ID}, []host.Backfill{b, a}},
		"workflow":                {host.BackfillQuery{Site: 1, Project: w.Project.ID, Workflow: w.Name}, []host.Backfill{b, a}},
		"unknown workflow":        {host.BackfillQuery{Site: 1, Project: w.Project.ID, Workflow: "x"}, nil},
		"project of another site": {host.BackfillQuery{Site: 2, Project: w.Project.ID}, nil},
		"open":                    {host.BackfillQuery{Site: 1, Open: true}, []host.Backfill{c, a}},
		"open, all sites":         {host.BackfillQuery{Site: host.AnySite, Open: true}, []host.Backfill{d, c, a}},
		"first page":              {host.BackfillQuery{Site: 1, Count: 2}, []host.Backfill{c, b}},
		"second page":             {host.BackfillQuery{Site: 1, Count: 2, Before: b.ID}, []host.Backfill{a}},
		"open, second page":       {host.BackfillQuery{Site: host.AnySite, Open: true, Count: 1, Before: c.ID}, []host.Backfill{a}},
		"project, first page":     {host.BackfillQuery{Site: 1, Project: w.Project.ID, Count: 1}, []host.Backfill{b}},
	} {
		var names, want []string
		for _, y := range suite.Got(s.Backfills.Backfills(ctx, x.q))(t) {
			names = append(names, y.Name)
		}
		for _, y := range x.want {
			want = append(want, y.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func backfillsForgotten(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	for n := range 5 {
		b := suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(1, w, fmt.Sprint(n))))(t)
		if n < 4 {
			b.FinishedAt = s.Now().Add(time.Duration(n) * time.Hour).UTC().Truncate(time.Millisecond)
			suite.Must(t, s.Backfills.UpdateBackfill(ctx, b))
		}
	}
	left := func() int { return len(suite.Got(s.Backfills.Backfills(ctx, host.BackfillQuery{Site: 1}))(t)) }
	if n := suite.Got(s.Backfills.ForgetBackfills(ctx, s.Now().Add(-time.Hour), 10))(t); n != 0 || left() != 5 {
		t.Errorf("removed %d newer backfills, want none; %d remain", n, left())
	}
	later := s.Now().Add(150 * time.Minute)
	if n := suite.Got(s.Backfills.ForgetBackfills(ctx, later, 2))(t); n != 2 || left() != 3 {
		t.Errorf("removed %d with a limit of 2; %d remain, want 3", n, left())
	}
	if n := suite.Got(s.Backfills.ForgetBackfills(ctx, later, 10))(t); n != 1 || left() != 2 {
		t.Errorf("removed %d in the second call, want 1; %d remain, want 2", n, left())
	}
	suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(1, w, "0")))(t) // its name is free again
}
