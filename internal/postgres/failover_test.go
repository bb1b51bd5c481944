package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/operators/operatortest/postgres"
)

// TestFailover proves that data that a process remembers from commits that a failover has lost does not become part of
// an attempt, and that lost numbers are not assigned again: not even through a pooler, whose connections stay open.
func TestFailover(t *testing.T) {
	t.Parallel()
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		testFailover(t, func(p *proxy) int { return p.port() })
	})
	t.Run("pooler", func(t *testing.T) {
		t.Parallel()
		testFailover(t, func(p *proxy) int { return postgres.Pooler(t, p.port()) })
	})
}

// testFailover connects to the database at the port that through returns for a proxy.
func testFailover(t *testing.T, through func(*proxy) int) {
	primary := postgres.StartKeeping(t)
	standby := primary.Standby(t, false)
	l := &lab{Server: primary, room: make(chan struct{}, 1)}
	p := newProxy(t, primary.Port)
	o := l.options()
	o.URL = l.url(through(p))
	db, ctx := open(t, o), t.Context()
	scene := setScene(t, db)
	started := func(name string) host.Attempt {
		t.Helper()
		a := scene.attempt()
		a.RetryName = name
		list, err := db.Start(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	queue := db.Queue("tasks")
	received := func(id string) host.Delivery {
		t.Helper()
		if err := queue.Send(ctx, host.Message{ID: id}); err != nil {
			t.Fatal(err)
		}
		list, err := queue.Receive(ctx, 1, time.Hour)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	a := started("kept")
	entry := func(seq int64, nonce, after, receipt string) host.Entry {
		return host.Entry{Seq: seq, Nonce: nonce, At: at(0), Changes: []byte("x"), Events: []byte("[]"), Basis: host.Basis{After: after, Receipt: receipt}}
	}
	want := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	kept := received(host.MessageID(a.ID, "1.1"))
	want("append", db.Append(ctx, a.ID, entry(2, "kept", "", kept.Receipt)), nil)
	primary.CatchUp(t)
	standby.Stop(t)
	lost := received(host.MessageID(a.ID, "2.1"))
	want("append what is lost", db.Append(ctx, a.ID, entry(3, "lost", "kept", lost.Receipt)), nil)
	var last host.Attempt
	for n := range 50 { // more than PostgreSQL itself skips
		last = started(fmt.Sprint("lost", n))
	}

	p.shutNow()
	primary.Stop(t)
	standby.Resume(t)
	standby.Promote(t)
	p.switchTo(standby.Port)
	p.open()

	_, err := db.Attempt(ctx, host.AnySite, last.ID)
	want("the lost attempt", err, host.ErrNotFound)
	if next := started("next"); next.ID <= last.ID || next.SessionID <= last.SessionID {
		t.Errorf("attempt %d of session %d after the failover, and %d of %d was lost", next.ID, next.SessionID, last.ID, last.SessionID)
	}
	want("append behind an entry that is gone", db.Append(ctx, a.ID, entry(4, "a", "lost", kept.Receipt)), host.ErrConflict)
	want("append for a message that is gone", db.Append(ctx, a.ID, entry(3, "b", "kept", lost.Receipt)), host.ErrLeaseLost)
	begin := func(d host.Delivery, seq int64, nonce string) error {
		_, err := queue.Begin(ctx, d, "1.1", host.Entry{Seq: seq, Nonce: nonce})
		_, look := queue.Begin(ctx, d, "", host.Entry{Seq: seq, Nonce: nonce})
		if fmt.Sprint(err) != fmt.Sprint(look) {
			t.Errorf("to begin answers %v, to look %v", err, look)
		}
		return err
	}
	want("begin what was lost", begin(lost, 3, "lost"), host.ErrLeaseLost)
	want("begin under an entry that is gone", begin(kept, 3, "lost"), host.ErrConflict)
	want("append", db.Append(ctx, a.ID, entry(3, "other", "kept", kept.Receipt)), nil)
	want("append it again", db.Append(ctx, a.ID, entry(3, "other", "kept", kept.Receipt)), nil)
	want("append behind an entry that is another one now", db.Append(ctx, a.ID, entry(4, "c", "lost", kept.Receipt)), host.ErrConflict)
	want("begin under an entry that is another one now", begin(kept, 3, "lost"), host.ErrConflict)
	want("begin", begin(kept, 2, "kept"), nil)

	before := started("before a restart")
	standby.Restart(t)
	if next := started("after a restart"); next.ID != before.ID+1 && next.ID > before.ID+40 { // PostgreSQL skips up to 32 in a crash
		t.Errorf("attempt %d after a restart, want the one after %d", next.ID, before.ID)
	}
}

// TestReceiveWithoutAnswer proves that messages that were leased by a call without a response are received as soon as
// the database is back up, even if it was down for longer than the call lasted.
func TestReceiveWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := postgres.StartKeeping(t)
	l := &lab{Server: server, room: make(chan struct{}, 1)}
	o := l.options()
	direct := open(t, o)
	p := newProxy(t, server.Port)
	o.URL = l.url(p.port()) + "&application_name=receiving"
	db := open(t, o)
	queue := db.Queue("tasks")
	receive := func(within time.Duration) ([]host.Delivery, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return queue.Receive(ctx, 1, time.Hour)
	}
	if list, err := receive(100 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) { // its statements are prepared from now on
		t.Fatal(list, err)
	}
	l.listening(t, "receiving")
	if err := direct.Queue("tasks").Send(t.Context(), host.Message{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	p.arm(1, true, p.shutNow)
	if list, err := receive(time.Minute); !errors.Is(err, host.ErrUnavailable) {
		t.Fatalf("without an answer it receives %v, %v", list, err)
	}
	p.open()
	list, err := receive(20 * time.Second)
	if err != nil || len(list) != 1 || list[0].ID != "a" || list[0].Count != 1 {
		t.Errorf("received %v, %v, want the message for the first time", list, err)
	}
}
