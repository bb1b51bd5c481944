package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// Queue checks both queues of a deployment.
func Queue(t *testing.T, h suite.Harness) {
	suite.Cases{
		"send, receive, delete":           queueOnce,
		"existing ids are not sent again": queueSameID,
		"delayed messages":                queueDue,
		"groups keep their order":         queueGroup,
		"lease ends":                      queueLeaseEnds,
		"extend":                          queueExtend,
		"release":                         queueRelease,
		"receivers wait":                  queueWait,
		"receive with a deadline":         queueLeave,
		"queues are separate":             queueApart,
		"large bodies":                    queueLarge,
		"concurrent receivers":            queueRace,
	}.Run(t, h)
}

func text(list []host.Delivery) string {
	var ids []string
	for _, d := range list {
		ids = append(ids, fmt.Sprintf("%s %s %d", d.ID, d.Body, d.Count))
	}
	return strings.Join(ids, ", ")
}

func queueOnce(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	suite.Must(t, q.Send(ctx, suite.Message("a", ""), suite.Message("b", ""), suite.Message("c", "")))
	list := suite.Got(q.Receive(ctx, 2, suite.Long))(t)
	list = append(list, suite.Got(q.Receive(ctx, 2, suite.Long))(t)...)
	slices.SortFunc(list, func(a, b host.Delivery) int { return strings.Compare(a.ID, b.ID) })
	if got := text(list); got != "a body of a 1, b body of b 1, c body of c 1" {
		t.Errorf("received %s", got)
	}
	for _, d := range list {
		suite.Must(t, q.Delete(ctx, d))
		suite.WantError(t, "delete again", q.Delete(ctx, d), nil)
		suite.WantError(t, "extend after the delete", q.Extend(ctx, d, suite.Long), host.ErrLeaseLost)
	}
	suite.Nothing(t, q)
}

func queueSameID(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Events
	suite.Must(t, q.Send(ctx, suite.Message("a", "g")))
	suite.Must(t, q.Send(ctx, host.Message{ID: "a", Group: "g", Body: []byte("other")}))
	d := suite.Receive(t, q, suite.Long)
	suite.Must(t, q.Send(ctx, host.Message{ID: "a", Group: "g", Body: []byte("while it is leased")}))
	if got := text([]host.Delivery{d}); got != "a body of a 1" {
		t.Errorf("received %s, want the message that was sent first", got)
	}
	suite.Must(t, q.Delete(ctx, d))
	suite.Nothing(t, q)
}

func queueDue(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	begin, step := s.Now(), max(s.Grain, 100*time.Millisecond)
	after := map[string]time.Duration{"late": 4 * step, "soon": step, "past": -time.Hour}
	for id, due := range after {
		suite.Must(t, q.Send(ctx, host.Message{ID: id, Due: begin.Add(due)}))
	}
	prompt := s.Now().Sub(begin) < step // otherwise several messages are due at once, in any order
	for _, next := range []string{"past", "soon", "late"} {
		d := suite.Receive(t, q, suite.Long)
		due, expected := after[d.ID]
		if prompt && d.ID != next {
			t.Errorf("received %s, want %s first", d.ID, next)
		}
		if took := s.Now().Sub(begin); !expected || took < due-time.Millisecond {
			t.Errorf("received %s after %v, want each message once and this one after %v", d.ID, took, due)
		}
		delete(after, d.ID)
	}
}

func queueGroup(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Events
	suite.Must(t, q.Send(ctx, suite.Message("a1", "a"), suite.Message("a2", "a"), suite.Message("b1", "b"), suite.Message("a3", "a")))
	first := suite.Got(q.Receive(ctx, 10, suite.Long))(t)
	for len(first) < 2 {
		first = append(first, suite.Got(q.Receive(ctx, 10, suite.Long))(t)...)
	}
	slices.SortFunc(first, func(a, b host.Delivery) int { return strings.Compare(a.ID, b.ID) })
	if got := text(first); got != "a1 body of a1 1, b1 body of b1 1" {
		t.Fatalf("received %s, want the first message of each group", got)
	}
	suite.Nothing(t, q)
	suite.Must(t, q.Delete(ctx, first[0]))
	d := suite.Receive(t, q, suite.Long)
	suite.Must(t, q.Release(ctx, d, 0))
	again := suite.Receive(t, q, suite.Long)
	if d.ID != "a2" || again.ID != "a2" || again.Count != 2 {
		t.Errorf("received %s and, after its release, %s with count %d; want a2 twice", d.ID, again.ID, again.Count)
	}
	suite.Must(t, q.Delete(ctx, again))
	if d := suite.Receive(t, q, suite.Long); d.ID != "a3" {
		t.Errorf("received %s, want a3", d.ID)
	}
}

