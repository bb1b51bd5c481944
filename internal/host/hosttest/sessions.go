package hosttest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// sessionsSuite checks host.Sessions.
func sessionsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"last attempt":               sessionsLast,
		"list attempts":              sessionsAttempts,
		"list sessions":              sessionsList,
		"limit in bytes":             sessionsBounded,
		"active attempts":            sessionsActive,
		"last session before a time": sessionsBefore,
		"sessions by time":           sessionsAt,
	}.Run(t, h)
}

func sessionsLast(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	first := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0]
	suite.Got(suite.Push(ctx, s, 1, "demo", "r2", []string{"main"}, nil))(t)
	newer := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1}))(t)[0]
	last := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, newer, suite.Instant(0), "x")))(t)[0]
	want := host.Session{ID: first.SessionID, Site: 1, Project: w.Project, Workflow: host.Ref{ID: newer.ID, Name: "main"}, UUID: first.SessionUUID, Time: suite.Instant(0), Last: last}
	if diff := cmp.Diff(want, suite.Got(s.Sessions.Session(ctx, 1, first.SessionID))(t), sameTree()); diff != "" {
		t.Errorf("session by id (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]host.Session{want}, suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1}))(t), sameTree()); diff != "" {
		t.Errorf("list of sessions (-want +got):\n%s", diff)
	}
}

func sessionsAt(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	w, _, list := several(t, s)
	at := func(site int64, workflow string, seconds ...int64) (found []int64) {
		times := []time.Time{}
		for _, n := range seconds {
			times = append(times, suite.Instant(n))
		}
		for _, x := range suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: site, Project: w.Project.ID, Workflow: workflow, Times: times}))(t) {
			if !x.Time.Equal(x.Last.SessionTime) || x.ID != x.Last.SessionID {
				t.Errorf("session %+v: got last attempt %+v", x, x.Last)
			}
			found = append(found, x.Last.ID)
		}
		return found
	}
	for what, c := range map[string]struct{ got, want []int64 }{
		"existing sessions": {at(1, w.Name, 20, 5, 0, 30), []int64{list[4].ID, list[3].ID}},
		"unknown times":     {at(1, w.Name, 1, 2), nil},
		"no times":          {at(1, w.Name), nil},
		"another workflow":  {at(1, "x", 0), nil},
		"another site":      {at(2, w.Name, 0), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// several creates attempts of two projects, one of them retried.
func several(t *testing.T, s suite.Stores) (w, other host.Workflow, list []host.Attempt) {
	t.Helper()
	ctx := t.Context()
	w, other = suite.Definition(t, s, 1, "demo"), suite.Definition(t, s, 1, "other")
	for _, n := range []host.NewAttempt{
		suite.AttemptOf(1, w, suite.Instant(0), ""), suite.AttemptOf(1, w, suite.Instant(10), ""), suite.AttemptOf(1, other, suite.Instant(0), ""),
		suite.AttemptOf(1, w, suite.Instant(0), "again"), suite.AttemptOf(1, w, suite.Instant(20), "")} {
		list = append(list, suite.Got(s.Attempts.Start(ctx, n))(t)[0])
	}
	return w, other, list
}

func sessionsAttempts(t *testing.T, s suite.Stores) {
	w, other, l := several(t, s)
	for _, c := range []struct {
		q    host.AttemptQuery
		want string
	}{
		{host.AttemptQuery{Site: 1}, ids(l[4], l[3], l[2], l[1])},
		{host.AttemptQuery{Site: 1, Retried: true}, ids(l[4], l[3], l[2], l[1], l[0])},
		{host.AttemptQuery{Site: 1, Retried: true, Count: 2}, ids(l[4], l[3])},
		{host.AttemptQuery{Site: 1, Retried: true, Before: l[1].ID}, ids(l[0])},
		{host.AttemptQuery{Site: 1, Before: l[3].ID, Count: 1}, ids(l[2])},
		{host.AttemptQuery{Site: 1, Project: w.Project.ID}, ids(l[4], l[3], l[1])},
		{host.AttemptQuery{Site: 1, Project: w.Project.ID, Retried: true}, ids(l[4], l[3], l[1], l[0])},
		{host.AttemptQuery{Site: 1, Project: other.Project.ID, Workflow: "main"}, ids(l[2])},
		{host.AttemptQuery{Site: 1, Project: other.Project.ID, Workflow: "mai"}, ""},
		{host.AttemptQuery{Site: 1, Session: l[0].SessionID}, ids(l[3])},
		{host.AttemptQuery{Site: 1, Session: l[0].SessionID, Retried: true}, ids(l[3], l[0])},
	} {
		if got := attempts(t, s, c.q); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.q, got, c.want)
		}
	}
}

