package hosttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// inventorySuite checks a host.Inventory.
func inventorySuite(t *testing.T, h suite.Harness) {
	suite.Cases{"messages of an attempt": inventoryOf, "held messages": inventoryHeld, "discard": inventoryDiscard, "attempts without messages": inventorySilent, "deadlines": inventoryDeadlines, "paused, waiting and ended": inventoryIdle}.Run(t, h)
}

// wantOf checks the names of an attempt's messages.
func wantOf(t *testing.T, s suite.Stores, attempt int64, want ...string) {
	t.Helper()
	var names []string
	for _, m := range suite.Got(s.Inventory.MessagesOf(t.Context(), attempt))(t) {
		_, name, err := host.ParseMessageID(m.ID)
		suite.Must(t, err)
		names = append(names, fmt.Sprintf("%s %s %s", name, m.Group, m.Body))
	}
	slices.Sort(names)
	if got := strings.Join(names, ", "); got != strings.Join(want, ", ") {
		t.Errorf("attempt %d: got messages %q, want %q", attempt, got, want)
	}
}

// wantSilent checks which attempts have no message.
func wantSilent(t *testing.T, s suite.Stores, want ...host.Attempt) {
	t.Helper()
	list := []host.Attempt{}
	for _, id := range suite.Got(s.Inventory.Silent(t.Context(), 0, 100))(t) {
		list = append(list, host.Attempt{ID: id})
	}
	if ids(list...) != ids(want...) {
		t.Errorf("got attempts %s without messages, want %s", ids(list...), ids(want...))
	}
}

// inventoryOf checks attempts whose ids are prefixes of one another.
func inventoryOf(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	send := func(q host.Queue, attempt int64, name, group string) {
		suite.Must(t, q.Send(ctx, host.Message{ID: host.MessageID(attempt, name), Group: group, Body: []byte("of " + name)}))
	}
	send(s.Tasks, 7, "1.1", "")
	send(s.Events, 7, "kill", "7")
	send(s.Events, 7, "go", "7") // behind another of its group
	send(s.Tasks, 77, "1.1", "")
	send(s.Tasks, 6, "1.1", "")
	wantOf(t, s, 7, "1.1  of 1.1", "go 7 of go", "kill 7 of kill")
	wantOf(t, s, 77, "1.1  of 1.1")
	wantOf(t, s, 70)
	d := suite.Receive(t, s.Events, suite.Long)
	wantOf(t, s, 7, "1.1  of 1.1", "go 7 of go", "kill 7 of kill") // leased messages are listed
	suite.Must(t, s.Events.Delete(ctx, d))
	wantOf(t, s, 7, "1.1  of 1.1", "go 7 of go")
}

// inventoryHeld checks that only leased messages in the task queue are held, each by the server that received it.
func inventoryHeld(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for _, id := range []string{"7/1.1", "7/2.1", "77/1.1"} {
		suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: id, Body: []byte("of " + id)}))
	}
	suite.Must(t, s.Events.Send(ctx, host.Message{ID: "7/kill", Group: "7"}))
	suite.Receive(t, s.Events, suite.Long)
	want := func(what string, names ...string) {
		t.Helper()
		var got []string
		for _, m := range suite.Got(s.Inventory.HeldOf(ctx, 7))(t) {
			got = append(got, m.ID)
			if m.Holder != s.Name || s.Name == "" || string(m.Body) != "of "+m.ID {
				t.Errorf("%s: %s with body %q is held by %q, want %q", what, m.ID, m.Body, m.Holder, s.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("%s: got %v, want %v", what, got, names)
		}
	}
	want("before a receipt")
	held := map[string]host.Delivery{}
	for range 3 {
		d := suite.Receive(t, s.Tasks, suite.Long)
		held[d.ID] = d
	}
	want("after a receipt", "7/1.1", "7/2.1")
	suite.Must(t, s.Tasks.Release(ctx, held["7/1.1"], suite.Long))
	want("after a release", "7/2.1")
	suite.Must(t, s.Tasks.Delete(ctx, held["7/2.1"]))
	want("after a deletion")
}

// inventoryDiscard checks that messages of one attempt that no server holds are removed from the queue of tasks.
func inventoryDiscard(t *testing.T, s suite.Stores) {
	ctx, due := t.Context(), s.Now().Add(suite.Long)
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/held", Body: []byte("of held")}))
	held := suite.Receive(t, s.Tasks, suite.Long)
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/now"}, host.Message{ID: "7/begin", Due: due}, host.Message{ID: "77/begin", Due: due, Body: []byte("of begin")}))
	suite.Must(t, s.Events.Send(ctx, host.Message{ID: "7/kill", Group: "7", Body: []byte("of kill")}))
	for range 2 {
		suite.Must(t, s.Inventory.Discard(ctx, 7))
		wantOf(t, s, 7, "held  of held", "kill 7 of kill")
		wantOf(t, s, 77, "begin  of begin")
	}
	suite.Must(t, s.Tasks.Extend(ctx, held, suite.Long))
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: "7/begin", Body: []byte("of begin")}))
	if d := suite.Receive(t, s.Tasks, suite.Long); d.ID != "7/begin" {
		t.Errorf("received %s, want the message that was sent after the removal", d.ID)
	}
	suite.Must(t, s.Tasks.Delete(ctx, held))
	suite.Must(t, s.Inventory.Discard(ctx, 70))
}

