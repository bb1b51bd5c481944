package hosttest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// retentionSuite checks host.Retention.
func retentionSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"removes all records of a session":          forgetWhole,
		"keeps the last finished session":           forgetLast,
		"keeps unfinished sessions":                 forgetUnfinished,
		"keeps sessions that others wait for":       forgetWaitedFor,
		"reports a failed cleanup":                  forgetRefused,
		"keeps restarted sessions":                  forgetStartedAgain,
		"keeps future sessions":                     forgetAhead,
		"keeps sessions that a schedule will reach": forgetScheduled,
		"session with many attempts":                forgetMany,
		"list old attempts":                         forgetOld,
		"list old imported attempts":                forgetImported,
		"remembers removed sessions":                forgetNoted,
		"state of an archive":                       forgetArchive,
		"removes old audit records":                 forgetRecords,
	}.Run(t, h)
}

// over creates a session whose attempts have these names and ended at the given time.
func over(t *testing.T, s suite.Stores, w host.Workflow, session, end int64, names ...string) []host.Attempt {
	t.Helper()
	var list []host.Attempt
	for _, name := range names {
		n := suite.AttemptOf(1, w, suite.Instant(session), name)
		n.Params = param.New("large", noise())
		a := suite.Got(s.Attempts.Start(t.Context(), n))(t)[0]
		suite.Must(t, s.Attempts.Finish(t.Context(), a.ID, host.End{At: suite.Instant(end), Success: true, Archive: []byte(fmt.Sprint("state of ", a.ID))}))
		list = append(list, a)
	}
	return list
}

// noise returns text that stays large when it is compressed.
func noise() string {
	var b strings.Builder
	for range 350 {
		b.WriteString(rand.Text())
	}
	return b.String()
}

// forget requests that a session be removed if it ended before the given time.
func forget(t *testing.T, s suite.Stores, a host.Attempt, before int64) bool {
	t.Helper()
	return suite.Got(s.Retention.Forget(t.Context(), a.Site, a.SessionID, suite.Instant(before), nil))(t)
}

// gone checks that no list or lookup still shows the session's attempts.
func gone(t *testing.T, s suite.Stores, list []host.Attempt) {
	t.Helper()
	ctx := t.Context()
	for _, a := range list {
		_, err := s.Attempts.Attempt(ctx, 1, a.ID)
		suite.WantError(t, "attempt by id", err, host.ErrNotFound)
		_, err = s.Attempts.Archive(ctx, a.ID)
		suite.WantError(t, "final state", err, host.ErrNotFound)
		_, err = s.Log.Load(ctx, a.ID)
		suite.WantError(t, "log", err, host.ErrNotFound)
	}
	_, err := s.Sessions.Session(ctx, 1, list[0].SessionID)
	suite.WantError(t, "session by id", err, host.ErrNotFound)
}

func forgetWhole(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	first, second := over(t, s, w, 0, 10, "", "a", "b"), over(t, s, w, 3600, 20, "")
	var told []int64
	clear := func(_ context.Context, list []host.Attempt) error {
		told = nil
		for _, a := range list {
			_, err := s.Attempts.Attempt(ctx, 1, a.ID)
			suite.WantError(t, "removed attempt", err, host.ErrNotFound)
			told = append(told, a.ID)
		}
		return nil
	}
	if !suite.Got(s.Retention.Forget(ctx, 1, first[0].SessionID, suite.Instant(30), clear))(t) {
		t.Fatal("the session was not removed")
	}
	if diff := cmp.Diff([]int64{first[0].ID, first[1].ID, first[2].ID}, told); diff != "" {
		t.Errorf("removed attempts: %s", diff)
	}
	gone(t, s, first)
	if list := attempts(t, s, host.AttemptQuery{Site: 1, Retried: true}); list != ids(second[0]) {
		t.Errorf("got attempts %s", list)
	}
	if list := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1}))(t); len(list) != 1 || list[0].Last.ID != second[0].ID {
		t.Errorf("got sessions %+v", list)
	}
	if forget(t, s, first[0], 30) {
		t.Error("the session was removed twice")
	}
	suite.Must(t, s.Retention.Clear(ctx))
	again := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0]
	if again.Index != 1 || again.SessionID == first[0].SessionID {
		t.Errorf("got restarted attempt %+v", again)
	}
}

