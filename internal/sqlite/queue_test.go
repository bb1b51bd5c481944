package sqlite

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
)

// TestQueueOnFakeClock proves that a receiver that waits is woken at the very moment at
// which a message is due, released, or free of a lease that ended.
func TestQueueOnFakeClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		q, ctx, begin := db.Queue("tasks"), t.Context(), time.Now()
		receive := func(want string, at time.Duration, count int) host.Delivery {
			t.Helper()
			list, err := q.Receive(ctx, 1, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(list[0].ID, " at ", time.Since(begin), " count ", list[0].Count); got != fmt.Sprint(want, " at ", at, " count ", count) {
				t.Errorf("got %s, want %s at %s count %d", got, want, at, count)
			}
			return list[0]
		}
		if err := q.Send(ctx, host.Message{ID: "a", Due: begin.Add(90 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		receive("a", 90*time.Second, 1)
		d := receive("a", 150*time.Second, 2)
		if err := q.Release(ctx, d, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		d = receive("a", 155*time.Second, 3)
		if err := q.Delete(ctx, d); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if list, err := q.Receive(short, 1, time.Minute); err == nil {
			t.Errorf("received %v after the delete", list)
		}
	})
}

// TestReopen proves that what was acknowledged is there after the process ended, that
// leases are gone and that deliveries stay counted.
func TestReopen(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	db, err := Open(ctx, Options{Path: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	id := started(t, db, 1)[0]
	if err := db.Append(ctx, id, host.Entry{Seq: 2, Nonce: "x", Changes: []byte("c"), Snapshot: []byte("s")}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Queue("events").Receive(ctx, 1, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Path: path})
	list, err := db.Queue("events").Receive(ctx, 1, time.Hour)
	if err != nil || list[0].Count != 2 || list[0].Group != fmt.Sprint(id) {
		t.Errorf("Receive = %+v, %v; want the message a second time", list, err)
	}
	s, err := db.Load(ctx, id)
	if err != nil || s.At != 2 || string(s.Snapshot) != "s" || len(s.Entries) != 0 {
		t.Errorf("Load = %+v, %v", s, err)
	}
}
