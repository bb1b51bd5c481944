package messages

import (
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// Marker checks a host.Marker.
func Marker(t *testing.T, h suite.Harness) {
	suite.Cases{"what has begun is known to the next receiver": markerKept, "a lost lease begins nothing": markerLost, "a kill is seen": markerKill}.Run(t, h)
}

// begins notes that the holder of a message begins something.
func begins(t *testing.T, s suite.Stores, d host.Delivery, name string) bool {
	t.Helper()
	return suite.Got(s.Tasks.(host.Marker).Begin(t.Context(), d, name, host.Entry{}))(t)
}

func markerKept(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/1.1"}))
	d := suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "" {
		t.Errorf("before anybody began it says %q", d.Begun)
	}
	suite.Must(t, s.Tasks.Release(ctx, d, 0))
	d = suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "" || d.Count != 2 {
		t.Errorf("received twice and not begun: %q, %d times", d.Begun, d.Count)
	}
	begins(t, s, d, "1.1")
	begins(t, s, d, "2.1")
	begins(t, s, d, "")
	suite.Must(t, s.Tasks.Release(ctx, d, 0))
	d = suite.Receive(t, s.Tasks, suite.Long)
	if d.Begun != "2.1" || d.Count != 3 {
		t.Errorf("what has begun is %q, %d times received", d.Begun, d.Count)
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
	suite.WantError(t, "begin after the lease", err, host.ErrLeaseLost)
	suite.Must(t, s.Tasks.Delete(ctx, d))
	_, err = s.Tasks.(host.Marker).Begin(ctx, d, "1.1", host.Entry{})
	suite.WantError(t, "begin after the end", err, host.ErrLeaseLost)
}

func markerKill(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	a, other := suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(0), "")))(t)[0], suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(1), "")))(t)[0]
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: host.MessageID(a.ID, "1.1")}))
	d := suite.Receive(t, s.Tasks, suite.Long)
	suite.Must(t, s.Attempts.Cancel(ctx, other.ID))
	if begins(t, s, d, "1.1") || begins(t, s, d, "") {
		t.Error("it was killed before anybody killed it")
	}
	suite.Must(t, s.Attempts.Cancel(ctx, a.ID))
	if !begins(t, s, d, "1.1") || !begins(t, s, d, "") {
		t.Error("the kill is not seen")
	}
}
