package hosttest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// databaseSuite checks a host.Database.
func databaseSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"queue depths": databaseDepths, "list messages": databaseQueued, "counts": databaseCounts, "census": databaseCensus, "calls after close": databaseClosed}.Run(t, h)
}

// wantDepth checks the size of the task queue while the event queue is empty.
func wantDepth(t *testing.T, s suite.Stores, what string, want host.Depth) {
	t.Helper()
	want.Queue = "tasks"
	got := suite.Got(s.Database.Depths(t.Context()))(t)
	for i, d := range got {
		if waits := !d.Oldest.IsZero(); waits != (d.Ready > 0) || waits && s.Now().Sub(d.Oldest).Abs() > suite.Long {
			t.Errorf("%s: the oldest of %d ready messages has waited since %v", what, d.Ready, d.Oldest)
		}
		got[i].Oldest = time.Time{}
	}
	if diff := cmp.Diff([]host.Depth{{Queue: "events"}, want}, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func databaseDepths(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	wantDepth(t, s, "empty queues", host.Depth{})
	suite.Must(t, q.Send(ctx, suite.Message("first", "g"), suite.Message("second", "g"), suite.Message("alone", ""), host.Message{ID: "later", Due: s.Now().Add(suite.Long)}))
	wantDepth(t, s, "after sending", host.Depth{Ready: 2, Later: 1, Behind: 1})
	held := map[string]host.Delivery{}
	for range 2 {
		d := suite.Receive(t, q, suite.Long)
		held[d.ID] = d
	}
	wantDepth(t, s, "after receiving", host.Depth{Later: 1, Leased: 2, Behind: 1})
	suite.Must(t, q.Delete(ctx, held["first"]))
	suite.Must(t, q.Release(ctx, held["alone"], suite.Long))
	wantDepth(t, s, "after a deletion and a delay", host.Depth{Ready: 1, Later: 2})
	second := suite.Receive(t, q, 50*time.Millisecond)
	time.Sleep(200*time.Millisecond + s.Grain)
	wantDepth(t, s, "after the end of a lease", host.Depth{Ready: 1, Later: 2})
	if again := suite.Receive(t, q, suite.Long); second.ID != "second" || again.ID != "second" || again.Count != 2 {
		t.Errorf("received %s and then %s with count %d, want second twice and count 2: Depths must not count as a delivery", second.ID, again.ID, again.Count)
	}
}

func databaseQueued(t *testing.T, s suite.Stores) {
	ctx, q, begin := t.Context(), s.Tasks, s.Now()
	due := begin.Add(suite.Long).UTC().Truncate(time.Millisecond)
	long := strings.Repeat("x", host.MostQueuedBody)
	suite.Must(t, q.Send(ctx, suite.Message("first", "g"), suite.Message("second", "g"), host.Message{ID: "later", Body: []byte(long), Due: due}))
	suite.Must(t, q.Send(ctx, host.Message{ID: "large", Body: []byte(long + "x")}))
	taken := suite.Receive(t, q, suite.Long)
	for taken.ID != "first" {
		suite.Must(t, q.Release(ctx, taken, 0))
		taken = suite.Receive(t, q, suite.Long)
	}
	list := suite.Got(s.Database.Queued(ctx, "tasks", 0, 3))(t)
	if len(list) != 3 {
		t.Fatalf("got messages %+v, want three", list)
	}
	list = append(list, suite.Got(s.Database.Queued(ctx, "tasks", list[2].Place, 3))(t)...)
	want := []host.Queued{
		{Message: suite.Message("first", "g"), Size: len("body of first"), Count: taken.Count},
		{Message: suite.Message("second", "g"), Size: len("body of second"), Behind: true},
		{Message: host.Message{ID: "later", Body: []byte(long), Due: due}, Size: len(long), Since: due},
		{Message: host.Message{ID: "large"}, Size: len(long) + 1},
	}
	for i, x := range list {
		list[i].Place = 0
		if i < len(want) && want[i].Since.IsZero() {
			want[i].Since = x.Since
			if x.Since.Sub(begin).Abs() > suite.Long/2 {
				t.Errorf("%s has waited since %v, want about %v", x.ID, x.Since, begin)
			}
		}
		if end := begin.Add(suite.Long); x.ID == "first" && (x.Until.Before(end.Add(-time.Second)) || x.Until.After(end.Add(suite.Long/2))) {
			t.Errorf("got a lease until %v, want an hour after %v", x.Until, begin)
		} else if x.ID == "first" {
			list[i].Until, want[i].Holder = time.Time{}, s.Name
		}
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	_, err := s.Database.Queued(ctx, "mail", 0, 1)
	suite.WantError(t, "list an unknown queue", err, host.ErrNotFound)
}

func databaseCounts(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	want := func(what string, unfinished, events, tasks int) {
		t.Helper()
		var v host.Vitals
		suite.Must(t, s.Database.Counts(ctx, &v))
		if inMemory := s.Reopen == nil; (v.Database == 0) != inMemory {
			t.Errorf("%s: got a database of %d bytes", what, v.Database)
		}
		if v.Unfinished != unfinished || v.Events != events || v.Tasks != tasks {
			t.Errorf("%s: got counts %+v, want %d attempts, %d events and %d tasks", what, v, unfinished, events, tasks)
		}
	}
	want("an empty database", 0, 0, 0)
	a := suite.Start(t, s)
	suite.Must(t, s.Tasks.Send(ctx, suite.Message("a", ""), suite.Message("b", ""), host.Message{ID: "later", Due: s.Now().Add(suite.Long)}))
	suite.Receive(t, s.Tasks, suite.Long)
	want("with a running attempt", 1, 1, 2)
	suite.Must(t, s.Events.Delete(ctx, suite.Receive(t, s.Events, suite.Long)))
	suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(5), Archive: []byte("end")}))
	want("after the end of the attempt", 0, 0, 2)
}

