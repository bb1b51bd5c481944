package hosttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// reopenSuite checks that every acknowledged change survives the end of the process.
func reopenSuite(t *testing.T, h suite.Harness) {
	cases := suite.Cases{
		"several ends":           func(t *testing.T, s suite.Stores) { reopenDelivery(t, s, true, false, true) },
		"a kill during shutdown": reopenStopping,
	}
	for end, crash := range map[string]bool{"an orderly end": false, "a crash": true} {
		for what, run := range map[string]func(*testing.T, suite.Stores, bool){
			"messages":        reopenMessages,
			"a delivery":      func(t *testing.T, s suite.Stores, crash bool) { reopenDelivery(t, s, crash) },
			"a received task": reopenReceived,
			"a released task": reopenReleased,
			"a log":           reopenLog,
			"records":         reopenRecords,
		} {
			cases[what+" after "+end] = func(t *testing.T, s suite.Stores) { run(t, s, crash) }
		}
	}
	cases.Run(t, h)
}

// reopen ends the process that holds deliveries, so that their messages can be received again.
func reopen(t *testing.T, s suite.Stores, crash bool, leases map[host.Queue]host.Delivery) suite.Stores {
	t.Helper()
	for q, d := range leases {
		if s.Shared { // the lease would outlive the process
			suite.Must(t, q.Extend(t.Context(), d, time.Millisecond))
		}
	}
	return s.Reopen(t, crash)
}

// wantDelivery checks the fields of a delivery that describe earlier receivers. They depend on the kind of database: a
// shared one never sets restarted or crashed, and only a host.Marker sets begun.
func wantDelivery(t *testing.T, s suite.Stores, what string, d host.Delivery, count int, restarted, crashed bool, begun string) {
	t.Helper()
	restarted, crashed = restarted && !s.Shared, crashed && !s.Shared
	if _, marks := s.Tasks.(host.Marker); !marks {
		begun = ""
	}
	if d.Count != count || d.Restarted != restarted || d.Crashed != crashed || d.Begun != begun {
		t.Errorf("%s: received %s %d times, restarted %v, crashed %v, begun %q; want %d times, %v, %v, %q",
			what, d.ID, d.Count, d.Restarted, d.Crashed, d.Begun, count, restarted, crashed, begun)
	}
}

func reopenMessages(t *testing.T, s suite.Stores, crash bool) {
	ctx, large := t.Context(), strings.Repeat("x", 200_000)
	queues := func() []host.Queue { return []host.Queue{s.Tasks, s.Events} }
	for _, q := range queues() {
		suite.Must(t, q.Send(ctx, suite.Message("deleted", "h")))
		d := suite.Receive(t, q, suite.Long)
		suite.Must(t, q.Send(ctx, suite.Message("1", "g"), suite.Message("2", "g"), host.Message{ID: "large", Body: []byte(large)}))
		suite.Must(t, q.Send(ctx, host.Message{ID: "later", Due: s.Now().Add(suite.Long)}))
		suite.Must(t, q.Delete(ctx, d)) // as the last change, so that no later change makes it durable
	}
	s = s.Reopen(t, crash)
	for _, q := range queues() {
		suite.Must(t, q.Send(ctx, host.Message{ID: "2", Group: "g", Body: []byte("an id that is there")}))
		suite.Must(t, q.Send(ctx, suite.Message("3", "g")))
		var group, ids []string
		for range 4 {
			d := suite.Receive(t, q, suite.Long)
			want := "body of " + d.ID
			if ids = append(ids, d.ID); d.Group != "" {
				group = append(group, d.ID)
			} else {
				want = large
			}
			if string(d.Body) != want {
				t.Errorf("%s: got body %.40q", d.ID, d.Body)
			}
			wantDelivery(t, s, "a message received for the first time", d, 1, false, false, "")
			suite.Must(t, q.Delete(ctx, d))
		}
		if slices.Sort(ids); strings.Join(ids, " ") != "1 2 3 large" || strings.Join(group, " ") != "1 2 3" {
			t.Errorf("received %v, and the group in the order %v", ids, group)
		}
		suite.Nothing(t, q)
	}
}

