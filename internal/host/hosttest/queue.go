package hosttest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
)

// queueSuite checks both queues of a deployment.
func queueSuite(t *testing.T, h Harness) {
	cases{
		"a message is sent, received, deleted": queueOnce,
		"an id that is there is not sent":      queueSameID,
		"a message waits until it is due":      queueDue,
		"a group keeps its order":              queueGroup,
		"a lease ends":                         queueLeaseEnds,
		"a lease is extended":                  queueExtend,
		"a message is given back":              queueRelease,
		"a receiver waits":                     queueWait,
		"a receiver leaves":                    queueLeave,
		"queues are apart":                     queueApart,
		"large bodies":                         queueLarge,
		"nobody holds what another holds":      queueRace,
	}.run(t, h)
}

// long is a lease that does not end within a case.
const long = time.Hour

func text(list []host.Delivery) string {
	var ids []string
	for _, d := range list {
		ids = append(ids, fmt.Sprintf("%s %s %d", d.ID, d.Body, d.Count))
	}
	return strings.Join(ids, ", ")
}

func message(id, group string) host.Message {
	return host.Message{ID: id, Group: group, Body: []byte("body of " + id)}
}

// receive takes one message, which must be there.
func receive(t *testing.T, q host.Queue, lease time.Duration) host.Delivery {
	t.Helper()
	return got(q.Receive(t.Context(), 1, lease))(t)[0]
}

// nothing checks that no message is visible. A message marks the end of what there is.
func nothing(t *testing.T, q host.Queue) {
	t.Helper()
	end := "the end " + rand.Text() // an ID is used once
	must(t, q.Send(t.Context(), message(end, "")))
	for _, d := range got(q.Receive(t.Context(), 10, long))(t) {
		if d.ID != end {
			t.Errorf("received %s, which nobody should see", d.ID)
		}
		must(t, q.Delete(t.Context(), d))
	}
}

func queueOnce(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	must(t, q.Send(ctx, message("a", ""), message("b", ""), message("c", "")))
	list := got(q.Receive(ctx, 2, long))(t)
	list = append(list, got(q.Receive(ctx, 2, long))(t)...)
	slices.SortFunc(list, func(a, b host.Delivery) int { return strings.Compare(a.ID, b.ID) })
	if got := text(list); got != "a body of a 1, b body of b 1, c body of c 1" {
		t.Errorf("received %s", got)
	}
	for _, d := range list {
		must(t, q.Delete(ctx, d))
		wantError(t, "delete again", q.Delete(ctx, d), nil)
		wantError(t, "extend after the delete", q.Extend(ctx, d, long), host.ErrLeaseLost)
	}
	nothing(t, q)
}

func queueSameID(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Events
	must(t, q.Send(ctx, message("a", "g")))
	must(t, q.Send(ctx, host.Message{ID: "a", Group: "g", Body: []byte("other")}))
	d := receive(t, q, long)
	must(t, q.Send(ctx, host.Message{ID: "a", Group: "g", Body: []byte("while it is leased")}))
	if got := text([]host.Delivery{d}); got != "a body of a 1" {
		t.Errorf("received %s, want what was sent first", got)
	}
	must(t, q.Delete(ctx, d))
	nothing(t, q)
}

func queueDue(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	begin, step := s.Now(), max(s.Grain, 100*time.Millisecond)
	for _, m := range []struct {
		id    string
		after time.Duration
	}{{"late", 4 * step}, {"soon", step}, {"past", -time.Hour}} {
		must(t, q.Send(ctx, host.Message{ID: m.id, Due: begin.Add(m.after)}))
	}
	for _, want := range []struct {
		id    string
		after time.Duration
	}{{"past", 0}, {"soon", step}, {"late", 4 * step}} {
		d := receive(t, q, long)
		if took := s.Now().Sub(begin); d.ID != want.id || took < want.after-time.Millisecond {
			t.Errorf("received %s after %v, want %s after %v", d.ID, took, want.id, want.after)
		}
	}
}

