package hosttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// catalogueSuite checks host.Projects and host.Workflows.
func catalogueSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"first push creates a project":    catalogueFirst,
		"second push adds a revision":     catalogueSecond,
		"concurrent pushes of a revision": catalogueRace,
		"list projects":                   catalogueProjects,
		"list revisions":                  catalogueRevisions,
		"list definitions":                catalogueWorkflows,
		"delete a project":                catalogueDelete,
		"pause a project":                 cataloguePause,
		"pause during pushes":             cataloguePauseBeside,
		"sites are isolated":              catalogueSites,
	}.Run(t, h)
}

// sameTree returns an option that compares mappings, including the order of their keys.
func sameTree() cmp.Option {
	return cmp.Comparer(func(a, b *param.Map) bool {
		return (a == nil) == (b == nil) && string(param.AppendStored(nil, a)) == string(param.AppendStored(nil, b))
	})
}

func catalogueFirst(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main", "sub/other"}, nil))(t)
	want := host.Project{ID: p.ID, Site: 1, Name: "demo", CreatedAt: suite.Instant(0), Latest: host.Revision{ID: p.Latest.ID, ProjectID: p.ID, Name: "r1",
		CreatedAt: suite.Instant(0), Archive: "a/r1", ArchiveMD5: []byte{1, 2}, UserInfo: param.New("user", "me")}}
	if diff := cmp.Diff(want, p, sameTree()); diff != "" || p.ID == 0 || p.Latest.ID == 0 {
		t.Errorf("pushed project (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, suite.Got(s.Projects.Project(ctx, 1, p.ID))(t), sameTree()); diff != "" {
		t.Errorf("project by id (-want +got):\n%s", diff)
	}
	list := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID}))(t)
	for i, name := range []string{"main", "sub/other"} {
		want := host.Workflow{ID: list[i].ID, Site: 1, Project: host.Ref{ID: p.ID, Name: "demo"}, Revision: host.Ref{ID: p.Latest.ID, Name: "r1"},
			Archive: "a/r1", Name: name, Zone: "Asia/Tokyo", Config: suite.Config(name)}
		if diff := cmp.Diff(want, list[i], sameTree()); diff != "" {
			t.Errorf("definition of the list (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, suite.Got(s.Workflows.Workflow(ctx, 1, want.ID))(t), sameTree()); diff != "" {
			t.Errorf("definition by id (-want +got):\n%s", diff)
		}
	}
}

func catalogueSecond(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	first := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main", "gone"}, nil))(t)
	_, err := suite.Push(ctx, s, 1, "demo", "r1", []string{"changed"}, nil)
	suite.WantError(t, "the same revision again", err, host.ErrConflict)
	second := suite.Got(suite.Push(ctx, s, 1, "demo", "r2", []string{"main"}, nil))(t)
	if second.ID != first.ID || second.Latest.ID <= first.Latest.ID || second.Latest.Name != "r2" {
		t.Errorf("second push: got %+v after %+v", second, first)
	}
	if got := workflows(t, s, host.WorkflowQuery{Site: 1, Revision: first.Latest.ID}); got != "main gone " {
		t.Errorf("got definitions %s of the old revision", got)
	}
	if got := workflows(t, s, host.WorkflowQuery{Site: 1}); got != "main " {
		t.Errorf("got latest definitions %s", got)
	}
}

func catalogueRace(t *testing.T, s suite.Stores) {
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 6 {
		all.Go(func() {
			_, err := suite.Push(t.Context(), s, 1, "demo", "r1", []string{"main"}, nil)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, host.ErrConflict) {
				t.Errorf("push: %v", err)
			}
		})
	}
	all.Wait()
	if list := suite.Got(s.Projects.Projects(t.Context(), host.ProjectQuery{Site: 1}))(t); won != 1 || len(list) != 1 {
		t.Errorf("%d of 6 concurrent pushes of a revision succeeded and created %d projects, want 1 and 1", won, len(list))
	}
}

func projects(t *testing.T, s suite.Stores, q host.ProjectQuery) string {
	t.Helper()
	names := ""
	for _, p := range suite.Got(s.Projects.Projects(t.Context(), q))(t) {
		names += p.Name + " "
	}
	return names
}

func catalogueProjects(t *testing.T, s suite.Stores) {
	var ids []int64
	for _, name := range []string{"one", "two", "Two", "three"} {
		ids = append(ids, suite.Got(suite.Push(t.Context(), s, 1, name, "r", []string{"main"}, nil))(t).ID)
	}
	for _, c := range []struct {
		q    host.ProjectQuery
		want string
	}{
		{host.ProjectQuery{Site: 1}, "one two Two three "},
		{host.ProjectQuery{Site: 1, Count: 2}, "one two "},
		{host.ProjectQuery{Site: 1, After: ids[1], Count: 1}, "Two "},
		{host.ProjectQuery{Site: 1, Name: "two"}, "two "},
		{host.ProjectQuery{Site: 1, Name: "t"}, ""},
		{host.ProjectQuery{Site: 1, Pattern: "t"}, "two three "},
		{host.ProjectQuery{Site: 1, Pattern: "%"}, ""},
		{host.ProjectQuery{Site: 2}, ""},
	} {
		if got := projects(t, s, c.q); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.q, got, c.want)
		}
	}
}