// reopenDelivery ends one process after another while it holds a task and an event.
func reopenDelivery(t *testing.T, s suite.Stores, ends ...bool) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: host.MessageID(7, "1.1"), Body: []byte("{}")}))
	suite.Must(t, s.Events.Send(ctx, host.Message{ID: host.MessageID(7, "go"), Group: "7"}))
	task, event, name := suite.Receive(t, s.Tasks, suite.Long), suite.Receive(t, s.Events, suite.Long), ""
	for i, crash := range ends {
		name = fmt.Sprint("1.", i)
		if m, marks := s.Tasks.(host.Marker); marks {
			suite.Got(m.Begin(ctx, task, name, host.Entry{}))(t)
		}
		suite.Must(t, s.Audit.Record(ctx, host.Record{At: suite.Instant(0), Site: 1})) // a change by the receiver, after which the receive of the event is counted
		s = reopen(t, s, crash, map[host.Queue]host.Delivery{s.Tasks: task, s.Events: event})
		task, event = suite.Receive(t, s.Tasks, suite.Long), suite.Receive(t, s.Events, suite.Long)
		wantDelivery(t, s, fmt.Sprint("the task after end ", i+1), task, i+2, true, crash, name)
		wantDelivery(t, s, fmt.Sprint("the event after end ", i+1), event, i+2, true, crash, "")
	}
	suite.Must(t, s.Tasks.Release(ctx, task, 0))
	task = suite.Receive(t, s.Tasks, suite.Long)
	wantDelivery(t, s, "the task, received again by the same process", task, len(ends)+2, false, false, name)
}

// reopenReceived ends a process that has received a task but has changed nothing since.
func reopenReceived(t *testing.T, s suite.Stores, crash bool) {
	suite.Must(t, s.Tasks.Send(t.Context(), suite.Message("a", "")))
	d := suite.Receive(t, s.Tasks, suite.Long)
	s = reopen(t, s, crash, map[host.Queue]host.Delivery{s.Tasks: d})
	wantDelivery(t, s, "the received task", suite.Receive(t, s.Tasks, suite.Long), 2, true, crash, "")
}

func reopenReleased(t *testing.T, s suite.Stores, crash bool) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, suite.Message("delayed", "")))
	suite.Must(t, s.Tasks.Release(ctx, suite.Receive(t, s.Tasks, suite.Long), suite.Long))
	suite.Must(t, s.Tasks.Send(ctx, suite.Message("at once", "")))
	suite.Must(t, s.Tasks.Release(ctx, suite.Receive(t, s.Tasks, suite.Long), 0))
	s = s.Reopen(t, crash)
	d := suite.Receive(t, s.Tasks, suite.Long)
	if d.ID != "at once" {
		t.Errorf("received %s before the end of its delay", d.ID)
	}
	wantDelivery(t, s, "the released task", d, 2, true, crash, "")
	suite.Nothing(t, s.Tasks)
}

// reopenStopping kills a process that was asked to end, which does not count as a crash.
func reopenStopping(t *testing.T, s suite.Stores) {
	suite.Must(t, s.Tasks.Send(t.Context(), suite.Message("a", "")))
	d := suite.Receive(t, s.Tasks, suite.Long)
	suite.Must(t, s.Database.Stopping())
	s = reopen(t, s, true, map[host.Queue]host.Delivery{s.Tasks: d})
	wantDelivery(t, s, "the task of a process that was asked to stop", suite.Receive(t, s.Tasks, suite.Long), 2, true, false, "")
}

