package hosttest

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// attemptsSuite checks host.Attempts.
func attemptsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"start creates all records":       attemptsStart,
		"one unnamed attempt per session": attemptsConflict,
		"starts all of a list or none":    attemptsList,
		"new sessions only":               attemptsNew,
		"concurrent starts of a session":  attemptsRace,
		"waiting attempt":                 attemptsWait,
		"waiting attempt begins once":     attemptsBeginRace,
		"waiting attempt ends":            attemptsWaitEnds,
		"cancel":                          attemptsCancel,
		"pause and unpause":               attemptsPause,
		"delayed start":                   attemptsLater,
		"labels":                          attemptsLabels,
		"finish":                          attemptsFinish,
		"import":                          attemptsImport,
		"import beside a start":           attemptsImportBeside,
		"logs expire, attempts remain":    attemptsExpire,
		"sites are isolated":              attemptsSites,
	}.Run(t, h)
}

func attemptsStart(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	n := suite.AttemptOf(1, w, suite.Instant(0), "")
	a := suite.Got(s.Attempts.Start(ctx, n))(t)[0]
	want := host.Attempt{ID: a.ID, Site: 1, SessionID: a.SessionID, SessionUUID: a.SessionUUID, SessionTime: suite.Instant(0), Project: w.Project,
		Workflow: host.Ref{ID: w.ID, Name: "main"}, Index: 1, Zone: "Asia/Tokyo", Params: param.New("p", int64(1), "data", param.Literal("${x}")), CreatedAt: suite.Instant(1)}
	if diff := cmp.Diff(want, a, sameTree()); diff != "" || a.ID == 0 || a.SessionID == 0 || len(a.SessionUUID) != 36 {
		t.Errorf("started attempt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t), sameTree()); diff != "" {
		t.Errorf("attempt by id (-want +got):\n%s", diff)
	}
	l := suite.Got(s.Log.Load(ctx, a.ID))(t)
	if diff := cmp.Diff([]host.Entry{loaded(n.First)}, loadedAll(l.Entries)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	d := suite.Receive(t, s.Events, suite.Long)
	id := strconv.FormatInt(a.ID, 10)
	if d.ID != id+"/go" || d.Group != id || string(d.Body) != "{}" {
		t.Errorf("got message %+v", d.Message)
	}
	second := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "again")))(t)[0]
	if second.SessionID != a.SessionID || second.SessionUUID != a.SessionUUID || second.Index != 2 || second.RetryName != "again" || second.ID <= a.ID {
		t.Errorf("got second attempt of the session %+v", second)
	}
	third := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(3600), "")))(t)[0]
	if third.SessionID == a.SessionID || third.SessionUUID == a.SessionUUID || third.Index != 1 {
		t.Errorf("got first attempt of another session %+v", third)
	}
}

func attemptsConflict(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	first := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0]
	named := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "x")))(t)[0]
	last := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "y")))(t)[0]
	for name, want := range map[string]int64{"": last.ID, "x": named.ID, "y": last.ID} {
		list, err := s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), name))
		suite.WantError(t, "start again", err, host.ErrConflict)
		if len(list) != 1 || list[0].ID != want {
			t.Errorf("restart of %q conflicts with %+v, want attempt %d", name, list, want)
		}
	}
	if list := attempts(t, s, host.AttemptQuery{Site: 1, Retried: true}); list != ids(last, named, first) {
		t.Errorf("got attempts %s after the conflicts", list)
	}
}

