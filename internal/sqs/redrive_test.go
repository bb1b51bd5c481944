package sqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
)

// TestRedrive proves that dead letters come back as they were, each when it is its turn,
// and that those whose turn it is not stay and can be seen.
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

// putAside moves the one message of a queue to another, as SQS does with one that failed.
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
