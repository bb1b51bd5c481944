package dynamo_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/dynamo"
	"zerodag/internal/host"
)

func instant(seconds int64) time.Time { return time.Unix(1_700_000_000+seconds, 0).UTC() }

// pushed pushes a project with workflows "w0", "w1" ... that all have a schedule.
func pushed(t testing.TB, db *dynamo.DB, revision string, workflows int) host.Project {
	t.Helper()
	p := host.Push{Site: 1, Project: "demo", Schedules: map[string]host.NextTimes{}, Revision: host.Revision{Name: revision, CreatedAt: instant(0)}}
	for i := range workflows {
		name := fmt.Sprint("w", i)
		p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: param.New("+a", param.New("echo>", name))})
		p.Schedules[name] = func(*host.Schedule, bool) host.Times {
			return host.Times{Run: instant(10), Session: instant(5)}
		}
	}
	project, err := db.Push(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func newAttempt(p host.Project, session int64, name string) host.NewAttempt {
	return host.NewAttempt{Site: 1, Project: host.Ref{ID: p.ID, Name: p.Name}, Workflow: host.Ref{ID: 1, Name: "w0"}, SessionTime: instant(session), RetryName: name, Zone: "UTC",
		CreatedAt: instant(1), WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "n", At: instant(1), Changes: []byte("c")}, Message: host.Message{ID: "go", Body: []byte("{}")}}
}

// bill checks which requests calls make and, with units (0: not checked), what they cost.
type bill struct {
	t     *testing.T
	count *proxy.Proxy
}

func (b bill) is(what, calls string, reads, writes float64, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	got := b.count.Take()
	if got.String() != calls {
		b.t.Errorf("%s: %s; want %s", what, got, calls)
	}
	if reads > 0 && got.Reads > reads || writes > 0 && got.Writes > writes {
		b.t.Errorf("%s: %v read and %v write units, want at most %v and %v", what, got.Reads, got.Writes, reads, writes)
	}
}

// started returns a table with a project of three workflows that was pushed twice, and a new bill.
func started(t *testing.T) (*dynamo.DB, dynamo.Options, host.Project, bill) {
	t.Helper()
	o := options(t)
	db, counter := open(t, o)
	b := bill{t, counter}
	pushed(t, db, "r1", 3)
	b.is("first push", "BatchGetItem 1, BatchWriteItem 1, GetItem 1, PutItem 2, TransactWriteItems 1", 0, 0, nil)
	p := pushed(t, db, "r2", 3)
	b.is("next push", "BatchGetItem 1, BatchWriteItem 1, GetItem 4, PutItem 1, TransactWriteItems 1", 0, 0, nil)
	return db, o, p, b
}

// TestRequestsOfAttempts checks the number of calls that the package comment promises, and the units that make up the
// budget of a task and of an attempt.
func TestRequestsOfAttempts(t *testing.T) {
	t.Parallel()
	db, o, p, b := started(t)
	ctx := t.Context()
	list, err := db.Start(ctx, newAttempt(p, 0, ""))
	b.is("start", "TransactWriteItems 1", 0, 8, err)
	first := list[0]
	_, err = db.Start(ctx, newAttempt(p, 0, "x"))
	b.is("start again", "BatchGetItem 1, TransactWriteItems 2", 0, 0, err)
	entry := func(seq int64) host.Entry {
		e := host.Entry{Seq: seq, Nonce: "n", At: instant(seq), Changes: bytes.Repeat([]byte("change "), 60), Events: bytes.Repeat([]byte("event "), 40)}
		if seq == 10 || seq == 25 {
			e.Snapshot = []byte("state")
		}
		return e
	}
	for seq := int64(2); seq < 30; seq++ {
		b.is("append", "PutItem 1", 0, 1, db.Append(ctx, first.ID, entry(seq)))
	}
	_, err = db.Load(ctx, first.ID)
	b.is("load near a snapshot", "Query 1", 2, 0, err)
	c, counter := counted(t)
	other := bill{t, counter}
	fresh := dynamo.New(c, o)
	other.is("append by another process", "GetItem 1, PutItem 1", 1, 1, fresh.Append(ctx, first.ID, entry(30)))
	for seq := int64(31); seq < 60; seq++ {
		other.is("append", "PutItem 1", 0, 1, fresh.Append(ctx, first.ID, entry(seq)))
	}
	stored, err := db.Load(ctx, first.ID)
	b.is("load far from a snapshot", "Query 2", 5, 0, err)
	if stored.At != 25 || len(stored.Entries) != 34 {
		t.Errorf("loaded %d entries after entry %d, want 34 after 25", len(stored.Entries), stored.At)
	}
	_, err = db.History(ctx, first.ID, 20, 5)
	b.is("history", "GetItem 1, Query 2", 4, 0, err)
	b.is("end", "Query 1, UpdateItem 1", 0, 3, db.Finish(ctx, first.ID, host.End{At: instant(70), Success: true, Archive: []byte("state")}))
	_, err = db.Archive(ctx, first.ID)
	b.is("archive", "GetItem 1", 1, 0, err)
}