func attemptsNew(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	only := func(name string, seconds int64) host.NewAttempt {
		n := suite.AttemptOf(1, w, suite.Instant(seconds), name)
		n.New = true
		return n
	}
	first := suite.Got(s.Attempts.Start(ctx, only("x", 0)))(t)[0]
	last := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "y")))(t)[0]
	another := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(5), "y")))(t)[0]
	for _, c := range []struct {
		n    host.NewAttempt
		want int64
	}{{only("x", 0), first.ID}, {only("y", 0), last.ID}, {only("z", 0), last.ID}, {only("", 0), last.ID}, {only("z", 5), another.ID}, {only("y", 5), another.ID}} {
		list, err := s.Attempts.Start(ctx, c.n)
		suite.WantError(t, "start of an existing session", err, host.ErrConflict)
		if len(list) != 1 || list[0].ID != c.want {
			t.Errorf("start of %q at %v conflicts with %+v, want attempt %d", c.n.RetryName, c.n.SessionTime, list, c.want)
		}
	}
	if list := attempts(t, s, host.AttemptQuery{Site: 1, Retried: true}); list != ids(another, last, first) {
		t.Errorf("got attempts %s after the conflicts", list)
	}
}

func attemptsList(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	there := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(100), "")))(t)[0]
	list, err := s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), ""), suite.AttemptOf(1, w, suite.Instant(100), ""), suite.AttemptOf(1, w, suite.Instant(200), ""))
	suite.WantError(t, "a list with an existing session", err, host.ErrConflict)
	if len(list) != 1 || list[0].ID != there.ID {
		t.Errorf("the list conflicts with %+v, want attempt %d", list, there.ID)
	}
	if all := attempts(t, s, host.AttemptQuery{Site: 1}); all != ids(there) {
		t.Errorf("got attempts %s after the conflict, want only %d", all, there.ID)
	}
	suite.Must(t, s.Events.Delete(ctx, suite.Receive(t, s.Events, suite.Long)))
	suite.Nothing(t, s.Events)
	list = suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), ""), suite.AttemptOf(1, w, suite.Instant(200), "")))(t)
	if all := attempts(t, s, host.AttemptQuery{Site: 1}); all != ids(list[1], list[0], there) {
		t.Errorf("got attempts %s", all)
	}
}

func attemptsRace(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	var all sync.WaitGroup
	var mu sync.Mutex
	var won, lost []int64
	for range 6 {
		all.Go(func() {
			list, err := s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), ""))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won = append(won, list[0].ID)
			case errors.Is(err, host.ErrConflict) && len(list) == 1:
				lost = append(lost, list[0].ID)
			default:
				t.Errorf("start: %v, %v", list, err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d concurrent starts of a session succeeded, want 1", len(won))
	}
	for _, id := range lost {
		if id != won[0] {
			t.Errorf("got a conflict with attempt %d, want attempt %d", id, won[0])
		}
	}
}

// waiting starts two attempts, the second of which waits for the session of the first.
func waiting(t *testing.T, s suite.Stores) (first, second host.Attempt) {
	t.Helper()
	w := suite.Definition(t, s, 1, "demo")
	n := suite.AttemptOf(1, w, suite.Instant(3600), "")
	n.WaitsFor, n.First, n.Message = 0, host.Entry{}, host.Message{}
	list := suite.Got(s.Attempts.Start(t.Context(), suite.AttemptOf(1, w, suite.Instant(0), ""), n))(t)
	suite.Must(t, s.Events.Delete(t.Context(), suite.Receive(t, s.Events, suite.Long)))
	return list[0], list[1]
}

func begin() (host.Entry, host.Message) {
	n := suite.AttemptOf(1, host.Workflow{}, suite.Instant(0), "")
	return n.First, n.Message
}

