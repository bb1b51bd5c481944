package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/dynamo"
	"zerodag/internal/host"
)

func configOf(t testing.TB) aws.Config { return localstack.Config(t) }

// backfill returns attempts that wait for one another.
func backfill(p host.Project, n int) []host.NewAttempt {
	var list []host.NewAttempt
	for i := range n {
		x := newAttempt(p, int64(i), "")
		x.WaitsFor = i - 1
		if i > 0 {
			x.First, x.Message = host.Entry{}, host.Message{}
		}
		list = append(list, x)
	}
	return list
}

// TestLongList proves that a list of more attempts than fit into one transaction is started as a whole, and that
// nothing remains of a list that conflicts with an existing attempt.
func TestLongList(t *testing.T) {
	t.Parallel()
	db, counter := open(t, options(t))
	ctx, p := t.Context(), pushed(t, db, "r1", 1)
	there, err := db.Start(ctx, newAttempt(p, 3, ""))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := db.Start(ctx, backfill(p, 50)...); !errors.Is(err, host.ErrConflict) || len(list) != 1 || list[0].ID != there[0].ID {
		t.Fatalf("a list with a session that has an attempt: %v, %v", list, err)
	}
	all := func() []host.Attempt {
		t.Helper()
		list, err := db.Attempts(ctx, host.AttemptQuery{Site: 1, Retried: true})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := all(); len(list) != 1 {
		t.Errorf("%d attempts are left of the list", len(list)-1)
	}
	named := backfill(p, 50)
	for i := range named {
		named[i].RetryName = "again"
	}
	counter.Take()
	made, err := db.Start(ctx, named...)
	if err != nil || len(made) != 50 {
		t.Fatalf("made %d attempts: %v", len(made), err)
	}
	if got := counter.Take().String(); got != "BatchGetItem 1, TransactWriteItems 3" {
		t.Errorf("50 attempts took %s", got)
	}
	for i, a := range made {
		if i > 0 && (a.AfterSession != made[i-1].SessionID || a.ID <= made[i-1].ID) || i == 3 && (a.SessionID != there[0].SessionID || a.Index != 2) {
			t.Errorf("attempt %d of the list is %+v", i, a)
		}
	}
	if list := all(); len(list) != 51 || list[0].ID != made[49].ID {
		t.Errorf("there are %d attempts, want 51", len(list))
	}
	if n, err := db.CountActive(ctx, 1, 30); err != nil || n != 30 {
		t.Errorf("%d active attempts up to 30 (%v)", n, err)
	}
}

// TestManySchedules proves that a push can change more schedules than fit into one transaction, and that a delete
// removes all of them.
func TestManySchedules(t *testing.T) {
	t.Parallel()
	db, counter := open(t, options(t))
	ctx := t.Context()
	pushed(t, db, "r1", 230)
	counter.Take()
	p := pushed(t, db, "r2", 210)
	if got := counter.Take().String(); !strings.Contains(got, "TransactWriteItems 3") {
		t.Errorf("a push with 230 changes of schedules took %s", got)
	}
	list, err := db.Schedules(ctx, host.ScheduleQuery{Site: 1})
	if err != nil || len(list) != 210 {
		t.Fatalf("%d schedules (%v), want 210", len(list), err)
	}
	newest, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1})
	if err != nil || len(newest) != 210 {
		t.Fatalf("%d definitions (%v), want 210", len(newest), err)
	}
	ids := map[int64]string{}
	for _, w := range newest {
		ids[w.ID] = w.Name
	}
	for _, s := range list {
		if ids[s.Workflow.ID] != s.Workflow.Name || s.ID <= 0 || s.ID >= 1<<31 {
			t.Errorf("schedule %d is of definition %d of %s", s.ID, s.Workflow.ID, s.Workflow.Name)
		}
	}
	if due, err := db.Due(ctx, time.Time{}, instant(10), 0); err != nil || len(due) != 210 {
		t.Errorf("%d schedules are due at the same time (%v), want 210", len(due), err)
	}
	if err := db.DeleteProject(ctx, 1, p.ID, instant(20)); err != nil {
		t.Fatal(err)
	}
	if list, err := db.Schedules(ctx, host.ScheduleQuery{Site: 1}); err != nil || len(list) != 0 {
		t.Errorf("%d schedules of a deleted project (%v)", len(list), err)
	}
}

