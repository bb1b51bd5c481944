package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
)

// TestRedrive proves that dead letters come back unchanged when their turn comes, and that the others stay and remain
// visible.
func TestRedrive(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	for name, fifo := range map[string]bool{"events": true, "tasks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, dead := open(t, c, name, fifo), open(t, c, "dead", fifo)
			want := host.Message{ID: "1/a", Group: "1", Body: []byte{0, 1, 255}}
			if err := dead.Send(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			redrive := func(want int, turn func(int) bool) {
				t.Helper()
				if n, err := live.DeadLetters(dead.URL).Redrive(t.Context(), turn); err != nil || n != want {
					t.Fatalf("sent back %d messages, want %d: %v", n, want, err)
				}
			}
			var asked []int
			redrive(0, func(times int) bool { asked = append(asked, times); return false })
			redrive(1, func(times int) bool { asked = append(asked, times); return true })
			got, err := live.Receive(t.Context(), 1, time.Minute)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if diff := cmp.Diff(want, got[0].Message); diff != "" {
				t.Error(diff)
			}
			putAside(t, c, live.URL, dead.URL)
			redrive(1, func(times int) bool { asked = append(asked, times); return true })
			if diff := cmp.Diff([]int{0, 0, 1}, asked); diff != "" {
				t.Errorf("how often each had been sent back: %s", diff)
			}
		})
	}
}

// putAside moves a queue's only message to another queue, as SQS does with a failed message.
func putAside(t *testing.T, c aws.Config, from, to string) {
	t.Helper()
	client := awssqs.NewFromConfig(c)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: &from}); err != nil {
		t.Fatal(err)
	}
	in := &awssqs.SendMessageInput{QueueUrl: &to, MessageBody: aws.String("{}"), MessageAttributes: map[string]types.MessageAttributeValue{"id": text("1/a"), "redriven": text("1")}}
	if fifo := to[len(to)-5:] == ".fifo"; fifo {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String("1"), aws.String("again")
	}
	if _, err := client.SendMessage(ctx, in); err != nil {
		t.Fatal(err)
	}
}

func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

// TestLook proves that Look shows each dead letter once, with the reason why it was put aside, and leaves all of them,
// and that one of them can be sent back unchanged while the others stay.
func TestLook(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	for name, fifo := range map[string]bool{"events": true, "tasks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, dead := open(t, c, name, fifo), open(t, c, "dead", fifo)
			var sent []host.Message
			for i := range 23 {
				sent = append(sent, host.Message{ID: fmt.Sprintf("%d/a", i+1), Group: fmt.Sprint(i + 1), Body: []byte{0, byte(i)}})
			}
			if err := dead.Send(t.Context(), sent...); err != nil {
				t.Fatal(err)
			}
			letters := live.DeadLetters(dead.URL)
			look := func(most int) map[string]host.DeadLetter {
				t.Helper()
				seen := map[string]host.DeadLetter{}
				if err := letters.Look(t.Context(), func(l host.DeadLetter) bool {
					if old, twice := seen[l.Message.ID]; twice {
						t.Errorf("seen twice: %+v %+v", old, l)
					}
					seen[l.Message.ID] = l
					return len(seen) < most
				}); err != nil {
					t.Fatal(err)
				}
				return seen
			}
			if n := len(look(5)); n != 5 {
				t.Errorf("%d letters of the first five", n)
			}
			seen := look(100)
			for _, m := range sent {
				l := seen[m.ID]
				if diff := cmp.Diff(m, l.Message); diff != "" || l.Queue != name || l.ID == "" || l.Sent.IsZero() || l.Count < 1 || l.Broken != "" {
					t.Errorf("%+v: %s", l, diff)
				}
			}
			if err := letters.Return(t.Context(), seen["7/a"].ID); err != nil {
				t.Fatal(err)
			}
			got, err := live.Receive(t.Context(), 1, time.Minute)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if diff := cmp.Diff(sent[6], got[0].Message); diff != "" {
				t.Error(diff)
			}
			if err := letters.Return(t.Context(), seen["7/a"].ID); !errors.Is(err, host.ErrNotFound) {
				t.Errorf("sent back twice: %v", err)
			}
			depth, err := letters.Depth(t.Context())
			if want := (host.Depth{Queue: name, Leased: 1, Aside: 22, About: true}); err != nil || depth != want {
				t.Errorf("%+v, %v; want %+v", depth, err, want)
			}
		})
	}
}

// TestLookAtForeign proves that messages that zerodag did not send are also shown, with the reason why they cannot be
// read.
func TestLookAtForeign(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	live, dead := open(t, c, "tasks", false), open(t, c, "dead", false)
	if _, err := awssqs.NewFromConfig(c).SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &dead.URL, MessageBody: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := live.DeadLetters(dead.URL).Look(t.Context(), func(l host.DeadLetter) bool {
		seen++
		if l.Broken == "" || l.ID == "" || l.Size != len("hello") {
			t.Errorf("%+v", l)
		}
		return true
	}); err != nil || seen != 1 {
		t.Errorf("%d letters, %v", seen, err)
	}
}