func inventorySilent(t *testing.T, s suite.Stores) {
	ctx, w := t.Context(), suite.Definition(t, s, 1, "demo")
	var list []host.Attempt
	for i := range 12 { // so that ids that count from 1 have one or two digits
		list = append(list, suite.Got(s.Attempts.Start(ctx, suite.AttemptOf(1, w, suite.Instant(int64(i)), "")))(t)...)
	}
	wantSilent(t, s)
	for range list {
		suite.Must(t, s.Events.Delete(ctx, suite.Receive(t, s.Events, suite.Long)))
	}
	wantSilent(t, s, list...)
	suite.Must(t, s.Tasks.Send(ctx, host.Message{ID: host.MessageID(list[1].ID, "1.1")}, host.Message{ID: host.MessageID(list[2].ID, "1.1"), Due: s.Now().Add(suite.Long)}))
	d := suite.Receive(t, s.Tasks, suite.Long)
	wantSilent(t, s, append([]host.Attempt{list[0]}, list[3:]...)...)
	suite.Must(t, s.Tasks.Delete(ctx, d))
	suite.Must(t, s.Events.Send(ctx, host.Message{ID: host.MessageID(list[0].ID, "go"), Group: strconv.FormatInt(list[0].ID, 10)})) // makes the deletion durable
	wantSilent(t, s, append([]host.Attempt{list[1]}, list[3:]...)...)
	if few := suite.Got(s.Inventory.Silent(ctx, list[4].ID, 3))(t); !slices.Equal(few, []int64{list[5].ID, list[6].ID, list[7].ID}) {
		t.Errorf("got attempts after %d: %v, want the next three", list[4].ID, few)
	}
}

func inventoryDeadlines(t *testing.T, s suite.Stores) {
	a := suite.Start(t, s)
	suite.Must(t, s.Events.Delete(t.Context(), suite.Receive(t, s.Events, suite.Long)))
	for _, name := range []string{host.SLAGuard, host.TimeoutMark + "1.1"} {
		if !host.IsDeadline(name) {
			t.Errorf("IsDeadline(%q) = false, want true", name)
		}
		suite.Must(t, s.Tasks.Send(t.Context(), host.Message{ID: host.MessageID(a.ID, name), Due: s.Now().Add(suite.Long)}))
	}
	wantSilent(t, s, a)
	suite.Must(t, s.Tasks.Send(t.Context(), host.Message{ID: host.MessageID(a.ID, "slots"), Due: s.Now().Add(suite.Long)}))
	wantSilent(t, s)
}

func inventoryIdle(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	first, second := waiting(t, s)
	wantSilent(t, s, first)
	suite.Must(t, s.Attempts.SetPaused(ctx, first.ID, true))
	wantSilent(t, s)
	suite.Must(t, s.Attempts.SetPaused(ctx, first.ID, false))
	wantSilent(t, s, first)
	suite.Must(t, s.Attempts.Finish(ctx, first.ID, host.End{At: suite.Instant(5), Archive: []byte("end")}))
	e, m := begin()
	suite.Must(t, s.Attempts.Begin(ctx, second.ID, e, m))
	wantSilent(t, s)
	suite.Must(t, s.Events.Delete(ctx, suite.Receive(t, s.Events, suite.Long)))
	wantSilent(t, s, second)
}