// TestTimers proves that messages that wait for a long time are read back unchanged, the earliest first, until they are
// deleted.
func TestTimers(t *testing.T) {
	t.Parallel()
	o := options(t)
	open(t, o)
	timers := dynamo.NewTimers(localstack.Config(t), o.Table)
	ctx := t.Context()
	for i := range int64(20) {
		if err := timers.Later(ctx, "tasks", host.Message{ID: fmt.Sprint("m", i), Group: "g", Body: []byte("{}"), Due: instant(1000 - i)}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := timers.Due(ctx, instant(985), 3)
	if err != nil || len(list) != 3 {
		t.Fatalf("due: %v, %v", list, err)
	}
	for i, x := range list {
		if want := fmt.Sprint("m", 19-i); x.Queue != "tasks" || x.Message.ID != want || x.Message.Group != "g" || string(x.Message.Body) != "{}" || !x.Message.Due.Equal(instant(981+int64(i))) {
			t.Errorf("message %d is %+v, want %s", i, x, want)
		}
	}
	if err := timers.Delete(ctx, list); err != nil {
		t.Fatal(err)
	}
	if list, err := timers.Due(ctx, instant(985), 0); err != nil || len(list) != 2 {
		t.Errorf("after three were deleted %d are due, want 2 (%v)", len(list), err)
	}
}

// TestParamStore proves that each site's values are separate, and that several values are set together.
func TestParamStore(t *testing.T) {
	t.Parallel()
	db, _ := open(t, options(t))
	ctx := t.Context()
	one, two := db.ParamStore(1), db.ParamStore(2)
	long := strings.Repeat("key", 1000)
	if err := one.Set(ctx, map[string]string{"k": "v", long: "", "x": "y"}); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"k": "v", long: "", "x": "y"} {
		if got, found, err := one.Get(ctx, key); err != nil || !found || got != value {
			t.Errorf("key %.5s has %q: %v, %v", key, got, found, err)
		}
		if got, found, err := two.Get(ctx, key); err != nil || found {
			t.Errorf("key %.5s of another site has %q (%v)", key, got, err)
		}
	}
}

// TestUnavailable proves that an unreachable table causes host.ErrUnavailable.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	c := configOf(t)
	c.BaseEndpoint = aws.String("http://127.0.0.1:1")
	o := options(t)
	o.Tries = 2
	db := dynamo.New(c, o)
	_, get := db.Attempt(t.Context(), 1, 1)
	_, query := db.Load(t.Context(), 1)
	_, start := db.Start(t.Context(), newAttempt(host.Project{ID: 1}, 0, ""))
	for what, err := range map[string]error{"read": get, "query": query, "transaction": start, "change": db.Cancel(t.Context(), 1)} {
		if !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSameMillisecond proves that processes that create objects in the same millisecond do not use the same ids:
// nothing is overwritten.
func TestSameMillisecond(t *testing.T) {
	t.Parallel()
	o := options(t)
	now := time.Now()
	o.Now = func() time.Time { return now }
	db, _ := open(t, o)
	ctx := t.Context()
	var all sync.WaitGroup
	var mu sync.Mutex
	attempts, definitions := map[int64]bool{}, map[int64]string{}
	for process := range 8 {
		all.Go(func() {
			other := dynamo.New(configOf(t), o)
			push := host.Push{Site: 1, Project: fmt.Sprint("p", process), Revision: host.Revision{Name: "r", CreatedAt: now}}
			for i := range 40 {
				push.Workflows = append(push.Workflows, dig.Workflow{Name: fmt.Sprint("w", i), Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))})
			}
			p, err := other.Push(ctx, push)
			if err != nil {
				t.Error(err)
				return
			}
			list, err := other.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID})
			if err != nil || len(list) != 40 {
				t.Errorf("project %s has %d definitions (%v)", p.Name, len(list), err)
			}
			var made []host.Attempt
			for i := range int64(25) {
				started, err := other.Start(ctx, newAttempt(p, i, ""))
				if err != nil {
					t.Error(err)
					return
				}
				made = append(made, started...)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range made {
				attempts[a.ID] = true
			}
			for _, w := range list {
				definitions[w.ID] = w.Project.Name + "/" + w.Name
			}
		})
	}
	all.Wait()
	if len(attempts) != 200 || len(definitions) != 320 {
		t.Errorf("%d attempts and %d definitions have ids of their own, want 200 and 320", len(attempts), len(definitions))
	}
	for id, want := range definitions {
		w, err := db.Workflow(ctx, 1, id)
		if got := w.Project.Name + "/" + w.Name; err != nil || got != want {
			t.Errorf("definition %d is %s (%v), want %s", id, got, err, want)
		}
	}
}