func attemptsWait(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	first, second := waiting(t, s)
	if second.AfterSession != first.SessionID || first.AfterSession != 0 {
		t.Errorf("the attempts wait for sessions %d and %d, want 0 and %d", first.AfterSession, second.AfterSession, first.SessionID)
	}
	suite.Nothing(t, s.Events)
	_, err := s.Log.Load(ctx, second.ID)
	suite.WantError(t, "load a waiting attempt", err, host.ErrNotFound)
	if list := suite.Got(s.Sessions.Waiting(ctx, first.SessionID))(t); ids(list...) != ids(second) {
		t.Errorf("got waiting attempts %s, want %d", ids(list...), second.ID)
	}
	if list := suite.Got(s.Sessions.Active(ctx, host.ActiveQuery{Site: 1, Count: 10}))(t); ids(list...) != ids(first, second) {
		t.Errorf("got active attempts %s, want both", ids(list...))
	}
	e, m := begin()
	suite.Must(t, s.Attempts.Begin(ctx, second.ID, e, m))
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, second.ID))(t); a.AfterSession != 0 {
		t.Errorf("after its beginning the attempt waits for session %d", a.AfterSession)
	}
	if list := suite.Got(s.Sessions.Waiting(ctx, first.SessionID))(t); len(list) != 0 {
		t.Errorf("got waiting attempts %s after the beginning, want none", ids(list...))
	}
	if d, id := suite.Receive(t, s.Events, suite.Long), strconv.FormatInt(second.ID, 10); d.ID != id+"/go" || d.Group != id {
		t.Errorf("got message %+v", d.Message)
	}
	suite.Got(s.Log.Load(ctx, second.ID))(t)
	suite.Must(t, s.Log.Append(ctx, second.ID, entry(2, "n")))
}

func attemptsBeginRace(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	_, second := waiting(t, s)
	var all sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 6 {
		all.Go(func() {
			e, m := begin()
			err := s.Attempts.Begin(ctx, second.ID, e, m)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, host.ErrConflict) {
				t.Errorf("begin: %v", err)
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d of 6 concurrent calls began the attempt, want 1", won)
	}
	e, m := begin()
	suite.WantError(t, "begin an unknown attempt", s.Attempts.Begin(ctx, second.ID+100, e, m), host.ErrNotFound)
}

func attemptsWaitEnds(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	first, second := waiting(t, s)
	suite.Must(t, s.Attempts.Finish(ctx, second.ID, host.End{At: suite.Instant(9), Canceled: true}))
	if list := suite.Got(s.Sessions.Waiting(ctx, first.SessionID))(t); len(list) != 0 {
		t.Errorf("got waiting attempts %s after the end, want none", ids(list...))
	}
	e, m := begin()
	suite.WantError(t, "begin after the end", s.Attempts.Begin(ctx, second.ID, e, m), host.ErrConflict)
	suite.Nothing(t, s.Events)
}

func attemptsCancel(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); !a.Canceled || a.Done || a.Status() != "running" {
		t.Errorf("got %+v after the kill", a)
	}
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(9)}))
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); a.Status() != "killed" {
		t.Errorf("got status %s, want killed", a.Status())
	}
	suite.WantError(t, "cancel an unknown attempt", s.Attempts.Cancel(ctx, a.ID+1), host.ErrNotFound)
}

func attemptsPause(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	for _, paused := range []bool{true, true, false, false, true} {
		suite.Must(t, s.Attempts.SetPaused(ctx, a.ID, paused))
		if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); a.Paused != paused || a.Canceled || a.Done || a.Status() != "running" {
			t.Errorf("after SetPaused(%v): got %+v", paused, a)
		}
	}
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); !a.Canceled || !a.Paused {
		t.Errorf("got %+v after the kill", a)
	}
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(9)}))
	suite.Must(t, s.Attempts.SetPaused(ctx, a.ID, false))
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); a.Status() != "killed" || !a.Paused {
		t.Errorf("got %+v after the end", a)
	}
	suite.WantError(t, "pause an unknown attempt", s.Attempts.SetPaused(ctx, a.ID+1, true), host.ErrNotFound)
}

// attemptsLater checks that the time at which an attempt will begin stays the same no matter what else is recorded,
// even in lists.
func attemptsLater(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	n := suite.AttemptOf(1, w, suite.Instant(0), "")
	n.StartsAt = suite.Instant(7200)
	a := suite.Got(s.Attempts.Start(ctx, n))(t)[0]
	same := func(when string) {
		t.Helper()
		list := suite.Got(s.Sessions.Attempts(ctx, host.AttemptQuery{Site: 1, Retried: true}))(t)
		for _, a := range append(list, a, suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t)) {
			if !a.StartsAt.Equal(n.StartsAt) || !a.BeginsAt().Equal(n.StartsAt) {
				t.Errorf("%s: got start time %v in %+v", when, a.StartsAt, a)
			}
		}
		if len(list) != 1 {
			t.Errorf("got a list of %d attempts", len(list))
		}
	}
	same("after the start")
	suite.Must(t, s.Attempts.SetPaused(ctx, a.ID, true))
	suite.Must(t, s.Attempts.SetPaused(ctx, a.ID, false))
	same("after a pause")
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(9), Canceled: true}))
	same("after the end")
	if a := suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t); a.Status() != "killed" || a.Paused {
		t.Errorf("got %+v after the end", a)
	}
}

