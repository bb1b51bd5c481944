package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"zerodag/internal/host"
)

// testOutage proves that a process that could not reach the database does not take over messages of others for a while,
// nor does a process whose statement was delayed in transit; that the holder of the lease keeps it until another has
// received the message; and that a process that was not cut off takes it as soon as the lease ends.
func testOutage(t *testing.T, l *lab) {
	l.enter(t)
	o, ctx := l.options(), t.Context()
	o.Connections = 2
	holder, other := open(t, o), open(t, o)
	mine, others := holder.Queue("tasks"), other.Queue("tasks")
	if err := mine.Send(ctx, host.Message{ID: "a", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	list, err := mine.Receive(ctx, 1, time.Millisecond)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	nothing := func(why string) {
		t.Helper()
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		if list, err := others.Receive(short, 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: received %v, %v", why, list, err)
		}
	}
	set := func(f func(*outage)) {
		other.outage.mu.Lock()
		defer other.outage.mu.Unlock()
		f(&other.outage)
	}
	set(func(o *outage) { o.last = time.Now().Add(-unheard - time.Second) })
	nothing("after an outage")
	nothing("a moment after an outage")
	if err := mine.Extend(ctx, list[0], time.Millisecond); err != nil {
		t.Errorf("extend a lease that has ended and nobody has taken: %v", err)
	}
	set(func(o *outage) {
		o.until, o.clock, o.found, o.known = time.Time{}, time.Now().Add(-time.Hour), time.Now(), true
	})
	nothing("a question that was on its way for long")
	set(func(o *outage) { o.known = false })
	nothing("after the clock of the database was set forward")
	set(func(o *outage) { o.until = time.Time{} })
	taken, err := others.Receive(ctx, 1, time.Minute)
	if err != nil || len(taken) != 1 || taken[0].Count != 2 {
		t.Fatalf("in the end the other one receives %v, %v", taken, err)
	}
	if err := mine.Extend(ctx, list[0], time.Minute); !errors.Is(err, host.ErrLeaseLost) {
		t.Errorf("extend what another one has: %v", err)
	}
	if err := mine.Delete(ctx, list[0]); err != nil {
		t.Error(err)
	}
	if err := others.Extend(ctx, taken[0], time.Minute); err != nil {
		t.Errorf("the message is gone: %v", err)
	}
}
