package sqlite_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlite"
)

// TestSleep proves that the time during which a machine sleeps counts for waits but not for leases, whose holders also
// slept, and that setting a clock forward ends no relative wait, but makes messages due whose time is on that clock.
func TestSleep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slept bool
		want  []string
	}{"sleeps": {true, []string{"waits", "due"}}, "is set": {false, []string{"due"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var set, slept atomic.Int64
			began := time.Now()
			db, err := sqlite.Open(t.Context(), sqlite.Options{
				Now:    func() time.Time { return time.Now().Add(time.Duration(set.Load())) },
				Steady: func() time.Time { return began.Round(0).Add(time.Since(began)) },
				Uptime: func() time.Time { return began.Round(0).Add(time.Since(began) + time.Duration(slept.Load())) },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			q := db.Queue("tasks")
			receive := func(within time.Duration) string {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				list, err := q.Receive(ctx, 1, time.Minute)
				if errors.Is(err, context.DeadlineExceeded) {
					return ""
				}
				if err != nil {
					t.Fatal(err)
				}
				return list[0].ID
			}
			if err := q.Send(t.Context(), host.Message{ID: "leased"}); err != nil {
				t.Fatal(err)
			}
			if id := receive(time.Minute); id != "leased" {
				t.Fatalf("received %q", id)
			}
			if err := q.Send(t.Context(), host.Message{ID: "waits", Due: time.Now().Add(time.Hour), Relative: true}, host.Message{ID: "due", Due: time.Now().Add(2 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
			set.Store(int64(3 * time.Hour))
			if c.slept {
				slept.Store(int64(3 * time.Hour))
			}
			for _, want := range append(c.want, "") {
				within := time.Minute
				if want == "" {
					within = 50 * time.Millisecond
				}
				if id := receive(within); id != want {
					t.Errorf("received %q, want %q", id, want)
				}
			}
		})
	}
}
