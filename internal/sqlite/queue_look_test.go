package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
)

// TestLookWakes proves that a read of the queue, which makes due messages visible, does not keep them from waiting
// receivers.
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
