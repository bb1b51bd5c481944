package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators/operatortest"
	ours "zerodag/operators/sqs"
)

// bed is a LocalStack queue.
type bed struct {
	name, url string
	client    *sqs.Client
}

func setup(t *testing.T, suffix string) bed {
	t.Helper()
	b := bed{name: localstack.Name() + suffix, client: sqs.NewFromConfig(localstack.Config(t))}
	in := &sqs.CreateQueueInput{QueueName: &b.name}
	if suffix != "" {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	out, err := b.client.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	b.url = *out.QueueUrl
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := b.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &b.url})
		return err
	})
	return b
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("sqs")) }

func (b bed) send(t *testing.T, params string) {
	t.Helper()
	w := operatortest.New(t, strings.NewReplacer("NAME", b.name, "URL", b.url).Replace(params))
	grant(t, w)
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
		t.Fatalf("%s: %s", params, diff)
	}
}

// received returns the bodies in the queue, each with its attributes, in order.
func (b bed) received(t *testing.T) []string {
	t.Helper()
	var list []string
	for empty := 0; empty < 2; { // one response without messages does not mean that the queue is empty
		out, err := b.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &b.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2,
			MessageAttributeNames: []string{"All"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			empty++
		}
		for _, m := range out.Messages {
			text := *m.Body
			for _, name := range slices.Sorted(maps.Keys(m.MessageAttributes)) {
				text += fmt.Sprintf(" %s=%s:%s", name, *m.MessageAttributes[name].DataType, *m.MessageAttributes[name].StringValue)
			}
			list = append(list, text)
			if _, err := b.client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle}); err != nil && !errors.As(err, new(*types.ReceiptHandleIsInvalid)) { // an emulator may lose the handle: the message stays hidden for longer than this takes
				t.Fatal(err)
			}
		}
	}
	return list
}

func TestExercise(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good:     `{"_command": "` + b.name + `", "message": "m", "delay": "1s", "attributes": {"a": "b"}, "region": "us-east-1"}`,
		Wrong: []string{
			`{}`, `{"_command": "q"}`, `{"_command": "q", "message": "m", "messages": ["m"]}`, `{"_command": "q", "message": ""}`,
			`{"_command": "q", "message": "m", "delay": "16m"}`, `{"_command": "q.fifo", "message": "m", "delay": "1m"}`,
			`{"_command": "q", "message": "m", "group_id": "g"}`, `{"_command": "q", "messages": "m"}`,
		},
		Prepare: grant,
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.send(t, `{"_command": "NAME", "message": {"b": 1, "a": [true]}, "attributes": {"n": 7, "text": "x"}}`)
	b.send(t, `{"_command": "URL", "message": "by its address"}`)
	got := b.received(t)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"by its address", `{"b":1,"a":[true]} n=Number:7 text=String:x`}, got); diff != "" {
		t.Error(diff)
	}
}

// TestMany checks that all messages arrive if they need several calls, because of their number or their size.
func TestMany(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("%02d", i))
	}
	large := strings.Repeat("x", 200_000)
	for i := range 6 {
		want = append(want, fmt.Sprint("large ", i, large))
	}
	list := make([]param.Value, len(want))
	for i, text := range want {
		list[i] = text
	}
	b.send(t, `{"_command": "NAME", "messages": `+param.Text(list)+`}`)
	got := b.received(t)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d messages arrived, want %d", len(got), len(want))
	}
}

// TestOnceInOrder checks that a run that is delivered twice sends once to a FIFO queue, in the order of the list.
func TestOnceInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, ".fifo")
	for range 2 {
		b.send(t, `{"_command": "NAME", "messages": ["c", "a", "b"]}`)
	}
	if diff := cmp.Diff([]string{"c", "a", "b"}, b.received(t)); diff != "" {
		t.Error(diff)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	w := operatortest.New(t, `{"_command": "nobody-made-this", "message": "m"}`)
	grant(t, w)
	want := operatortest.Ended{Error: "sqs>: can't send to nobody-made-this: it does not exist: check its name, the account and the region"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
		t.Error(diff)
	}
}