func forgetLast(t *testing.T, s suite.Stores) {
	w := suite.Definition(t, s, 1, "demo")
	first, second := over(t, s, w, 0, 10, ""), over(t, s, w, 3600, 20, "")
	if forget(t, s, second[0], 1000) {
		t.Error("the last session was removed")
	}
	if !forget(t, s, first[0], 1000) {
		t.Error("the first session was not removed")
	}
	if at := suite.Got(s.Sessions.LastSession(t.Context(), w.Project.ID, w.Name, suite.Instant(4000)))(t); !at.Equal(suite.Instant(3600)) {
		t.Errorf("got last session %v", at)
	}
	suite.Got(s.Attempts.Start(t.Context(), suite.AttemptOf(1, w, suite.Instant(7200), "")))(t)
	if forget(t, s, second[0], 1000) {
		t.Error("the last finished session was removed while the next one is running")
	}
}

func forgetUnfinished(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 0, 10, "")
	over(t, s, w, 3600, 20, "")
	if forget(t, s, list[0], 10) {
		t.Error("a session that ended at the limit was removed")
	}
	if suite.Got(s.Retention.Forget(ctx, 2, list[0].SessionID, suite.Instant(1000), nil))(t) {
		t.Error("the session was removed for another site")
	}
	a := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "a")))(t)[0]
	if forget(t, s, a, 1000) {
		t.Error("a session with a running attempt was removed")
	}
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(2000)}))
	if forget(t, s, a, 1000) {
		t.Error("a session with an attempt that ended later was removed")
	}
	if all := attempts(t, s, host.AttemptQuery{Site: 1, Session: a.SessionID, Retried: true}); all != ids(a, list[0]) {
		t.Errorf("got attempts %s", all)
	}
}

func forgetWaitedFor(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	waits := suite.AttemptOf(1, w, suite.Instant(0), "")
	waits.WaitsFor = 0
	list := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(3600), ""), waits))(t)
	first, second := list[0], list[1]
	suite.Must(t, s.Attempts.Finish(ctx, first.ID, host.End{At: suite.Instant(10)}))
	over(t, s, w, 7200, 20, "")
	if forget(t, s, first, 4000) {
		t.Error("a session with a waiting successor was removed")
	}
	suite.Must(t, s.Attempts.Finish(ctx, second.ID, host.End{At: suite.Instant(15)}))
	if !forget(t, s, first, 4000) {
		t.Error("a session that no other one waits for any more was not removed")
	}
}

func forgetRefused(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 0, 10, "", "a")
	over(t, s, w, 3600, 20, "")
	no := errors.New("the disk is unavailable")
	removed, err := s.Retention.Forget(ctx, 1, list[0].SessionID, suite.Instant(30), func(context.Context, []host.Attempt) error { return no })
	suite.WantError(t, "forget", err, no)
	if !removed {
		t.Error("the session was not removed")
	}
	gone(t, s, list)
}

func forgetStartedAgain(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 0, 10, "")
	over(t, s, w, 3600, 20, "")
	list = append(list, suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "again")))(t)[0])
	removed := suite.Got(s.Retention.Forget(ctx, 1, list[0].SessionID, suite.Instant(30), func(context.Context, []host.Attempt) error {
		t.Error("cleanup was called for a restarted session")
		return nil
	}))(t)
	if removed {
		t.Error("the restarted session was removed")
	}
	if all := attempts(t, s, host.AttemptQuery{Site: 1, Session: list[0].SessionID, Retried: true}); all != ids(list[1], list[0]) {
		t.Errorf("got attempts %s", all)
	}
}

func forgetAhead(t *testing.T, s suite.Stores) {
	w := suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 3600, 10, "")
	over(t, s, w, 7200, 20, "")
	if forget(t, s, list[0], 3600) {
		t.Error("the session was removed at its session time")
	}
	if !forget(t, s, list[0], 3601) {
		t.Error("the session was not removed after its session time")
	}
}