func reopenLog(t *testing.T, s suite.Stores, crash bool) {
	ctx, a := t.Context(), suite.Start(t, s)
	for seq := int64(2); seq < 6; seq++ {
		e := entry(seq, "n")
		if seq == 3 {
			e.Snapshot = []byte("state")
		}
		suite.Must(t, s.Log.Append(ctx, a.ID, e))
	}
	read := func() []host.Stored {
		return []host.Stored{suite.Got(s.Log.Load(ctx, a.ID))(t), suite.Got(s.Log.History(ctx, a.ID, 1, 10))(t)}
	}
	want := read()
	s = s.Reopen(t, crash)
	if diff := cmp.Diff(want, read()); diff != "" || len(want[0].Entries) != 2 || len(want[1].Entries) != 5 {
		t.Errorf("the log (-before +after):\n%s", diff)
	}
	suite.WantError(t, "an existing entry", s.Log.Append(ctx, a.ID, entry(5, "n")), nil)
	suite.WantError(t, "an entry of another writer", s.Log.Append(ctx, a.ID, entry(5, "other")), host.ErrConflict)
	suite.WantError(t, "the next entry", s.Log.Append(ctx, a.ID, entry(6, "n")), nil)
}

// reopenRecords compares all records before and after the end, and checks that new records get new ids.
func reopenRecords(t *testing.T, s suite.Stores, crash bool) {
	ctx := t.Context()
	w, add := scene(t, s), func(n int64) []int64 {
		a := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, suite.Definition(t, s, 1, fmt.Sprint("new ", n)), suite.Instant(n), "")))(t)[0]
		token := suite.Got(s.Users.Create(ctx, host.Token{Site: 1, Role: "viewer", Hash: fmt.Append(nil, n), CreatedAt: suite.Instant(n)}))(t)
		pool := suite.Got(s.Pools.SetPool(ctx, ref(fmt.Sprint("new ", n)), 1, suite.Instant(n)))(t)
		return []int64{a.Project.ID, a.Workflow.ID, a.ID, a.SessionID, token.ID, pool.ID}
	}
	last, want := add(1), records(t, s, w)
	s = s.Reopen(t, crash)
	if diff := cmp.Diff(want, records(t, s, w), sameTree()); diff != "" {
		t.Errorf("records (-before +after):\n%s", diff)
	}
	for i, id := range add(2) {
		if id <= last[i] {
			t.Errorf("new record %d: got id %d, want more than %d", i, id, last[i])
		}
	}
}