func sessionsList(t *testing.T, s suite.Stores) {
	w, other, l := several(t, s)
	for _, c := range []struct {
		q    host.SessionQuery
		want string
	}{
		{host.SessionQuery{Site: 1}, ids(l[4], l[2], l[1], l[3])}, // by session, each with its last attempt
		{host.SessionQuery{Site: 1, Count: 1}, ids(l[4])},
		{host.SessionQuery{Site: 1, Before: l[1].SessionID}, ids(l[3])},
		{host.SessionQuery{Site: 1, Project: w.Project.ID}, ids(l[4], l[1], l[3])},
		{host.SessionQuery{Site: 1, Project: other.Project.ID, Workflow: "main", Count: 9}, ids(l[2])},
		{host.SessionQuery{Site: 1, Project: other.Project.ID, Workflow: "x"}, ""},
	} {
		text := ""
		for _, n := range suite.Got(s.Sessions.Sessions(t.Context(), c.q))(t) {
			text += ids(n.Last)
		}
		if text != c.want {
			t.Errorf("%+v: got %s, want %s", c.q, text, c.want)
		}
	}
}

// sessionsBounded proves that large parameters make pages short and lose nothing: a reader that continues from the last
// row of each page until one is empty gets all rows.
func sessionsBounded(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	w := suite.Definition(t, s, 1, "demo")
	const each = 500 << 10 // more than fits into a DynamoDB item
	var all []host.Attempt
	for i := range 7 {
		n := suite.AttemptOf(1, w, suite.Instant(int64(i)), "")
		n.Params = param.New("text", strings.Repeat(strconv.Itoa(i), each))
		all = append(all, suite.Got(s.Attempts.Start(ctx, n))(t)[0])
	}
	slices.Reverse(all)
	for bytes, want := range map[int][]int{0: {7}, 1: {1, 1, 1, 1, 1, 1, 1}, 3*each + each/2: {3, 3, 1}} {
		var sizes, sessionSizes []int
		var list, sessions []host.Attempt
		for before := int64(0); ; before = list[len(list)-1].ID {
			page := suite.Got(s.Sessions.Attempts(ctx, host.AttemptQuery{Site: 1, Before: before, Count: 10, Bytes: bytes}))(t)
			if len(page) == 0 {
				break
			}
			sizes, list = append(sizes, len(page)), append(list, page...)
		}
		for before := int64(0); ; before = sessions[len(sessions)-1].SessionID {
			page := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1, Before: before, Count: 10, Bytes: bytes}))(t)
			if len(page) == 0 {
				break
			}
			sessionSizes = append(sessionSizes, len(page))
			for _, one := range page {
				sessions = append(sessions, one.Last)
			}
		}
		if ids(list...) != ids(all...) || ids(sessions...) != ids(all...) || !slices.Equal(sizes, want) || !slices.Equal(sessionSizes, want) {
			t.Errorf("%d bytes: got pages of %v attempts and %v sessions, want %v; attempts %s, sessions %s, want %s",
				bytes, sizes, sessionSizes, want, ids(list...), ids(sessions...), ids(all...))
		}
	}
}

func sessionsActive(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	_, _, l := several(t, s)
	two := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(2, suite.Definition(t, s, 2, "demo"), suite.Instant(0), "")))(t)[0]
	suite.Must(t, s.Attempts.Finish(ctx, l[1].ID, host.End{At: suite.Instant(50)}))
	for _, c := range []struct {
		site, after int64
		n           int
		want        string
	}{{1, 0, 10, ids(l[0], l[2], l[3], l[4])}, {1, l[2].ID, 1, ids(l[3])}, {2, 0, 10, ids(two)}, {-1, l[3].ID, 10, ids(l[4], two)}} {
		if list := suite.Got(s.Sessions.Active(ctx, host.ActiveQuery{Site: c.site, After: c.after, Count: c.n}))(t); ids(list...) != c.want {
			t.Errorf("active attempts of site %d after %d: got %s, want %s", c.site, c.after, ids(list...), c.want)
		}
	}
	for limit, want := range map[int]int{3: 3, 4: 4, 5: 4} {
		if n := suite.Got(s.Sessions.CountActive(ctx, 1, limit))(t); n != want {
			t.Errorf("got %d active attempts with limit %d, want %d", n, limit, want)
		}
	}
}

func sessionsBefore(t *testing.T, s suite.Stores) {
	w, _, _ := several(t, s)
	for _, c := range []struct {
		workflow string
		before   time.Time
		want     time.Time
	}{{"main", suite.Instant(100), suite.Instant(20)}, {"main", suite.Instant(20), suite.Instant(10)}, {"main", suite.Instant(0), time.Time{}}, {"x", suite.Instant(100), time.Time{}}} {
		if at := suite.Got(s.Sessions.LastSession(t.Context(), w.Project.ID, c.workflow, c.before))(t); !at.Equal(c.want) {
			t.Errorf("last session of %s before %v: got %v, want %v", c.workflow, c.before, at, c.want)
		}
	}
}
