package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/dynamo"
	"zerodag/internal/host"
)

func instant(seconds int64) time.Time { return time.Unix(1_700_000_000+seconds, 0).UTC() }

// pushed pushes a project with workflows "w0", "w1" ... that all have a schedule.
func pushed(t testing.TB, db *dynamo.DB, revision string, workflows int) host.Project {
	t.Helper()
	p := host.Push{Site: 1, Project: "demo", Schedules: map[string]func(*host.Schedule) host.Times{}, Revision: host.Revision{Name: revision, CreatedAt: instant(0)}}
	for i := range workflows {
		name := fmt.Sprint("w", i)
		p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: param.New("+a", param.New("echo>", name))})
		p.Schedules[name] = func(*host.Schedule) host.Times {
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

// asker does calls and checks what they were made of.
type asker struct {
	t     *testing.T
	count *localstack.Counter
}

func (a asker) calls(what, want string, err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("%s: %v", what, err)
	}
	if got := a.count.Take(); got != want {
		a.t.Errorf("%s: %s; want %s", what, got, want)
	}
}

// TestRequests proves the number of calls that the package comment promises.
func TestRequests(t *testing.T) {
	t.Parallel()
	o := options(t)
	db, counter := open(t, o)
	ctx, a := t.Context(), asker{t, counter}
	p := pushed(t, db, "r1", 3)
	a.calls("first push", "BatchGetItem 1, BatchWriteItem 1, GetItem 1, PutItem 1, TransactWriteItems 1", nil)
	pushed(t, db, "r2", 3)
	a.calls("next push", "BatchGetItem 1, BatchWriteItem 1, GetItem 4, TransactWriteItems 1", nil)

	list, err := db.Start(ctx, newAttempt(p, 0, ""))
	a.calls("start", "TransactWriteItems 1", err)
	first := list[0]
	_, err = db.Start(ctx, newAttempt(p, 0, "x"))
	a.calls("start again", "BatchGetItem 1, TransactWriteItems 2", err)
	for seq := int64(2); seq < 30; seq++ {
		e := host.Entry{Seq: seq, Nonce: "n", At: instant(seq), Changes: []byte("c")}
		if seq == 10 || seq == 25 {
			e.Snapshot = []byte("state")
		}
		a.calls("append", "PutItem 1", db.Append(ctx, first.ID, e))
	}
	_, err = db.Load(ctx, first.ID)
	a.calls("load near a snapshot", "Query 1", err)
	c := localstack.Config(t)
	other := localstack.Count(&c)
	b := asker{t, other}
	o2 := o
	fresh := dynamo.New(c, o2)
	b.calls("append by another process", "GetItem 1, PutItem 1", fresh.Append(ctx, first.ID, host.Entry{Seq: 30, Nonce: "n", At: instant(30)}))
	for seq := int64(31); seq < 60; seq++ {
		if err := fresh.Append(ctx, first.ID, host.Entry{Seq: seq, Nonce: "n", At: instant(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := db.Load(ctx, first.ID)
	a.calls("load far from a snapshot", "Query 2", err)
	if stored.At != 25 || len(stored.Entries) != 34 {
		t.Errorf("loaded %d entries after entry %d, want 34 after 25", len(stored.Entries), stored.At)
	}
	_, err = db.History(ctx, first.ID, 20, 5)
	a.calls("history", "GetItem 1, Query 2", err)

	_, err = db.Attempt(ctx, 1, first.ID)
	a.calls("attempt", "GetItem 1", err)
	_, err = db.Session(ctx, 1, first.SessionID)
	a.calls("session", "BatchGetItem 2, GetItem 1", err)
	_, err = db.LastSession(ctx, p.ID, "w0", instant(100))
	a.calls("last session", "Query 1", err)
	_, err = db.CountActive(ctx, 1, 100)
	a.calls("number of active attempts", "Query 8", err)
	_, err = db.Active(ctx, 1, 0, 100)
	a.calls("active attempts", "BatchGetItem 1, Query 8", err)
	_, err = db.Attempts(ctx, host.AttemptQuery{Site: 1, Project: p.ID, Workflow: "w0", Count: 100, Retried: true})
	a.calls("attempts", "BatchGetItem 1, Query 8", err)
	_, err = db.Attempts(ctx, host.AttemptQuery{Site: 1, Session: first.SessionID})
	a.calls("attempts of a session", "BatchGetItem 1, Query 1", err)
	_, err = db.Sessions(ctx, host.SessionQuery{Site: 1, Count: 100})
	a.calls("sessions", "BatchGetItem 3, Query 8", err)
	_, err = db.Waiting(ctx, first.SessionID)
	a.calls("waiting", "Query 1", err)

	_, err = db.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID, Name: "w1"})
	a.calls("definition by name", "BatchGetItem 1, GetItem 1", err)
	newest, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1})
	a.calls("newest definitions", "BatchGetItem 3, Query 1", err)
	_, err = db.Workflow(ctx, 1, newest[0].ID)
	a.calls("definition", "GetItem 2", err)
	_, err = db.Projects(ctx, host.ProjectQuery{Site: 1, Name: "demo"})
	a.calls("project by name", "GetItem 2", err)
	_, err = db.Projects(ctx, host.ProjectQuery{Site: 1, Count: 100})
	a.calls("projects", "BatchGetItem 1, Query 1", err)
	schedules, err := db.Schedules(ctx, host.ScheduleQuery{Site: 1, Project: p.ID})
	a.calls("schedules", "BatchGetItem 1, Query 1", err)
	_, err = db.Due(ctx, instant(0), 100)
	a.calls("nothing due", "Query 8", err)
	_, err = db.Due(ctx, instant(10), 100)
	a.calls("due schedules", "BatchGetItem 1, Query 8", err)
	s := schedules[0]
	s.Times.Run = instant(20)
	a.calls("a schedule moves", "UpdateItem 1", db.Update(ctx, s, schedules[0].Times, instant(11)))

	a.calls("end", "UpdateItem 1", db.Finish(ctx, first.ID, host.End{At: instant(70), Success: true, Archive: []byte("state")}))
	_, err = db.Archive(ctx, first.ID)
	a.calls("archive", "GetItem 1", err)
	store := db.ParamStore(1)
	a.calls("param_set>", "PutItem 1", store.Set(ctx, map[string]string{"k": "v"}))
	_, _, err = store.Get(ctx, "k")
	a.calls("param_get>", "GetItem 1", err)
}
