package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
)

// TestQueueOnFakeClock proves that a receiver that waits is woken at the exact moment at which a message is due or
// released, or its lease ends.
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

// readOnly makes the writing connection refuse all writes, or allow them again.
func readOnly(t *testing.T, db *DB, on int) {
	t.Helper()
	db.writer.use.Lock()
	defer db.writer.use.Unlock()
	if db.writer.conn == nil {
		return // the next connection decides
	}
	if err := db.writer.conn.script(fmt.Sprintf("PRAGMA query_only = %d", on)); err != nil {
		t.Fatal(err)
	}
}

// TestReleaseOnAFullDisk proves that a message that is released while nothing can be written is redelivered once, after
// its delay and not only when its lease ends, and that the order of its group and its receipt do not change.
func TestReleaseOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		q, ctx, begin := db.Queue("events"), t.Context(), time.Now()
		if err := q.Send(ctx, host.Message{ID: "a", Group: "g"}, host.Message{ID: "b", Group: "g"}); err != nil {
			t.Fatal(err)
		}
		first, err := q.Receive(ctx, 2, 5*time.Minute)
		if err != nil || len(first) != 1 {
			t.Fatal(first, err)
		}
		readOnly(t, db, 1)
		if err := q.Delete(ctx, first[0]); !errors.Is(err, host.ErrUnavailable) {
			t.Fatalf("Delete = %v: the store is not full, this shows nothing", err)
		}
		if err := q.Release(ctx, first[0], 2*time.Second); err != nil {
			t.Errorf("Release = %v", err)
		}
		again, err := q.Receive(ctx, 2, 5*time.Minute)
		if err != nil || len(again) != 1 || again[0].ID != "a" || again[0].Count != 2 || time.Since(begin) != 2*time.Second {
			t.Fatalf("received %+v after %v, %v; want a for the second time after 2 s", again, time.Since(begin), err)
		}
		if err := q.Release(ctx, first[0], 0); err != nil {
			t.Errorf("Release with a lost lease = %v", err)
		}
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if list, err := q.Receive(short, 2, time.Minute); err == nil {
			t.Errorf("received %v while it is leased", list)
		}
		readOnly(t, db, 0)
		if err := q.Delete(ctx, again[0]); err != nil {
			t.Error(err)
		}
		if list, err := q.Receive(ctx, 2, time.Minute); err != nil || len(list) != 1 || list[0].ID != "b" || list[0].Count != 1 {
			t.Errorf("received %+v, %v; want b", list, err)
		}
	})
}

// TestClockThatIsSet proves that setting the machine's clock does not change the length of leases and delays, that a
// clock set back does not delay relative waits, that messages due at a given time arrive at that time of the new clock,
// and that no message that was due is delayed.
func TestClockThatIsSet(t *testing.T) {
	t.Parallel()
	for _, set := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begin, by := time.Now(), time.Duration(0)
			db := open(t, Options{Now: func() time.Time { return time.Now().Add(by) }, Steady: time.Now})
			q, ctx := db.Queue("tasks"), t.Context()
			send := func(m host.Message) {
				t.Helper()
				if err := q.Send(ctx, m); err != nil {
					t.Fatal(err)
				}
			}
			receive := func(want string, at time.Duration) (d host.Delivery) {
				t.Helper()
				list, err := q.Receive(ctx, 1, 5*time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); list[0].ID != want || took < at || took > at+lookAgain {
					t.Errorf("set by %v: received %s after %v, want %s after %v", set, list[0].ID, took, want, at)
				}
				return list[0]
			}
			done := func(d host.Delivery) {
				t.Helper()
				if err := q.Delete(ctx, d); err != nil {
					t.Fatal(err)
				}
			}
			send(host.Message{ID: "ready"})
			send(host.Message{ID: "leased"})
			receive("ready", 0)
			leased := receive("leased", 0)
			send(host.Message{ID: "waits", Due: begin.Add(10 * time.Minute), Relative: true})
			send(host.Message{ID: "at", Due: begin.Add(2 * time.Hour)})
			by = set
			if err := q.Release(ctx, leased, time.Minute); err != nil {
				t.Fatal(err)
			}
			wait, at := 10*time.Minute, 2*time.Hour-set
			if set > 0 {
				wait = 0 // the machine may have slept: the time has passed
				done(receive("waits", wait))
			}
			done(receive("leased", time.Minute))
			done(receive("ready", 5*time.Minute))
			if set < 0 {
				done(receive("waits", wait))
			}
			receive("at", at)
		})
	}
}