func forgetScheduled(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	times := func(session int64) host.Times {
		return host.Times{Run: suite.Instant(session), Session: suite.Instant(session)}
	}
	suite.Got(suite.Push(ctx, s, 1, "demo", "r2", []string{"main"}, map[string]host.Times{"main": times(3600)}))(t)
	schedule := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)[0]
	before, next := over(t, s, w, 0, 10, ""), over(t, s, w, 3600, 20, "")
	over(t, s, w, 7200, 30, "")
	if !forget(t, s, before[0], 10000) {
		t.Error("a session that the schedule has passed was not removed")
	}
	if forget(t, s, next[0], 10000) {
		t.Error("the next session of the schedule was removed")
	}
	schedule.DisabledAt = suite.Instant(40)
	suite.Must(t, s.Schedules.Update(ctx, schedule, schedule.Times, suite.Instant(40)))
	if forget(t, s, next[0], 10000) {
		t.Error("the next session of the disabled schedule was removed")
	}
	old := schedule.Times
	schedule.Times = times(7200)
	suite.Must(t, s.Schedules.Update(ctx, schedule, old, suite.Instant(50)))
	if !forget(t, s, next[0], 10000) {
		t.Error("a session that the moved schedule has passed was not removed")
	}
}

func forgetMany(t *testing.T, s suite.Stores) {
	w := suite.Definition(t, s, 1, "demo")
	names := []string{""}
	for i := range 31 {
		names = append(names, fmt.Sprint("n", i))
	}
	list := over(t, s, w, 0, 10, names...)
	over(t, s, w, 3600, 20, "")
	if !forget(t, s, list[0], 30) {
		t.Fatal("the session was not removed")
	}
	gone(t, s, list)
}

// forgetNoted checks automatic starts: a removed session is not started again, even if a user has since started it by
// hand, while an existing attempt of that name is still found.
func forgetNoted(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 0, 10, "", "a")
	over(t, s, w, 3600, 20, "")
	once := func(session int64, name string) ([]host.Attempt, error) {
		n := suite.AttemptOf(1, w, suite.Instant(session), name)
		n.Once = true
		return s.Attempts.Start(ctx, n)
	}
	if !forget(t, s, list[0], 30) {
		t.Fatal("the session was not removed")
	}
	for _, name := range []string{"", "b"} {
		_, err := once(0, name)
		suite.WantError(t, "automatic start of a removed session", err, host.ErrForgotten)
	}
	if list := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1}))(t); len(list) != 1 {
		t.Errorf("got %d sessions, want 1", len(list))
	}
	suite.Got(once(1800, ""))(t) // the session never existed, although it is equally old
	other := suite.Definition(t, s, 1, "other")
	other.ID++ // regardless of its definition
	n := suite.AttemptOf(1, other, suite.Instant(0), "")
	n.Once = true
	suite.Got(s.Attempts.Start(ctx, n))(t)
	again := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0]
	there, err := once(0, "")
	suite.WantError(t, "automatic start of a session that a user restarted", err, host.ErrConflict)
	if len(there) != 1 || there[0].ID != again.ID {
		t.Errorf("got conflicting attempts %+v", there)
	}
	_, err = once(0, "c")
	suite.WantError(t, "automatic start with another name", err, host.ErrForgotten)
}

func forgetOld(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	list := over(t, s, w, 0, 10, "", "a")
	running := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(7200), "")))(t)[0]
	later := s.Now().Add(time.Hour) // ids may contain the clock's time; rows have the test case's time
	if at := suite.Instant(1 << 20); at.After(later) {
		later = at
	}
	var found []int64
	for after := int64(0); ; after = found[len(found)-1] {
		part := suite.Got(s.Retention.Old(ctx, later, after, 1))(t)
		if len(part) == 0 {
			break
		}
		found = append(found, part[0].ID)
		if part[0].ID == list[1].ID && (part[0].Index != 2 || !part[0].Done || !part[0].FinishedAt.Equal(suite.Instant(10)) || part[0].Site != 1 || part[0].SessionID != list[0].SessionID) {
			t.Errorf("got old attempt %+v", part[0])
		}
	}
	if diff := cmp.Diff([]int64{list[0].ID, list[1].ID, running.ID}, found); diff != "" {
		t.Errorf("old attempts: %s", diff)
	}
	if part := suite.Got(s.Retention.Old(ctx, suite.Instant(-1000), 0, 10))(t); len(part) != 0 {
		t.Errorf("got attempts %+v from before the first one", part)
	}
}