// databaseCensus checks the figures for workflows and pools: unfinished attempts, the last success, slots and claims.
func databaseCensus(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	empty := suite.Got(s.Database.Census(ctx, 10))(t)
	if len(empty.Unfinished)+len(empty.Succeeded)+len(empty.Pools) != 0 {
		t.Errorf("an empty database: got %+v", empty)
	}
	times := host.Times{Run: suite.Instant(1000), Session: suite.Instant(1000)}
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main", "other"}, map[string]host.Times{"main": times, "other": times}))(t)
	suite.Got(suite.Push(ctx, s, 2, "demo", "r1", []string{"main"}, nil))(t)
	list := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID}))(t)
	start := func(w host.Workflow, session int64) host.Attempt {
		return suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(session), "")))(t)[0]
	}
	for i, success := range []bool{true, true, false} {
		a := start(list[0], int64(i))
		suite.Must(t, s.Attempts.Finish(ctx, a.ID, host.End{At: suite.Instant(int64(100 + i)), Success: success, Archive: []byte("end")}))
	}
	start(list[0], 10)
	start(list[0], 11)
	start(list[1], 10)
	suite.Got(s.Pools.SetPool(ctx, ref("idle"), 3, suite.Instant(0)))(t)
	suite.Got(s.Pools.SetPool(ctx, ref("busy"), 2, suite.Instant(0)))(t)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, ref("busy"), claim("1/1/1", 1, 0, 1), []int{0}, false, suite.Instant(1)))
	suite.Must(t, s.Semaphore.JoinLine(ctx, ref("busy"), claim("1/2/1", 2, 0, 7000)))
	suite.Must(t, s.Semaphore.JoinLine(ctx, ref("busy"), claim("1/3/1", 2, 0, 9000)))

	main, other := host.WorkflowName{Site: 1, Project: "demo", Workflow: "main"}, host.WorkflowName{Site: 1, Project: "demo", Workflow: "other"}
	created := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1, Workflow: "other"}))(t)[0].CreatedAt
	busy := ref("busy")
	want := host.Census{
		Unfinished: []host.WorkflowCount{{WorkflowName: main, Attempts: 2}, {WorkflowName: other, Attempts: 1}},
		Succeeded:  []host.WorkflowTime{{WorkflowName: main, At: suite.Instant(101)}, {WorkflowName: other, At: created}},
		Pools: []host.PoolCount{{Site: busy.Site, Name: "busy", Slots: 2, Taken: 1, Waiting: 2, Since: time.UnixMilli(7000).UTC()},
			{Site: busy.Site, Name: "idle", Slots: 3}},
	}
	got := suite.Got(s.Database.Census(ctx, 10))(t)
	for i := range got.Pools {
		got.Pools[i].Project = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("census (-want +got):\n%s", diff)
	}
	if few := suite.Got(s.Database.Census(ctx, 1))(t); len(few.Unfinished) != 2 || len(few.Succeeded) != 1 || len(few.Pools) != 1 || few.Pools[0].Name != "busy" {
		t.Errorf("with a limit of one: got %+v", few)
	}
}