// attemptsLabels checks that labels keep their values and their order in all lists, and that each attempt of a session
// has separate labels.
func attemptsLabels(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	n, plain := suite.AttemptOf(1, w, suite.Instant(0), ""), suite.AttemptOf(1, w, suite.Instant(3600), "")
	n.Labels = param.New("team", "sales", "note", "für = alle", "a", "1")
	a := suite.Got(s.Attempts.Start(ctx, n, plain))(t)[0]
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(9), Canceled: true}))
	again := suite.AttemptOf(1, w, suite.Instant(0), "again")
	again.Labels = param.New("team", "other")
	suite.Got(s.Attempts.Start(ctx, again))(t)
	want := map[string]string{"": param.Text(n.Labels), "again": param.Text(again.Labels)}
	list := append(suite.Got(s.Sessions.Attempts(ctx, host.AttemptQuery{Site: 1, Retried: true}))(t), a, suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t))
	if len(list) != 5 {
		t.Errorf("got a list of %d attempts", len(list)-2)
	}
	for _, x := range list {
		switch {
		case x.SessionTime.Equal(plain.SessionTime):
			if x.Labels != nil {
				t.Errorf("got labels in %+v, want none", x)
			}
		case param.Text(x.Labels) != want[x.RetryName]:
			t.Errorf("attempt %q: got labels %s, want %s", x.RetryName, param.Text(x.Labels), want[x.RetryName])
		}
	}
	if last := suite.Got(s.Sessions.Session(ctx, 1, a.SessionID))(t).Last; param.Text(last.Labels) != want["again"] {
		t.Errorf("got labels %s of the last attempt", param.Text(last.Labels))
	}
}

func attemptsFinish(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	_, err := s.Attempts.Archive(ctx, a.ID)
	suite.WantError(t, "archive before the end", err, host.ErrNotFound)
	archive := make([]byte, 300_000)
	archive[len(archive)-1] = 7
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(9), Success: true, Archive: archive, HasOutputs: true, Ignored: true}))
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(99), Canceled: true, Archive: []byte("other")}))
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	a.FinishedAt, a.Done, a.Success, a.HasOutputs, a.Ignored = suite.Instant(9), true, true, true, true
	if diff := cmp.Diff(a, suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t), sameTree()); diff != "" {
		t.Errorf("finished attempt (-want +got):\n%s", diff)
	}
	if kept := suite.Got(s.Attempts.Archive(ctx, a.ID))(t); len(kept) != len(archive) || kept[len(kept)-1] != 7 {
		t.Errorf("got an archive of %d bytes, want the first one with %d", len(kept), len(archive))
	}
	suite.WantError(t, "finish an unknown attempt", s.Attempts.Finish(ctx, a.ID+1, host.End{At: suite.Instant(9)}), host.ErrNotFound)
}

// past returns an attempt of another server.
func past(w host.Workflow, session int64, name string) host.PastAttempt {
	return host.PastAttempt{Site: 1, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: suite.Instant(session), SessionUUID: host.NewUUID(), RetryName: name,
		Zone: "Asia/Tokyo", Params: param.New("p", int64(1)), CreatedAt: suite.Instant(session + 1), FinishedAt: suite.Instant(session + 2)}
}