func catalogueRevisions(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	var last host.Project
	for i := range 4 {
		last = suite.Got(suite.Push(ctx, s, 1, "demo", fmt.Sprint("r", i), []string{"main"}, nil))(t)
	}
	suite.Got(suite.Push(ctx, s, 1, "other", "r9", []string{"main"}, nil))(t)
	for _, c := range []struct {
		q    host.RevisionQuery
		want string
	}{
		{host.RevisionQuery{Site: 1, Project: last.ID}, "r3 r2 r1 r0 "},
		{host.RevisionQuery{Site: 1, Project: last.ID, Count: 2}, "r3 r2 "},
		{host.RevisionQuery{Site: 1, Project: last.ID, Before: last.Latest.ID, Count: 1}, "r2 "},
		{host.RevisionQuery{Site: 1, Project: last.ID, Name: "r1"}, "r1 "},
		{host.RevisionQuery{Site: 2, Project: last.ID}, ""},
	} {
		names := ""
		for _, r := range suite.Got(s.Projects.Revisions(ctx, c.q))(t) {
			names += r.Name + " "
		}
		if names != c.want {
			t.Errorf("%+v: got %q, want %q", c.q, names, c.want)
		}
	}
}

func workflows(t *testing.T, s suite.Stores, q host.WorkflowQuery) string {
	t.Helper()
	names := ""
	for _, w := range suite.Got(s.Workflows.Workflows(t.Context(), q))(t) {
		names += w.Name + " "
	}
	return names
}

func catalogueWorkflows(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Got(suite.Push(ctx, s, 1, "alpha", "r1", []string{"old"}, nil))(t)
	suite.Got(suite.Push(ctx, s, 1, "alpha", "r2", []string{"daily", "main"}, nil))(t)
	suite.Got(suite.Push(ctx, s, 1, "beta", "r1", []string{"main", "weekly"}, nil))(t)
	list := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1}))(t)
	if len(list) != 4 {
		t.Fatalf("got %d latest definitions, want 4", len(list))
	}
	for _, c := range []struct {
		q    host.WorkflowQuery
		want string
	}{
		{host.WorkflowQuery{Site: 1}, "daily main main weekly "},
		{host.WorkflowQuery{Site: 1, Descending: true, Count: 3}, "weekly main main "},
		{host.WorkflowQuery{Site: 1, Last: list[1].ID, Count: 1}, "main "},
		{host.WorkflowQuery{Site: 1, Last: list[1].ID, Descending: true}, "daily "},
		{host.WorkflowQuery{Site: 1, Name: "main"}, "main main "},
		{host.WorkflowQuery{Site: 1, Pattern: "ly"}, "daily weekly "},
		{host.WorkflowQuery{Site: 1, Pattern: "alph"}, ""},
		{host.WorkflowQuery{Site: 1, Pattern: "alph", OrProject: true}, "daily main "},
		{host.WorkflowQuery{Site: 1, Revision: list[0].Revision.ID, Name: "main"}, "main "},
		{host.WorkflowQuery{Site: 2, Revision: list[0].Revision.ID}, ""},
		{host.WorkflowQuery{Site: 2}, ""},
	} {
		if got := workflows(t, s, c.q); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.q, got, c.want)
		}
	}
}

func catalogueDelete(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main"}, map[string]host.Times{"main": {Run: suite.Instant(10), Session: suite.Instant(9)}}))(t)
	w := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1}))(t)[0]
	suite.Must(t, s.Projects.DeleteProject(ctx, 1, p.ID, suite.Instant(5)))
	suite.WantError(t, "delete again", s.Projects.DeleteProject(ctx, 1, p.ID, suite.Instant(6)), host.ErrNotFound)
	if got := projects(t, s, host.ProjectQuery{Site: 1}) + workflows(t, s, host.WorkflowQuery{Site: 1}); got != "" {
		t.Errorf("got %s in lists after the deletion, want nothing", got)
	}
	if list := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t); len(list) != 0 {
		t.Errorf("got %d schedules of a deleted project, want none", len(list))
	}
	if p := suite.Got(s.Projects.Project(ctx, 1, p.ID))(t); p.Name != "demo" || !p.DeletedAt.Equal(suite.Instant(5)) {
		t.Errorf("got deleted project %q with the deletion time %v", p.Name, p.DeletedAt)
	}
	if w := suite.Got(s.Workflows.Workflow(ctx, 1, w.ID))(t); w.Name != "main" || w.Project.Name != "demo" {
		t.Errorf("got definition %+v of a deleted project", w)
	}
	again := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main"}, nil))(t)
	if again.ID == p.ID {
		t.Error("a push restored the deleted project, want a new one")
	}
}

