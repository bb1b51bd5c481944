package stack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/integration/localstack"
	"zerodag/integration/stack"
)

// TestNewerForm checks that a message from a later release is neither dropped nor harmful: it is redelivered until a
// program can read it.
func TestNewerForm(t *testing.T) {
	s := stack.Alone(t)
	ctx := t.Context()
	crashLeases.set(t, s)
	events, tasks, err := s.Queues(ctx, localstack.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Push(ctx, "newer", map[string]string{"main.dig": "+a:\n  echo>: hi\n"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Start(ctx, p.Workflows["main"], time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if end, err := s.Wait(ctx, a.ID); err != nil || !end.Success {
		t.Fatal(end, err)
	}
	began := time.Now()
	id := a.ID + "/later" + fmt.Sprint(time.Now().UnixNano())
	send(t, events, `{"v":99,"event":"go_on"}`, a.ID, map[string]string{"id": id, "group": a.ID})
	send(t, tasks, `{"v":99,"runs":[{"task":2,"d":1}]}`, "", map[string]string{"id": id})
	for _, q := range []*stack.Queue{events, tasks} {
		localstack.Cleanup(t, q.Purge)
	}
	for _, function := range []string{"executor", "agent"} {
		awaitRefusals(t, s, function, id, began)
	}
}

// send puts a message into a queue; group is "" unless the queue is FIFO.
func send(t *testing.T, q *stack.Queue, body, group string, attributes map[string]string) {
	t.Helper()
	in := &sqs.SendMessageInput{MessageBody: &body, MessageAttributes: map[string]sqstypes.MessageAttributeValue{}}
	for name, v := range attributes {
		in.MessageAttributes[name] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: &v}
	}
	if group != "" {
		in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(attributes["id"])
	}
	if err := q.Send(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// awaitRefusals waits until a function has released a message twice.
func awaitRefusals(t *testing.T, s *stack.Stack, function, id string, since time.Time) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		lines, err := s.Log(t.Context(), function, since)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, line := range lines {
			if strings.Contains(line, id) && strings.Contains(line, "form 99") {
				refused++
			}
		}
		if refused >= 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: a message of a later form was refused %d times within a minute, want 2: it was dropped", function, refused)
		}
	}
}