// TestRequestsOfRetention checks the cost of searching for old attempts and of removing one.
func TestRequestsOfRetention(t *testing.T) {
	t.Parallel()
	db, _, p, b := started(t)
	ctx := t.Context()
	_, err := db.Old(ctx, time.Now(), 0, 100)
	b.is("nothing old", "Query 9", 4.5, 0, err)
	b.is("nothing left", "Query 1", 0.5, 0, db.Clear(ctx))
	for session := range int64(2) {
		list, err := db.Start(ctx, newAttempt(p, session, ""))
		b.is("start", "TransactWriteItems 1", 0, 0, err)
		b.is("end", "Query 1, UpdateItem 1", 0, 0, db.Finish(ctx, list[0].ID, host.End{At: instant(70), Success: true, Archive: []byte("state")}))
	}
	old, err := db.Old(ctx, time.Now().Add(time.Hour), 0, 100)
	b.is("two that are old", "BatchGetItem 1, Query 9", 0, 0, err)
	_, err = db.Forget(ctx, 1, old[0].SessionID, instant(100), nil)
	b.is("one goes", "BatchGetItem 1, GetItem 4, Query 3, TransactWriteItems 1", 8, 8, err)
	_, err = db.Forget(ctx, 1, old[1].SessionID, instant(100), nil)
	b.is("the last one stays", "BatchGetItem 1, GetItem 2, Query 3", 5, 0, err)
	once := newAttempt(p, 9, "")
	once.Once = true
	_, err = db.Start(ctx, once)
	b.is("a start by itself", "TransactWriteItems 1", 0, 0, err)
}

// TestRequestsOfLists checks how many calls queries about attempts make.
func TestRequestsOfLists(t *testing.T) {
	t.Parallel()
	db, _, p, b := started(t)
	ctx := t.Context()
	list, err := db.Start(ctx, newAttempt(p, 0, ""))
	b.is("start", "TransactWriteItems 1", 0, 0, err)
	first := list[0]
	_, err = db.Attempt(ctx, 1, first.ID)
	b.is("attempt", "GetItem 1", 1, 0, err)
	_, err = db.Session(ctx, 1, first.SessionID)
	b.is("session", "BatchGetItem 1, GetItem 1", 2, 0, err)
	_, err = db.LastSession(ctx, p.ID, "w0", instant(100))
	b.is("last session", "Query 1", 1, 0, err)
	_, err = db.CountActive(ctx, 1, 100)
	b.is("number of active attempts", "Query 8", 4, 0, err)
	_, err = db.Active(ctx, host.ActiveQuery{Site: 1, Count: 100})
	b.is("active attempts", "BatchGetItem 1, Query 8", 0, 0, err)
	_, err = db.Attempts(ctx, host.AttemptQuery{Site: 1, Project: p.ID, Workflow: "w0", Count: 100, Retried: true})
	b.is("attempts", "BatchGetItem 1, Query 8", 0, 0, err)
	_, err = db.Attempts(ctx, host.AttemptQuery{Site: 1, Session: first.SessionID})
	b.is("attempts of a session", "BatchGetItem 1, Query 1", 0, 0, err)
	_, err = db.Sessions(ctx, host.SessionQuery{Site: 1, Count: 100})
	b.is("sessions", "BatchGetItem 2, Query 8", 0, 0, err)
	_, err = db.Waiting(ctx, first.SessionID)
	b.is("waiting", "Query 1", 1, 0, err)
}

// TestRequestsOfCatalogue checks how many calls queries about projects make.
func TestRequestsOfCatalogue(t *testing.T) {
	t.Parallel()
	db, _, p, b := started(t)
	ctx := t.Context()
	_, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID, Name: "w1"})
	b.is("definition by name", "BatchGetItem 1, GetItem 1", 2, 0, err)
	newest, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1})
	b.is("newest definitions", "BatchGetItem 3, Query 1", 0, 0, err)
	_, err = db.Workflow(ctx, 1, newest[0].ID)
	b.is("definition", "GetItem 2", 2, 0, err)
	_, err = db.Project(ctx, 1, p.ID)
	b.is("project", "GetItem 1", 1, 0, err)
	_, err = db.Projects(ctx, host.ProjectQuery{Site: 1, Name: "demo"})
	b.is("project by name", "GetItem 2", 2, 0, err)
	_, err = db.Projects(ctx, host.ProjectQuery{Site: 1, Count: 100})
	b.is("projects", "BatchGetItem 1, Query 1", 0, 0, err)
	schedules, err := db.Schedules(ctx, host.ScheduleQuery{Site: 1, Project: p.ID})
	b.is("schedules", "BatchGetItem 1, Query 1", 0, 0, err)
	_, err = db.Due(ctx, time.Time{}, instant(0), 100)
	b.is("nothing due", "Query 8", 4, 0, err)
	_, err = db.NextDue(ctx)
	b.is("when the next is due", "Query 8", 4, 0, err)
	_, err = db.Due(ctx, time.Time{}, instant(10), 100)
	b.is("due schedules", "BatchGetItem 1, Query 8", 0, 0, err)
	s := schedules[0]
	s.Times.Run = instant(20)
	b.is("a schedule moves", "UpdateItem 1", 0, 3, db.Update(ctx, s, schedules[0].Times, instant(11)))
	store := db.ParamStore(1)
	b.is("param_set>", "PutItem 1", 0, 1, store.Set(ctx, map[string]string{"k": "v"}))
	_, _, err = store.Get(ctx, "k")
	b.is("param_get>", "GetItem 1", 1, 0, err)
	token, err := db.Create(ctx, host.Token{Site: 1, Name: "n", Role: "admin", Hash: []byte("hash"), CreatedAt: instant(0)})
	b.is("token made", "PutItem 1", 0, 0, err)
	_, err = db.ByHash(ctx, token.Hash)
	b.is("token used first", "GetItem 1, UpdateItem 1", 0, 0, err)
	_, err = db.ByHash(ctx, token.Hash)
	b.is("token used", "GetItem 1", 1, 0, err)
}
