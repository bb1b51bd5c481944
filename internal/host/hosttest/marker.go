package hosttest

import (
	"testing"
	"time"

	"zerodag/internal/host"
)

// markerSuite checks a host.Marker.
func markerSuite(t *testing.T, h Harness) {
	cases{"what has begun is known to the next receiver": markerKept, "a lost lease begins nothing": markerLost, "a kill is seen": markerKill}.run(t, h)
}

// begins notes that the holder of a message begins something.
func begins(t *testing.T, s Stores, d host.Delivery, name string) bool {
	t.Helper()
	return got(s.Tasks.(host.Marker).Begin(t.Context(), d, name, host.Entry{}))(t)
}

func markerKept(t *testing.T, s Stores) {
	ctx := t.Context()
	must(t, s.Tasks.Send(ctx, host.Message{ID: "7/1.1"}))
	d := receive(t, s.Tasks, long)
	if d.Begun != "" {
		t.Errorf("before anybody began it says %q", d.Begun)
	}
	must(t, s.Tasks.Release(ctx, d, 0))
	d = receive(t, s.Tasks, long)
	if d.Begun != "" || d.Count != 2 {
		t.Errorf("received twice and not begun: %q, %d times", d.Begun, d.Count)
	}
	begins(t, s, d, "1.1")
	begins(t, s, d, "2.1")
	begins(t, s, d, "")
	must(t, s.Tasks.Release(ctx, d, 0))
	d = receive(t, s.Tasks, long)
	if d.Begun != "2.1" || d.Count != 3 {
		t.Errorf("what has begun is %q, %d times received", d.Begun, d.Count)
	}
	must(t, s.Tasks.Delete(ctx, d))
}

func markerLost(t *testing.T, s Stores) {
	ctx := t.Context()
	must(t, s.Tasks.Send(ctx, host.Message{ID: "7/1.1"}))
	lost := receive(t, s.Tasks, 50*time.Millisecond)
	time.Sleep(200*time.Millisecond + s.Grain)
	d := receive(t, s.Tasks, long)
	_, err := s.Tasks.(host.Marker).Begin(ctx, lost, "1.1", host.Entry{})
	wantError(t, "begin after the lease", err, host.ErrLeaseLost)
	must(t, s.Tasks.Delete(ctx, d))
	_, err = s.Tasks.(host.Marker).Begin(ctx, d, "1.1", host.Entry{})
	wantError(t, "begin after the end", err, host.ErrLeaseLost)
}

func markerKill(t *testing.T, s Stores) {
	ctx, w := t.Context(), definition(t, s, 1, "demo")
	a, other := got(s.Attempts.Start(ctx, attemptOf(1, w, instant(0), "")))(t)[0], got(s.Attempts.Start(ctx, attemptOf(1, w, instant(1), "")))(t)[0]
	must(t, s.Tasks.Send(ctx, host.Message{ID: host.MessageID(a.ID, "1.1")}))
	d := receive(t, s.Tasks, long)
	must(t, s.Attempts.Cancel(ctx, other.ID))
	if begins(t, s, d, "1.1") || begins(t, s, d, "") {
		t.Error("it was killed before anybody killed it")
	}
	must(t, s.Attempts.Cancel(ctx, a.ID))
	if !begins(t, s, d, "1.1") || !begins(t, s, d, "") {
		t.Error("the kill is not seen")
	}
}