// scene creates and changes records of all kinds. It returns a workflow that has sessions.
func scene(t *testing.T, s suite.Stores) host.Workflow {
	t.Helper()
	ctx, times := t.Context(), host.Times{Run: suite.Instant(100), Session: suite.Instant(90)}
	suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"main"}, map[string]host.Times{"main": times}))(t)
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r2", []string{"main", "other"}, map[string]host.Times{"main": times}))(t)
	deleted := suite.Got(suite.Push(ctx, s, 1, "deleted", "r1", []string{"main"}, nil))(t)
	suite.Must(t, s.Projects.DeleteProject(ctx, 1, deleted.ID, suite.Instant(1)))
	suite.Must(t, s.Projects.PauseProject(ctx, 1, p.ID, host.Pause{By: "me", Reason: "why", At: suite.Instant(2)}))
	schedule := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1, Count: 1}))(t)[0]
	moved := schedule
	moved.Times = host.Times{Run: suite.Instant(200), Session: suite.Instant(190), Last: suite.Instant(90)}
	moved.DisabledAt = suite.Instant(3)
	suite.Must(t, s.Schedules.Update(ctx, moved, schedule.Times, suite.Instant(3)))
	w := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: p.Latest.ID, Name: "main"}))(t)[0]

	over, killed, paused := suite.AttemptOf(1, w, suite.Instant(0), ""), suite.AttemptOf(1, w, suite.Instant(0), "again"), suite.AttemptOf(1, w, suite.Instant(60), "")
	waits := suite.AttemptOf(1, w, suite.Instant(120), "")
	waits.WaitsFor, waits.First, waits.Message = 2, host.Entry{}, host.Message{}
	list := suite.Got(s.Attempts.Start(ctx, over, killed, paused, waits))(t)
	suite.Must(t, s.Attempts.Finish(ctx, list[0].ID, host.End{At: suite.Instant(5), Success: true, HasOutputs: true, Archive: []byte("end")}))
	suite.Must(t, s.Attempts.Cancel(ctx, list[1].ID))
	suite.Must(t, s.Attempts.SetPaused(ctx, list[2].ID, true))
	b := suite.Got(s.Backfills.AddBackfill(ctx, backfillOf(1, w, "a")))(t)
	b.State.Begun, b.UpdatedAt = 2, suite.Instant(6)
	suite.Must(t, s.Backfills.UpdateBackfill(ctx, b))

	suite.Got(s.Pools.SetPool(ctx, ref("a"), 3, suite.Instant(0)))(t)
	suite.Got(s.Pools.HoldPool(ctx, ref("a"), true, suite.Instant(1)))(t)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, ref("a"), claim("1/2/3", 2, 0, 1), []int{0, 2}, false, suite.Instant(1)))
	suite.Must(t, s.Semaphore.TakeSlots(ctx, ref("a"), claim("1/2/4", 1, 0, 2), []int{1}, false, suite.Instant(2)))
	suite.Must(t, s.Semaphore.FreeSlots(ctx, ref("a"), "1/2/3", []int{2}))
	suite.Must(t, s.Semaphore.JoinLine(ctx, ref("a"), claim("1/2/5", 1, 1, 3)))

	suite.Got(s.Users.Create(ctx, host.Token{Site: 1, Name: "one", Role: "admin", Hash: []byte("hash"), CreatedAt: suite.Instant(0)}))(t)
	suite.Must(t, s.Users.EndSessions(ctx, "me", suite.Instant(7), suite.Instant(7)))
	suite.Must(t, s.Audit.Record(ctx, host.Record{At: suite.Instant(0), Site: 1, Who: "me", Action: "push", Target: "project demo", Detail: "r1"}))
	suite.Must(t, s.Secrets.PutSecret(ctx, 1, p.ID, "key", "value"))
	suite.Must(t, s.ParamStore(1).Set(ctx, map[string]string{"a": "one"}))
	if s.Blobs != nil {
		suite.Must(t, put(ctx, s, "a/r1", "archive"))
	}
	return w
}

// records reads all records of the first site.
func records(t *testing.T, s suite.Stores, w host.Workflow) map[string]any {
	t.Helper()
	ctx, project := t.Context(), w.Project.ID
	attempts := suite.Got(s.Sessions.Attempts(ctx, host.AttemptQuery{Site: 1, Retried: true, Count: 100}))(t)
	first := attempts[len(attempts)-1]
	value, _, err := s.ParamStore(1).Get(ctx, "a")
	suite.Must(t, err)
	all := map[string]any{
		"projects":  suite.Got(s.Projects.Projects(ctx, host.ProjectQuery{Site: 1, Count: 100}))(t),
		"revisions": suite.Got(s.Projects.Revisions(ctx, host.RevisionQuery{Site: 1, Project: project}))(t),
		"workflows": suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1}))(t),
		"schedules": suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1, Count: 100}))(t),
		"sessions":  suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1, Count: 100}))(t),
		"attempts":  attempts,
		"waiting":   suite.Got(s.Sessions.Active(ctx, host.ActiveQuery{Site: 1, Count: 100}))(t),
		"archive":   suite.Got(s.Attempts.Archive(ctx, first.ID))(t),
		"backfills": suite.Got(s.Backfills.Backfills(ctx, host.BackfillQuery{Site: 1}))(t),
		"pools":     suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: 1}))(t),
		"line":      suite.Got(s.Semaphore.Line(ctx, ref("a"), 10))(t),
		"tokens":    suite.Got(s.Users.List(ctx, 1))(t),
		"ended":     suite.Got(s.Users.SessionsEnded(ctx, "me"))(t),
		"audit":     suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: 1, Count: 100}))(t),
		"secrets":   suite.Got(s.Secrets.ProjectSecrets(ctx, 1, project))(t),
		"parameter": value,
		"messages":  suite.Got(s.Inventory.MessagesOf(ctx, first.ID))(t),
	}
	if s.Blobs != nil {
		all["blob"] = blob(t, s, "a/r1")
	}
	return all
}
