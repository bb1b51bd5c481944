package hosttest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// schedulesSuite checks host.Schedules.
func schedulesSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"push updates schedules": schedulesPush,
		"concurrent updates":     schedulesRace,
		"repeated updates":       schedulesMoves,
		"due schedules":          schedulesDue,
		"list":                   schedulesList,
	}.Run(t, h)
}

func times(run int64) host.Times {
	return host.Times{Run: suite.Instant(run), Session: suite.Instant(run - 5)}
}

// named finds a workflow's schedule, because ids may be in any order. Lists are in the order of ids.
func named(t *testing.T, list []host.Schedule, workflow string) host.Schedule {
	t.Helper()
	var found host.Schedule
	for i, s := range list {
		if i > 0 && list[i-1].ID >= s.ID {
			t.Errorf("schedule %d follows %d", s.ID, list[i-1].ID)
		}
		if s.Workflow.Name == workflow {
			found = s
		}
	}
	if found.ID == 0 {
		t.Fatalf("no schedule of %s in %+v", workflow, list)
	}
	return found
}

func schedulesPush(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	p := suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"a", "b"}, map[string]host.Times{"a": times(10), "b": times(20)}))(t)
	list := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)
	if len(list) != 2 {
		t.Fatalf("got %d schedules, want 2", len(list))
	}
	a := named(t, list, "a")
	want := host.Schedule{ID: a.ID, Site: 1, Project: host.Ref{ID: p.ID, Name: "demo"}, Workflow: host.Ref{ID: a.Workflow.ID, Name: "a"}, Times: times(10),
		CreatedAt: suite.Instant(0), UpdatedAt: suite.Instant(0)}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("first schedule (-want +got):\n%s", diff)
	}
	disabled := a
	disabled.DisabledAt = suite.Instant(3)
	suite.Must(t, s.Schedules.Update(ctx, disabled, a.Times, suite.Instant(3)))
	var old *host.Schedule
	second := host.Push{Site: 1, Project: "demo", Revision: host.Revision{Name: "r2", CreatedAt: suite.Instant(50)}}
	for _, name := range []string{"a", "c"} {
		second.Workflows = append(second.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: suite.Config(name)})
	}
	second.Schedules = map[string]host.NextTimes{
		"a": func(o *host.Schedule, _ bool) host.Times { old = o; return times(30) },
		"c": func(o *host.Schedule, _ bool) host.Times {
			if o != nil {
				t.Errorf("got previous schedule %+v of a new one, want none", o)
			}
			return times(40)
		}}
	pushed := suite.Got(s.Projects.Push(ctx, second))(t)
	if old == nil || old.ID != a.ID || !old.Times.Run.Equal(suite.Instant(10)) || !old.DisabledAt.Equal(suite.Instant(3)) {
		t.Errorf("got previous schedule %+v", old)
	}
	list = suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)
	if len(list) != 2 || named(t, list, "a").ID != a.ID || named(t, list, "c").ID == a.ID {
		t.Fatalf("got schedules %+v after the second push", list)
	}
	newest := suite.Got(s.Workflows.Workflows(ctx, host.WorkflowQuery{Site: 1, Revision: pushed.Latest.ID, Name: "a"}))(t)[0]
	want.Workflow.ID, want.Times, want.UpdatedAt, want.DisabledAt = newest.ID, times(30), suite.Instant(50), suite.Instant(3)
	if diff := cmp.Diff(want, suite.Got(s.Schedules.Schedule(ctx, 1, a.ID))(t)); diff != "" {
		t.Errorf("kept schedule (-want +got):\n%s", diff)
	}
	_, err := s.Schedules.Schedule(ctx, 2, a.ID)
	suite.WantError(t, "schedule of another site", err, host.ErrNotFound)
}

// schedulesMoves moves a schedule repeatedly, to times with the precision of a clock instead of a row. The caller must
// learn that it succeeded even if the first response was lost, because otherwise no process sends the schedule's next
// run.
func schedulesMoves(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"a"}, map[string]host.Times{"a": times(10)}))(t)
	a := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)[0]
	zone := time.FixedZone("", 2*60*60)
	for i := range 60 {
		old := a.Times
		at := time.Now().Add(time.Duration(i)*time.Second + time.Nanosecond)
		a.Times = host.Times{Run: at.Add(time.Hour), Session: at.In(zone), Last: old.Session}
		suite.Must(t, s.Schedules.Update(ctx, a, old, at))
	}
}

