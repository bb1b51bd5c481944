package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"zerodag/internal/host"
)

// testTypes proves that a server gets messages of its types and messages for all servers, in the order sent, and no
// others; that a message for others atomically replaces a leased one; and that waiting receivers are woken for it.
func testTypes(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.poll = time.Hour // no poll helps here
	all := open(t, o)
	o.Types = []string{"sh", "py"}
	some := open(t, o)
	ctx := t.Context()
	receive := func(db *DB, want string) host.Delivery {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		list, err := db.Queue("tasks").Receive(ctx, 1, time.Hour)
		if err != nil || len(list) != 1 || list[0].ID != want {
			t.Fatalf("received %v, %v, want %s", list, err, want)
		}
		return list[0]
	}
	tasks := all.Queue("tasks")
	for _, m := range []host.Message{{ID: "1", Type: "td"}, {ID: "2", Type: "py"}, {ID: "3"}, {ID: "4", Type: "sh"}, {ID: "5", Type: "sh"}} {
		if err := tasks.Send(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	held := receive(some, "2")
	receive(some, "3")
	if four := receive(some, "4"); four.Type != "sh" {
		t.Errorf("its type is %q", four.Type)
	}
	receive(all, "1")
	receive(all, "5")
	got := make(chan host.Delivery)
	go func() {
		list, _ := all.Queue("tasks").Receive(ctx, 1, time.Hour)
		got <- append(list, host.Delivery{})[0]
	}()
	q := some.Queue("tasks")
	if err := q.Forward(ctx, held, host.Message{ID: "6", Type: "td"}); err != nil {
		t.Fatal(err)
	}
	if d := <-got; d.ID != "6" || d.Type != "td" {
		t.Errorf("received %v", d)
	}
	if err := q.Forward(ctx, held, host.Message{ID: "7", Type: "td"}); !errors.Is(err, host.ErrLeaseLost) {
		t.Errorf("a message that is gone is forwarded: %v", err)
	}
	if n := number(t, all, "SELECT count(*) FROM @queued_messages WHERE unique_name IN ('2', '7')"); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}