func queueGroup(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Events
	must(t, q.Send(ctx, message("a1", "a"), message("a2", "a"), message("b1", "b"), message("a3", "a")))
	first := got(q.Receive(ctx, 10, long))(t)
	for len(first) < 2 {
		first = append(first, got(q.Receive(ctx, 10, long))(t)...)
	}
	slices.SortFunc(first, func(a, b host.Delivery) int { return strings.Compare(a.ID, b.ID) })
	if got := text(first); got != "a1 body of a1 1, b1 body of b1 1" {
		t.Fatalf("received %s, want the first one of each group", got)
	}
	nothing(t, q)
	must(t, q.Delete(ctx, first[0]))
	d := receive(t, q, long)
	must(t, q.Release(ctx, d, 0))
	again := receive(t, q, long)
	if d.ID != "a2" || again.ID != "a2" || again.Count != 2 {
		t.Errorf("received %s and, once it was given back, %s %d; want a2 twice", d.ID, again.ID, again.Count)
	}
	must(t, q.Delete(ctx, again))
	if d := receive(t, q, long); d.ID != "a3" {
		t.Errorf("received %s, want a3", d.ID)
	}
}

func queueLeaseEnds(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Events
	must(t, q.Send(ctx, message("a", "g"), message("b", "g")))
	first := receive(t, q, 100*time.Millisecond)
	second := receive(t, q, long) // waits for the end of the lease
	if got := text([]host.Delivery{first, second}); got != "a body of a 1, a body of a 2" {
		t.Fatalf("received %s, want a twice", got)
	}
	wantError(t, "extend a lost lease", q.Extend(ctx, first, long), host.ErrLeaseLost)
	wantError(t, "delete under a lost lease", q.Delete(ctx, first), nil)
	wantError(t, "give back under a lost lease", q.Release(ctx, first, 0), nil)
	wantError(t, "extend", q.Extend(ctx, second, long), nil)
	must(t, q.Delete(ctx, second))
	if d := receive(t, q, long); d.ID != "b" {
		t.Errorf("received %s, want b", d.ID)
	}
}

func queueExtend(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	must(t, q.Send(ctx, message("a", "")))
	begin := s.Now()
	d := receive(t, q, 200*time.Millisecond)
	must(t, q.Extend(ctx, d, 600*time.Millisecond))
	again := receive(t, q, long)
	if took := s.Now().Sub(begin); took < 600*time.Millisecond {
		t.Errorf("a lease of 600 ms ended after %v", took)
	}
	must(t, q.Extend(ctx, again, time.Millisecond))
	if third := receive(t, q, long); third.Count != 3 {
		t.Errorf("received %d times after the lease was cut short, want 3", third.Count)
	}
}

func queueRelease(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	must(t, q.Send(ctx, message("a", "")))
	begin := s.Now()
	d := receive(t, q, long)
	must(t, q.Release(ctx, d, 150*time.Millisecond))
	wantError(t, "extend what was given back", q.Extend(ctx, d, long), host.ErrLeaseLost)
	again := receive(t, q, long)
	if took := s.Now().Sub(begin); took < 149*time.Millisecond || again.Count != 2 {
		t.Errorf("came back after %v, %d times received; want 150 ms and 2", took, again.Count)
	}
}

func queueWait(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	const n = 20
	arrived := make(chan string, n)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range n / 4 {
				list, err := q.Receive(ctx, 1, long)
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
		must(t, q.Send(ctx, message(id, "")))
		want = append(want, id)
		if i%2 == 0 {
			have = append(have, <-arrived) // at once, and not when something else happens
		}
	}
	all.Wait()
	close(arrived)
	for id := range arrived {
		have = append(have, id)
	}
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("received by those who waited (-want +got):\n%s", diff)
	}
}

func queueLeave(t *testing.T, s Stores) {
	q := s.Tasks
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if list, err := q.Receive(ctx, 1, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Receive of an empty queue = %v, %v", list, err)
	}
	must(t, q.Send(t.Context(), message("a", "")))
	if d := receive(t, q, long); d.ID != "a" {
		t.Errorf("received %s after another receiver had left", d.ID)
	}
}

func queueApart(t *testing.T, s Stores) {
	must(t, s.Tasks.Send(t.Context(), message("a", "")))
	nothing(t, s.Events)
	if d := receive(t, s.Tasks, long); d.ID != "a" {
		t.Errorf("received %s", d.ID)
	}
}

func queueLarge(t *testing.T, s Stores) {
	ctx, q := t.Context(), s.Tasks
	body := strings.Repeat("x", 200_000)
	must(t, q.Send(ctx, host.Message{ID: "a", Body: []byte(body)}))
	d := receive(t, q, long)
	must(t, q.Release(ctx, d, 0))
	if again := receive(t, q, long); string(d.Body) != body || string(again.Body) != body {
		t.Errorf("a body of %d bytes came back with %d and %d", len(body), len(d.Body), len(again.Body))
	}
}
