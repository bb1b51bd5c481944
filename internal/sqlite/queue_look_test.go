package sqlite

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
)

// TestLookIntoQueue proves that what a queue holds is counted and listed exactly as it is at each moment, and that to
// look changes nothing: neither how often a message was received nor who gets it when.
func TestLookIntoQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		q, ctx, begin := db.Queue("tasks"), t.Context(), time.Now().UTC().Truncate(time.Microsecond)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(q.Send(ctx, host.Message{ID: "first", Group: "g", Body: []byte("1")}, host.Message{ID: "second", Group: "g", Body: []byte("22")}))
		must(q.Send(ctx, host.Message{ID: "soon", Due: begin.Add(time.Minute), Body: make([]byte, mostBody+1)}))
		time.Sleep(10 * time.Second)
		must(q.Send(ctx, host.Message{ID: "alone"}))
		depth := func(want host.Depth) {
			t.Helper()
			list, err := db.Depths(ctx)
			must(err)
			want.Queue = "tasks"
			if diff := cmp.Diff([]host.Depth{{Queue: "events"}, want}, list); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		depth(host.Depth{Ready: 2, Later: 1, Behind: 1, Oldest: begin})
		taken, err := q.Receive(ctx, 1, 30*time.Second)
		must(err)
		depth(host.Depth{Ready: 1, Later: 1, Leased: 1, Behind: 1, Oldest: begin.Add(10 * time.Second)})
		all, err := db.Queued(ctx, "tasks", 0, 3)
		must(err)
		rest, err := db.Queued(ctx, "tasks", all[2].Place, 3)
		must(err)
		for i := range all {
			all[i].Place = 0
		}
		want := []host.Queued{
			{Message: host.Message{ID: "first", Group: "g", Body: []byte("1")}, Size: 1, Count: 1, Since: begin, Until: begin.Add(40 * time.Second)},
			{Message: host.Message{ID: "second", Group: "g", Body: []byte("22")}, Size: 2, Since: begin, Behind: true},
			{Message: host.Message{ID: "soon", Due: begin.Add(time.Minute)}, Size: mostBody + 1, Since: begin.Add(time.Minute)},
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if len(rest) != 1 || rest[0].ID != "alone" {
			t.Errorf("the next page is %+v", rest)
		}
		time.Sleep(55 * time.Second) // the lease is over, and the delayed message is due
		depth(host.Depth{Ready: 3, Behind: 1, Oldest: begin})
		must(q.Delete(ctx, taken[0])) // too late: it changes nothing
		for _, id := range []string{"first", "soon", "alone"} {
			list, err := q.Receive(ctx, 1, time.Minute)
			must(err)
			if list[0].ID != id || list[0].Count != map[string]int{"first": 2}[id]+map[string]int{"soon": 1, "alone": 1}[id] {
				t.Errorf("received %s for the %dth time, want %s", list[0].ID, list[0].Count, id)
			}
		}
		if _, err := db.Queued(ctx, "mail", 0, 1); !errors.Is(err, host.ErrNotFound) {
			t.Errorf("a queue that there is not: %v", err)
		}
	})
}

// TestLookWakes proves that a look, which makes visible what is due, does not keep it from who waits for it.
func TestLookWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, ctx := open(t, Options{}), t.Context()
		q := db.Queue("events")
		if err := q.Send(ctx, host.Message{ID: "a", Due: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		got := make(chan []host.Delivery, 1)
		go func() {
			list, err := q.Receive(ctx, 1, time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- list
		}()
		synctest.Wait()
		time.Sleep(time.Minute)
		if _, err := db.Depths(ctx); err != nil {
			t.Error(err)
		}
		if list := <-got; len(list) != 1 || list[0].ID != "a" {
			t.Errorf("received %+v", list)
		}
	})
}
