package messages

import (
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// Marker checks a host.Marker.
func Marker(t *testing.T, h suite.Harness) {
	suite.Cases{"next receiver sees the last mark": markerKept, "no marks after a lost lease": markerLost, "begin reports a kill": markerKill}.Run(t, h)
}

// begins records that a message's holder begins a run.
func begins(t *testing.T, s suite.Stores, d host.Delivery, name string) bool {
	t.Helper()
	return suite.Got(s.Tasks.(host.Marker).Begin(t.Context(), d, name, host.Entry{}))(t)
}

func markerKept(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/1.1"}))
	d := suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "" {
		t.Errorf("got mark %q before the first Begin, want none", d.Begun)
	}
	suite.Must(t, s.Tasks.Release(ctx, d, 0))
	d = suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "" || d.Count != 2 {
		t.Errorf("got mark %q and count %d, want no mark and 2", d.Begun, d.Count)
	}
	begins(t, s, d, "1.1")
	begins(t, s, d, "2.1")
	begins(t, s, d, "")
	suite.Must(t, s.Tasks.Release(ctx, d, 0))
	d = suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "2.1" || d.Count != 3 {
		t.Errorf("got mark %q and count %d, want 2.1 and 3", d.Begun, d.Count)
	}
	suite.Must(t, s.Tasks.Delete(ctx, d))
}

func markerLost(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/1.1"}))
	lost := suite.Receive(t, s.Tasks, 50*time.Millisecond)
	time.Sleep(200*time.Millisecond + s.Grain)
	d := suite.Receive(t, s.Tasks, suite.Long)
	_, err := s.Tasks.(host.Marker).Begin(ctx, lost, "1.1", host.Entry{})
	suite.WantError(t, "begin after the lease ended", err, host.ErrLeaseLost)
	suite.Must(t, s.Tasks.Delete(ctx, d))
	_, err = s.Tasks.(host.Marker).Begin(ctx, d, "1.1", host.Entry{})
	suite.WantError(t, "begin after the deletion", err, host.ErrLeaseLost)
}

func markerKill(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	a, other := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0], suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(1), "")))(t)[0]
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: host.MessageID(a.ID, "1.1")}))
	d := suite.Receive(t, s.Tasks, suite.Long)
	suite.Must(t, s.Attempts.Cancel(ctx, other.ID))
	if begins(t, s, d, "1.1") || begins(t, s, d, "") {
		t.Error("Begin reported a kill before the attempt was killed")
	}
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	if !begins(t, s, d, "1.1") || !begins(t, s, d, "") {
		t.Error("Begin did not report the kill")
	}
}
