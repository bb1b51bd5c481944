package sqs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/sqs"
)

// later records postponed messages.
type later struct{ put []string }

func (l *later) Later(_ context.Context, queue string, messages ...host.Message) error {
	for _, m := range messages {
		l.put = append(l.put, queue+" "+m.ID)
	}
	return nil
}

// TestRequests proves that messages are sent in batches of ten messages or 256 KB.
func TestRequests(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	counter := localstack.Count(&c)
	q := open(t, c, "tasks", false)
	for _, x := range []struct{ messages, bytes, calls int }{{1, 10, 1}, {10, 10, 1}, {25, 10, 3}, {10, 100 << 10, 5}} {
		counter.Take()
		var list []host.Message
		for i := range x.messages {
			list = append(list, host.Message{ID: fmt.Sprint(i), Group: "7", Body: []byte(strings.Repeat("x", x.bytes))})
		}
		if err := q.Send(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
		if got, want := counter.Take(), fmt.Sprint("SendMessageBatch ", x.calls); got != want {
			t.Errorf("%d messages of %d bytes: %s, want %s", x.messages, x.bytes, got, want)
		}
	}
	if err := q.Send(t.Context(), host.Message{ID: "large", Body: make([]byte, 1<<20)}); err == nil {
		t.Error("a message of more than a megabyte was sent")
	}
}

// TestCarried proves that a message arrives as it was sent, with its share and its due time, because a receiver that
// forwards it or gets it twice needs both.
func TestCarried(t *testing.T) {
	t.Parallel()
	tasks := open(t, localstack.Config(t), "tasks", false)
	want := host.Message{ID: "1/3.1", Share: "7", Body: []byte(`{"v":1}`), Due: time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)}
	if err := tasks.Send(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	list, err := tasks.Receive(t.Context(), 1, time.Minute)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if diff := cmp.Diff(want, list[0].Message); diff != "" {
		t.Error(diff)
	}
}

// TestLater proves that messages that SQS cannot delay are postponed, or refused if there is no store for them.
func TestLater(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	events, tasks, l := open(t, c, "events", true), open(t, c, "tasks", false), &later{}
	soon, late := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	for q, m := range map[*sqs.Queue]host.Message{events: {ID: "e", Group: "1", Due: soon}, tasks: {ID: "t", Due: late}} {
		if err := q.Send(t.Context(), m); err == nil {
			t.Errorf("%s took a message due at %v", q.Name, m.Due)
		}
		q.Options.Later = l
		if err := q.Send(t.Context(), m, host.Message{ID: "now", Group: "2", Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if list, err := q.Receive(t.Context(), 10, time.Minute); err != nil || len(list) != 1 || list[0].ID != "now" {
			t.Errorf("%s: received %v, %v", q.Name, list, err)
		}
	}
	if err := tasks.Send(t.Context(), host.Message{ID: "x", Due: soon}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"events e": true, "tasks t": true}, map[string]bool{l.put[0]: true, l.put[1]: true}); diff != "" || len(l.put) != 2 {
		t.Errorf("put off (-want +got):\n%s", diff)
	}
}