// cataloguePause proves that a project stays paused across pushes until the pause is lifted, and that a deleted project
// or a project of another site cannot be paused.
func cataloguePause(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main"}, nil))(t)
	other := suite.Got(suite.Push(ctx, s, 1, "other", "r1", []string{"main"}, nil))(t)
	paused := func(what string, want host.Pause) {
		t.Helper()
		one := suite.Got(s.Projects.Project(ctx, 1, p.ID))(t).Paused
		list := suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: 1}))(t)
		named := suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: 1, Name: "demo"}))(t)
		if diff := cmp.Diff([]host.Pause{want, want, {}, want}, []host.Pause{one, list[0].Paused, list[1].Paused, named[0].Paused}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	paused("at first", host.Pause{})
	why := host.Pause{At: suite.Instant(5), By: "anna\x00", Reason: "the warehouse\nis down"}
	suite.Must(t, s.Projects.PauseProject(ctx, 1, p.ID, why))
	paused("paused", why)
	if again := suite.Got(suite.Push(ctx, s, 1, "demo", "r2", []string{"main"}, nil))(t); again.Paused != why {
		t.Errorf("got pause %+v from a push", again.Paused)
	}
	paused("pushed", why)
	why = host.Pause{At: suite.Instant(6)}
	suite.Must(t, s.Projects.PauseProject(ctx, host.AnySite, p.ID, why))
	paused("paused by an unnamed user", why)
	suite.Must(t, s.Projects.PauseProject(ctx, 1, p.ID, host.Pause{}))
	paused("unpaused", host.Pause{})
	suite.Got(suite.Push(ctx, s, 1, "demo", "r3", []string{"main"}, nil))(t)
	paused("pushed again", host.Pause{})
	suite.WantError(t, "pause a project of another site", s.Projects.PauseProject(ctx, 2, p.ID, why), host.ErrNotFound)
	suite.WantError(t, "pause an unknown project", s.Projects.PauseProject(ctx, 1, p.ID+other.ID+1000, why), host.ErrNotFound)
	suite.Must(t, s.Projects.DeleteProject(ctx, 1, p.ID, suite.Instant(7)))
	suite.WantError(t, "pause a deleted project", s.Projects.PauseProject(ctx, 1, p.ID, why), host.ErrNotFound)
}

// cataloguePauseBeside proves that a concurrent push neither loses a pause nor restores a lifted one.
func cataloguePauseBeside(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r", []string{"main"}, nil))(t)
	for n := range 6 {
		var want host.Pause
		if n%2 == 0 {
			want = host.Pause{At: suite.Instant(int64(n) + 1), By: "anna"}
		}
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if _, err := suite.Push(ctx, s, 1, "demo", fmt.Sprintf("r%d.%d", n, i), []string{"main"}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		suite.Must(t, s.Projects.PauseProject(ctx, 1, p.ID, want))
		all.Wait()
		if is := suite.Got(s.Projects.Project(ctx, 1, p.ID))(t).Paused; is != want {
			t.Errorf("got pause %+v after concurrent pushes, want %+v", is, want)
		}
	}
}

func catalogueSites(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	one := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main"}, nil))(t)
	two := suite.Got(suite.Push(ctx, s, 2, "demo", "r1", []string{"main"}, nil))(t)
	if one.ID == two.ID {
		t.Fatal("two sites share a project")
	}
	_, err := s.Projects.Project(ctx, 2, one.ID)
	suite.WantError(t, "project of another site", err, host.ErrNotFound)
	w := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1}))(t)[0]
	_, err = s.Workflows.Workflow(ctx, 2, w.ID)
	suite.WantError(t, "definition of another site", err, host.ErrNotFound)
	suite.WantError(t, "delete a project of another site", s.Projects.DeleteProject(ctx, 2, one.ID, suite.Instant(0)), host.ErrNotFound)
	suite.Got(suite.Push(ctx, s, 1, "more", "r1", []string{"main"}, nil))(t)
	gone := suite.Got(suite.Push(ctx, s, 30, "gone", "r1", []string{"main"}, nil))(t)
	suite.Must(t, s.Projects.DeleteProject(ctx, 30, gone.ID, suite.Instant(0)))
	all := []host.Site{{ID: 1, Projects: 2}, {ID: 2, Projects: 1}, {ID: 30}}
	if diff := cmp.Diff(all, suite.Got(s.Projects.Sites(ctx, -1, 10))(t)); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all[1:2], suite.Got(s.Projects.Sites(ctx, 1, 1))(t)); diff != "" {
		t.Errorf("one site after the first (-want +got):\n%s", diff)
	}
	if p := suite.Got(s.Projects.Project(ctx, host.AnySite, two.ID))(t); p.Site != 2 {
		t.Errorf("project read for any site: got site %d, want 2", p.Site)
	}
	if w := suite.Got(s.Workflows.Workflow(ctx, host.AnySite, w.ID))(t); w.Site != 1 {
		t.Errorf("definition read for any site: got site %d, want 1", w.Site)
	}
}