func queueLeaseEnds(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Events
	suite.Must(t, q.Send(ctx, suite.Message("a", "g"), suite.Message("b", "g")))
	first := suite.Receive(t, q, 100*time.Millisecond)
	second := suite.Receive(t, q, suite.Long) // waits until the lease ends
	if got := text([]host.Delivery{first, second}); got != "a body of a 1, a body of a 2" {
		t.Fatalf("received %s, want a twice", got)
	}
	suite.WantError(t, "extend a lost lease", q.Extend(ctx, first, suite.Long), host.ErrLeaseLost)
	suite.WantError(t, "delete under a lost lease", q.Delete(ctx, first), nil)
	suite.WantError(t, "release under a lost lease", q.Release(ctx, first, 0), nil)
	suite.WantError(t, "extend", q.Extend(ctx, second, suite.Long), nil)
	suite.Must(t, q.Delete(ctx, second))
	if d := suite.Receive(t, q, suite.Long); d.ID != "b" {
		t.Errorf("received %s, want b", d.ID)
	}
}

func queueExtend(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	suite.Must(t, q.Send(ctx, suite.Message("a", "")))
	begin := s.Now()
	d := suite.Receive(t, q, 200*time.Millisecond)
	suite.Must(t, q.Extend(ctx, d, 600*time.Millisecond))
	again := suite.Receive(t, q, suite.Long)
	if took := s.Now().Sub(begin); took < 600*time.Millisecond {
		t.Errorf("a lease of 600 ms ended after %v", took)
	}
	suite.Must(t, q.Extend(ctx, again, time.Millisecond))
	if third := suite.Receive(t, q, suite.Long); third.Count != 3 {
		t.Errorf("got count %d after the lease was shortened, want 3", third.Count)
	}
}

func queueRelease(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	suite.Must(t, q.Send(ctx, suite.Message("a", "")))
	begin := s.Now()
	d := suite.Receive(t, q, suite.Long)
	suite.Must(t, q.Release(ctx, d, 150*time.Millisecond))
	suite.WantError(t, "extend a released message", q.Extend(ctx, d, suite.Long), host.ErrLeaseLost)
	again := suite.Receive(t, q, suite.Long)
	if took := s.Now().Sub(begin); took < 149*time.Millisecond || again.Count != 2 {
		t.Errorf("received again after %v with count %d, want 150 ms and 2", took, again.Count)
	}
}

func queueWait(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	const n = 20
	arrived := make(chan string, n)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range n / 4 {
				list, err := q.Receive(ctx, 1, suite.Long)
				if err != nil {
					t.Error(err)
					return
				}
				arrived <- list[0].ID
			}
		})
	}
	var want, have []string
	for i := range n {
		id := fmt.Sprintf("%02d", i)
		suite.Must(t, q.Send(ctx, suite.Message(id, "")))
		want = append(want, id)
		if i%2 == 0 {
			have = append(have, <-arrived) // at once, without waiting for another event
		}
	}
	all.Wait()
	close(arrived)
	for id := range arrived {
		have = append(have, id)
	}
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("received messages (-want +got):\n%s", diff)
	}
}

func queueLeave(t *testing.T, s suite.Stores) {
	q := s.Tasks
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if list, err := q.Receive(ctx, 1, suite.Long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Receive of an empty queue = %v, %v", list, err)
	}
	suite.Must(t, q.Send(t.Context(), suite.Message("a", "")))
	if d := suite.Receive(t, q, suite.Long); d.ID != "a" {
		t.Errorf("received %s after another receiver had given up, want a", d.ID)
	}
}

func queueApart(t *testing.T, s suite.Stores) {
	suite.Must(t, s.Tasks.Send(t.Context(), suite.Message("a", "")))
	suite.Nothing(t, s.Events)
	if d := suite.Receive(t, s.Tasks, suite.Long); d.ID != "a" {
		t.Errorf("received %s", d.ID)
	}
}

func queueLarge(t *testing.T, s suite.Stores) {
	ctx, q := t.Context(), s.Tasks
	body := strings.Repeat("x", 200_000)
	suite.Must(t, q.Send(ctx, host.Message{ID: "a", Body: []byte(body)}))
	d := suite.Receive(t, q, suite.Long)
	suite.Must(t, q.Release(ctx, d, 0))
	if again := suite.Receive(t, q, suite.Long); string(d.Body) != body || string(again.Body) != body {
		t.Errorf("sent a body of %d bytes, received %d and %d bytes", len(body), len(d.Body), len(again.Body))
	}
}