func databaseClosed(t *testing.T, s suite.Stores) {
	a, event := underWay(t, s)
	waits := make(chan error, 1)
	go func() {
		_, err := s.Tasks.Receive(t.Context(), 1, suite.Long)
		waits <- err
	}()
	suite.Must(t, s.Database.Close())
	suite.WantError(t, "a waiting receiver", <-waits, host.ErrUnavailable)
	for what, call := range reads(s, a) {
		suite.WantError(t, what, call(t.Context()), host.ErrUnavailable)
	}
	for what, call := range changes(s, a, event) {
		suite.WantError(t, what, call(t.Context()), host.ErrUnavailable)
	}
	suite.WantError(t, "close it again", s.Database.Close(), nil)
}

// underWay creates the objects that reads and changes use: an attempt, the delivery of its first message, and a pool.
func underWay(t *testing.T, s suite.Stores) (host.Attempt, host.Delivery) {
	t.Helper()
	a := suite.Start(t, s)
	suite.Got(s.Pools.SetPool(t.Context(), ref("a"), 1, suite.Instant(0)))(t)
	return a, suite.Receive(t, s.Events, suite.Long)
}

// reads returns some calls that read.
func reads(s suite.Stores, a host.Attempt) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"load":     func(ctx context.Context) error { _, err := s.Log.Load(ctx, a.ID); return err },
		"attempt":  func(ctx context.Context) error { _, err := s.Attempts.Attempt(ctx, 1, a.ID); return err },
		"line":     func(ctx context.Context) error { _, err := s.Semaphore.Line(ctx, ref("a"), 1); return err },
		"secrets":  func(ctx context.Context) error { _, err := s.Secrets.SecretKeys(ctx, 1, 1); return err },
		"messages": func(ctx context.Context) error { _, err := s.Inventory.MessagesOf(ctx, a.ID); return err },
		"queued":   func(ctx context.Context) error { _, err := s.Database.Queued(ctx, "tasks", 0, 1); return err },
		"counts":   func(ctx context.Context) error { return s.Database.Counts(ctx, &host.Vitals{}) },
		"servers":  func(ctx context.Context) error { _, _, err := s.Servers.Servers(ctx); return err },
		"notices":  func(ctx context.Context) error { _, err := s.Outbox.Notices(ctx, host.NoticeQuery{}); return err },
		"census":   func(ctx context.Context) error { _, err := s.Database.Census(ctx, 1); return err },
	}
}

// changes returns some calls that change something. a and event come from underWay.
func changes(s suite.Stores, a host.Attempt, event host.Delivery) map[string]func(context.Context) error {
	calls := map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { return s.Log.Append(ctx, a.ID, entry(2, "n")) },
		"send":   func(ctx context.Context) error { return s.Events.Send(ctx, suite.Message("sent", "g")) },
		"delete": func(ctx context.Context) error { return s.Events.Delete(ctx, event) },
		"start": func(ctx context.Context) error {
			n := suite.AttemptOf(1, host.Workflow{ID: a.Workflow.ID, Name: a.Workflow.Name, Project: a.Project}, suite.Instant(60), "")
			_, err := s.Attempts.Start(ctx, n)
			return err
		},
		"push": func(ctx context.Context) error {
			_, err := suite.Push(ctx, s, 1, "other", "r1", []string{"main"}, nil)
			return err
		},
		"cancel": func(ctx context.Context) error { return s.Attempts.Cancel(ctx, a.ID) },
		"pool": func(ctx context.Context) error {
			_, err := s.Pools.SetPool(ctx, ref("a"), 1, suite.Instant(0))
			return err
		},
		"slot": func(ctx context.Context) error {
			return s.Semaphore.TakeSlots(ctx, ref("a"), claim("1/2/3", 1, 0, 1), []int{0}, false, suite.Instant(1))
		},
		"server": func(ctx context.Context) error { return s.Servers.PutServer(ctx, host.Server{ID: "s"}) },
		"notice": func(ctx context.Context) error {
			return s.Outbox.PutNotices(ctx, suite.Instant(1), host.NoticeBatch{Notices: []host.StoredNotice{storedNotice(1, a.ID, "key", 10)}})
		},
		"record": func(ctx context.Context) error {
			return s.Audit.Record(ctx, host.Record{At: suite.Instant(0), Site: 1})
		},
		"secret":    func(ctx context.Context) error { return s.Secrets.PutSecret(ctx, 1, 1, "key", "value") },
		"parameter": func(ctx context.Context) error { return s.ParamStore(1).Set(ctx, map[string]string{"a": "one"}) },
	}
	if m, marks := s.Events.(host.Marker); marks {
		calls["begin"] = func(ctx context.Context) error { _, err := m.Begin(ctx, event, "1.1", host.Entry{}); return err }
	}
	return calls
}