func attemptsImport(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	failed, done, killed := past(w, 0, ""), past(w, 0, "again"), past(w, 10, "")
	done.Success, killed.Canceled = true, true
	imports := func(list ...host.PastAttempt) int { return suite.Got(s.Attempts.Import(ctx, list...))(t) }
	if n := imports(failed, done); n != 2 {
		t.Fatalf("imported %d attempts, want 2", n)
	}
	for what, list := range map[string][]host.PastAttempt{"again": {failed, done}, "and more": {failed, killed}, "none": nil} {
		want := 0
		if what == "and more" {
			want = 1
		}
		if n := imports(list...); n != want {
			t.Errorf("imported %s: got %d attempts, want %d", what, n, want)
		}
	}
	// The last attempt decides what a session is: an older attempt must not replace it, in whatever order they arrive.
	older := past(w, 0, "older")
	older.CreatedAt = suite.Instant(0)
	if n := imports(older); n != 0 {
		t.Errorf("imported %d attempts that are older than the last one of their session, want none", n)
	}
	list := suite.Got(s.Sessions.Attempts(ctx, host.AttemptQuery{Site: 1, Retried: true}))(t)
	if len(list) != 3 {
		t.Fatalf("got attempts %s, want 3", ids(list...))
	}
	last, second, first := list[0], list[1], list[2]
	want := host.Attempt{ID: first.ID, Site: 1, SessionID: first.SessionID, SessionUUID: failed.SessionUUID, SessionTime: suite.Instant(0), Project: w.Project, Workflow: failed.Workflow, Index: 1,
		Zone: "Asia/Tokyo", Params: param.New("p", int64(1)), CreatedAt: suite.Instant(1), FinishedAt: suite.Instant(2), Done: true, Imported: true}
	again := want
	again.ID, again.Index, again.RetryName, again.Success = second.ID, 2, "again", true
	other := want
	other.ID, other.SessionID, other.SessionUUID, other.SessionTime, other.CreatedAt, other.FinishedAt = last.ID, last.SessionID, killed.SessionUUID, suite.Instant(10), suite.Instant(11), suite.Instant(12)
	other.Canceled = true
	if diff := cmp.Diff([]host.Attempt{other, again, want}, list, sameTree()); diff != "" {
		t.Errorf("imported attempts (-want +got):\n%s", diff)
	}
	if got := suite.Got(s.Sessions.Session(ctx, 1, first.SessionID))(t); got.Last.ID != second.ID || got.UUID != failed.SessionUUID {
		t.Errorf("got session %+v, want its last attempt to be %d", got, second.ID)
	}
	if got := attempts(t, s, host.AttemptQuery{Site: 1}); got != ids(last, second) {
		t.Errorf("got last attempts %s, want %s", got, ids(last, second))
	}
	if n := suite.Got(s.Sessions.CountActive(ctx, 1, 10))(t); n != 0 {
		t.Errorf("got %d active attempts, want none", n)
	}
	_, err := s.Attempts.Archive(ctx, first.ID)
	suite.WantError(t, "archive of an imported attempt", err, host.ErrNotFound)
	_, err = s.Log.Load(ctx, first.ID)
	suite.WantError(t, "log of an imported attempt", err, host.ErrNotFound)
	if got := suite.Got(s.Sessions.LastSession(ctx, w.Project.ID, w.Name, suite.Instant(10)))(t); !got.Equal(suite.Instant(0)) {
		t.Errorf("got last session %v, want the imported one", got)
	}
	if !suite.Got(s.Retention.Forget(ctx, 1, first.SessionID, suite.Instant(1000), nil))(t) {
		t.Error("retention keeps an imported session")
	}
	if n := imports(failed, done); n != 0 {
		t.Errorf("imported %d attempts of a session that retention removed, want none", n)
	}
	if list := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1}))(t); len(list) != 1 {
		t.Errorf("got %d sessions, want 1", len(list))
	}
}