// forgetImported checks that attempts of another server, whose numbers are higher than those of younger attempts, are
// found by their age.
func forgetImported(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	young := suite.AttemptOf(1, w, suite.Instant(7200), "")
	young.CreatedAt = suite.Instant(5000)
	if first := suite.Got(s.Attempts.Start(ctx, young))(t)[0]; first.ID > 1<<32 {
		t.Skip("the numbers of attempts contain the time at which they were stored")
	}
	var rows []host.PastAttempt
	for i := range 3 {
		rows = append(rows, past(w, int64(100+i), ""))
	}
	suite.Got(s.Attempts.Import(ctx, rows...))(t)
	n := 0
	for after := int64(0); ; n++ {
		part := suite.Got(s.Retention.Old(ctx, suite.Instant(1000), after, 1))(t)
		if len(part) == 0 {
			break
		}
		if after = part[0].ID; !part[0].Imported {
			t.Errorf("got %+v", part[0])
		}
	}
	if n != len(rows) {
		t.Errorf("got %d of %d attempts", n, len(rows))
	}
}

// forgetArchive checks that if two callers change an archive's state, one of them gets a conflict, that a change may be
// repeated, and that the state belongs to one revision.
func forgetArchive(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for _, name := range []string{"r1", "r2"} {
		suite.Got(suite.Push(ctx, s, 1, "demo", name, []string{"main"}, nil))(t)
	}
	other := suite.Got(suite.Push(ctx, s, 2, "other", "r1", []string{"main"}, nil))(t)
	p := suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: 1}))(t)[0]
	all := suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: host.AnySite}))(t)
	if len(all) != 2 || all[0].ID != p.ID || all[1].ID != other.ID {
		t.Errorf("got projects of all sites %+v", all)
	}
	if rest := suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: host.AnySite, After: p.ID, Count: 1}))(t); len(rest) != 1 || rest[0].ID != other.ID {
		t.Errorf("got second page %+v", rest)
	}
	revisions := func() []host.Revision {
		return suite.Got(s.Projects.Revisions(ctx, host.RevisionQuery{Site: 1, Project: p.ID}))(t)
	}
	r := revisions()[1]
	none, going := host.ArchiveState{}, host.ArchiveState{Going: suite.Instant(7).Add(123456789)}
	removed := host.ArchiveState{Removed: suite.Instant(9), Cleared: true}
	for _, step := range []struct {
		old, state host.ArchiveState
		err        error
	}{{none, none, nil}, {going, removed, host.ErrConflict}, {none, going, nil}, {none, going, nil}, {none, removed, host.ErrConflict}, {going, removed, nil}, {going, none, host.ErrConflict}} {
		suite.WantError(t, fmt.Sprintf("from %q to %q", step.old.Text(), step.state.Text()), s.Retention.SetArchive(ctx, r, step.old, step.state), step.err)
	}
	list := revisions()
	if diff := cmp.Diff([]host.ArchiveState{none, removed}, []host.ArchiveState{list[0].Kept, list[1].Kept}); diff != "" {
		t.Errorf("states of archives (-want +got):\n%s", diff)
	}
	if named := suite.Got(s.Projects.Revisions(ctx, host.RevisionQuery{Site: 1, Project: p.ID, Name: "r1"}))(t); named[0].Kept != removed {
		t.Errorf("got state %+v by name", named[0].Kept)
	}
	suite.Must(t, s.Retention.SetArchive(ctx, r, removed, none))
	r.ID += 1000
	suite.WantError(t, "state of an unknown revision", s.Retention.SetArchive(ctx, r, none, going), host.ErrNotFound)
}

func forgetRecords(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for _, site := range []int64{1, 2} {
		suite.Got(suite.Push(ctx, s, site, "demo", "r1", []string{"main"}, nil))(t)
	}
	for i := range 4 {
		suite.Must(t, s.Audit.Record(ctx, host.Record{At: suite.Instant(int64(i)), Site: int64(1 + i%2), Who: "me", Action: "push"}))
	}
	if n := suite.Got(s.Retention.ForgetRecords(ctx, suite.Instant(-1000), 10))(t); n != 0 {
		t.Errorf("removed %d records that are not old", n)
	}
	later := s.Now().Add(time.Hour) // ids may contain the clock's time; rows have the test case's time
	if at := suite.Instant(1 << 20); at.After(later) {
		later = at
	}
	left := func(site int64) int {
		return len(suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: site, Count: 10}))(t))
	}
	if n := suite.Got(s.Retention.ForgetRecords(ctx, later, 1))(t); n != 1 || left(1) != 1 || left(2) != 2 {
		t.Errorf("removed %d; %d and %d remain", n, left(1), left(2))
	}
	if n := suite.Got(s.Retention.ForgetRecords(ctx, later, 10))(t); n != 3 || left(1)+left(2) != 0 {
		t.Errorf("removed %d; %d and %d remain", n, left(1), left(2))
	}
}