func schedulesRace(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Got(suite.Push(ctx, s, 1, "demo", "r1", []string{"a"}, map[string]host.Times{"a": times(10)}))(t)
	a := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)[0]
	var all sync.WaitGroup
	var mu sync.Mutex
	var won []host.Times
	for i := range 6 {
		all.Go(func() {
			moved := a
			moved.Times = host.Times{Run: suite.Instant(100 + int64(i)), Session: suite.Instant(90), Last: suite.Instant(5)}
			err := s.Schedules.Update(ctx, moved, a.Times, suite.Instant(20))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, moved.Times)
			} else if !errors.Is(err, host.ErrConflict) {
				t.Errorf("update: %v", err)
			}
		})
	}
	all.Wait()
	now := suite.Got(s.Schedules.Schedule(ctx, 1, a.ID))(t)
	if diff := cmp.Diff([]host.Times{now.Times}, won); diff != "" || !now.UpdatedAt.Equal(suite.Instant(20)) {
		t.Errorf("successful and stored update, at %v (-want +got):\n%s", now.UpdatedAt, diff)
	}
	a.ID += 100
	suite.WantError(t, "update an unknown schedule", s.Schedules.Update(ctx, a, a.Times, suite.Instant(1)), host.ErrNotFound)
}

func schedulesDue(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	if next := suite.Got(s.Schedules.NextDue(ctx))(t); !next.IsZero() {
		t.Errorf("got next due time %v without schedules, want none", next)
	}
	ended := host.Times{Run: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Session: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	suite.Got(suite.Push(ctx, s, 1, "one", "r1", []string{"a", "b", "c"}, map[string]host.Times{"a": times(30), "b": times(10), "c": ended}))(t)
	suite.Got(suite.Push(ctx, s, 2, "two", "r1", []string{"d", "off"}, map[string]host.Times{"d": times(20), "off": times(5)}))(t)
	for _, x := range suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 2, Workflow: "off"}))(t) {
		x.DisabledAt = suite.Instant(1)
		suite.Must(t, s.Schedules.Update(ctx, x, x.Times, suite.Instant(1)))
	}
	if next := suite.Got(s.Schedules.NextDue(ctx))(t); !next.Equal(suite.Instant(10)) {
		t.Errorf("got next due time %v, want %v", next, suite.Instant(10))
	}
	for _, c := range []struct {
		from, until int64
		n           int
		want        string
	}{{0, 9, 10, ""}, {0, 10, 10, "b "}, {0, 100, 10, "b d a "}, {0, 100, 2, "b d "}, {0, 100, 0, "b d a "}, {0, 1 << 40, 10, "b d a "},
		{10, 100, 10, "d a "}, {9, 29, 0, "b d "}, {30, 100, 10, ""}} {
		from := suite.Instant(c.from)
		if c.from == 0 {
			from = time.Time{}
		}
		names := ""
		var each []host.Schedule
		suite.Must(t, s.Schedules.EachDue(ctx, from, suite.Instant(c.until), func(list []host.Schedule) error {
			if len(list) == 0 {
				t.Error("got an empty part")
			}
			each = append(each, list...)
			return nil
		}))
		if all := suite.Got(s.Schedules.Due(ctx, from, suite.Instant(c.until), 0))(t); !cmp.Equal(all, each) {
			t.Errorf("got %v in parts, but %v in one call", each, all)
		}
		for _, x := range suite.Got(s.Schedules.Due(ctx, from, suite.Instant(c.until), c.n))(t) {
			names += x.Workflow.Name + " "
		}
		if names != c.want {
			t.Errorf("due after %d until %d: got %q, want %q", c.from, c.until, names, c.want)
		}
	}
}

func schedulesList(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	one := suite.Got(suite.Push(ctx, s, 1, "one", "r1", []string{"a", "b"}, map[string]host.Times{"a": times(1), "b": times(2)}))(t)
	suite.Got(suite.Push(ctx, s, 1, "two", "r1", []string{"a"}, map[string]host.Times{"a": times(3)}))(t)
	list := suite.Got(s.Schedules.Schedules(ctx, host.ScheduleQuery{Site: 1}))(t)
	if len(list) != 3 {
		t.Fatalf("got %d schedules, want 3", len(list))
	}
	named(t, list, "b")
	for _, c := range []struct {
		q    host.ScheduleQuery
		want int
	}{
		{host.ScheduleQuery{Site: 1, Count: 2}, 2}, {host.ScheduleQuery{Site: 1, After: list[0].ID}, 2},
		{host.ScheduleQuery{Site: 1, Project: one.ID}, 2}, {host.ScheduleQuery{Site: 1, Project: one.ID, Workflow: "b"}, 1},
		{host.ScheduleQuery{Site: 1, Workflow: "a"}, 2}, {host.ScheduleQuery{Site: 2}, 0},
	} {
		if got := len(suite.Got(s.Schedules.Schedules(ctx, c.q))(t)); got != c.want {
			t.Errorf("%+v: got %d schedules, want %d", c.q, got, c.want)
		}
	}
}