func attemptsImportBeside(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	imports := func(list ...host.PastAttempt) int { return suite.Got(s.Attempts.Import(ctx, list...))(t) }
	own := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0]
	if n := imports(past(w, 0, ""), past(w, 0, "again")); n != 0 {
		t.Errorf("imported %d attempts into a session of this server, want none", n)
	}
	if n := imports(past(w, 10, "")); n != 1 {
		t.Fatalf("imported %d attempts, want 1", n)
	}
	there, err := s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(10), ""))
	suite.WantError(t, "start of an imported session", err, host.ErrConflict)
	if len(there) != 1 || !there[0].Imported {
		t.Errorf("got conflicting attempts %+v, want the imported one", there)
	}
	again := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(10), "again")))(t)[0]
	if again.Index != 2 || again.Imported || again.SessionID != there[0].SessionID {
		t.Errorf("got second attempt %+v", again)
	}
	if n := imports(past(w, 10, "more")); n != 0 {
		t.Errorf("imported %d attempts into a session that continued on this server, want none", n)
	}
	if got := attempts(t, s, host.AttemptQuery{Site: 1}); got != ids(again, own) {
		t.Errorf("got last attempts %s, want %s", got, ids(again, own))
	}
	if n := suite.Got(s.Sessions.CountActive(ctx, 1, 10))(t); n != 2 {
		t.Errorf("got %d active attempts, want 2", n)
	}
}

func attemptsExpire(t *testing.T, s suite.Stores) {
	if s.Expires {
		if n := suite.Got(s.Attempts.Expire(t.Context(), suite.Instant(1<<30), 10))(t); n != 0 {
			t.Errorf("expired %d logs, want 0 because the store expires them itself", n)
		}
		return
	}
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	var list []host.Attempt
	for i := range int64(4) {
		a := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(i), "")))(t)[0]
		e := entry(2, "n")
		e.Snapshot = []byte("s")
		suite.Must(t, s.Log.Append(ctx, a.ID, e))
		if i < 3 {
			suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(10 * (i + 1)), Archive: []byte("kept")}))
		}
		list = append(list, a)
	}
	for _, want := range []int{1, 1, 0} {
		if n := suite.Got(s.Attempts.Expire(ctx, suite.Instant(25), 1))(t); n != want {
			t.Errorf("expired %d logs, want %d", n, want)
		}
	}
	for i, a := range list {
		_, err := s.Log.Load(ctx, a.ID)
		suite.WantError(t, "load "+strconv.Itoa(i), err, map[bool]error{true: host.ErrNotFound, false: nil}[i < 2])
		suite.Got(s.Attempts.Attempt(ctx, 1, a.ID))(t)
	}
	if kept := suite.Got(s.Attempts.Archive(ctx, list[0].ID))(t); string(kept) != "kept" {
		t.Errorf("got archive %q after the log expired", kept)
	}
	suite.WantError(t, "append to an expired log", s.Log.Append(ctx, list[0].ID, entry(3, "n")), host.ErrNotFound)
}

func attemptsSites(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	_, err := s.Attempts.Attempt(ctx, 2, a.ID)
	suite.WantError(t, "attempt of another site", err, host.ErrNotFound)
	if a := suite.Got(s.Attempts.Attempt(ctx, host.AnySite, a.ID))(t); a.Site != 1 {
		t.Errorf("attempt read for any site: got site %d, want 1", a.Site)
	}
	_, err = s.Sessions.Session(ctx, 2, a.SessionID)
	suite.WantError(t, "session of another site", err, host.ErrNotFound)
	if list := attempts(t, s, host.AttemptQuery{Site: 2, Retried: true}); list != "" {
		t.Errorf("got attempts %s of another site, want none", list)
	}
	if list := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 2, Project: a.Project.ID}))(t); len(list) != 0 {
		t.Errorf("got %d sessions of another site, want none", len(list))
	}
	if n := suite.Got(s.Sessions.CountActive(ctx, 2, 10))(t); n != 0 {
		t.Errorf("got %d active attempts of another site, want none", n)
	}
}

// ids lists the ids of attempts.
func ids(list ...host.Attempt) string {
	text := ""
	for _, a := range list {
		text += strconv.FormatInt(a.ID, 10) + " "
	}
	return text
}

func attempts(t *testing.T, s suite.Stores, q host.AttemptQuery) string {
	t.Helper()
	return ids(suite.Got(s.Sessions.Attempts(t.Context(), q))(t)...)
}
