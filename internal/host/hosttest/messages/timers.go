package messages

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// Timers checks a host.Timers.
func Timers(t *testing.T, h suite.Harness) {
	suite.Cases{"store and list due messages": timersWait}.Run(t, h)
}

// dueTimers returns the queue, ID and body of each due timer.
func dueTimers(t *testing.T, s suite.Stores, until time.Time, n int) (list []host.Timer, names []string) {
	t.Helper()
	list = suite.Got(s.Timers.Due(t.Context(), until, n))(t)
	for _, x := range list {
		names = append(names, x.Queue+" "+x.Message.ID+" "+string(x.Message.Body))
	}
	return list, names
}

func timersWait(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	at := func(id string, seconds int64) host.Message {
		return host.Message{ID: id, Body: []byte("of " + id), Due: suite.Instant(seconds)}
	}
	for range 2 { // a repeated call changes nothing
		suite.Must(t, s.Timers.Later(ctx, "tasks", at("late", 300), at("first", 100)))
		suite.Must(t, s.Timers.Later(ctx, "events", at("second", 200)))
	}
	_, names := dueTimers(t, s, suite.Instant(99), 9)
	if len(names) != 0 {
		t.Errorf("got due messages %q too early", names)
	}
	list, names := dueTimers(t, s, suite.Instant(200), 9)
	if diff := cmp.Diff([]string{"tasks first of first", "events second of second"}, names); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if _, names = dueTimers(t, s, suite.Instant(400), 1); len(names) != 1 || names[0] != "tasks first of first" {
		t.Errorf("got earliest message %q", names)
	}
	suite.Must(t, s.Timers.Delete(ctx, list))
	suite.Must(t, s.Timers.Delete(ctx, list))
	if _, names = dueTimers(t, s, suite.Instant(400), 9); len(names) != 1 || names[0] != "tasks late of late" {
		t.Errorf("got remaining messages %q", names)
	}
}

// Horizon checks a host.Horizon.
func Horizon(t *testing.T, h suite.Harness) {
	suite.Cases{"marks move only from their current value": horizonMoves}.Run(t, h)
}

func horizonMoves(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	is := func(handed, swept int64) {
		t.Helper()
		marks := suite.Got(s.Horizon.Marks(ctx))(t)
		if marks[host.Handed] != handed || marks[host.Swept] != swept {
			t.Errorf("got marks %v, want %d and %d", marks, handed, swept)
		}
	}
	is(0, 0)
	suite.Must(t, s.Horizon.Move(ctx, host.Handed, 60, 70)) // another tick moved the mark back, or it was never at 60
	is(0, 0)
	suite.Must(t, s.Horizon.Move(ctx, host.Handed, 0, 60))
	suite.Must(t, s.Horizon.Move(ctx, host.Handed, 0, 50))
	is(60, 0)
	suite.Must(t, s.Horizon.Move(ctx, host.Swept, 0, 7))
	suite.Must(t, s.Horizon.Move(ctx, host.Handed, 60, 120))
	suite.Must(t, s.Horizon.Move(ctx, host.Swept, 7, 0))
	is(120, 0)
	suite.Must(t, s.Horizon.Move(ctx, host.Swept, 0, 8))
	is(120, 8)
}
