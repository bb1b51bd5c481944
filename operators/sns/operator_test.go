package sns_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	"zerodag/operators/operatortest"
	ours "zerodag/operators/sns"
)

// bed is a LocalStack topic with a queue that subscribes to it.
type bed struct {
	topic, queue string
	sqs          *sqs.Client
}

func setup(t *testing.T, suffix string) bed {
	t.Helper()
	c := localstack.Config(t)
	topics, queues := sns.NewFromConfig(c), sqs.NewFromConfig(c)
	name := localstack.Name() + suffix
	var topicIs, queueIs map[string]string
	if suffix != "" {
		topicIs, queueIs = map[string]string{"FifoTopic": "true"}, map[string]string{"FifoQueue": "true"}
	}
	topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name, Attributes: topicIs})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: queueIs})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		if _, err := topics.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: topic.TopicArn}); err != nil {
			return err
		}
		_, err := queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: queue.QueueUrl})
		return err
	})
	arn := strings.Replace(*topic.TopicArn, ":sns:", ":sqs:", 1) // both have the same name
	if _, err := topics.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: new("sqs"), Endpoint: &arn}); err != nil {
		t.Fatal(err)
	}
	return bed{*topic.TopicArn, *queue.QueueUrl, queues}
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("sns")) }

func (b bed) publish(t *testing.T, params string) {
	t.Helper()
	w := operatortest.New(t, strings.ReplaceAll(params, "TOPIC", b.topic))
	grant(t, w)
	if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
		t.Fatalf("%s: %s", params, diff)
	}
}

// envelope is a message as a queue receives it.
type envelope struct {
	Message, Subject  string
	MessageAttributes map[string]struct{ Type, Value string }
}

// heard receives messages until no more arrive.
func (b bed) heard(t *testing.T) []envelope {
	t.Helper()
	var list []envelope
	for {
		out, err := b.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &b.queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 2,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return list
		}
		for _, m := range out.Messages {
			var e envelope
			if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
			if _, err := b.sqs.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &b.queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestExercise(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good:     strings.ReplaceAll(`{"_command": "TOPIC", "message": "m", "subject": "s", "attributes": {"a": "b"}}`, "TOPIC", b.topic),
		Wrong: []string{
			`{}`, `{"_command": "name", "message": "m"}`, `{"_command": "arn:aws:sns:us-east-1:0:t"}`,
			`{"_command": "arn:aws:sns:us-east-1:0:t", "message": ""}`, `{"_command": "arn:aws:sns:us-east-1:0:t", "message": "m", "attributes": 1}`,
			`{"_command": "arn:aws:sns:us-east-1:0:t", "message": "m", "attributes": {"a": ""}}`,
			`{"_command": "arn:aws:sns:us-east-1:0:t", "message": "m", "group_id": "g"}`,
		},
		Prepare: grant,
	})
}

func TestPublish(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	b.publish(t, `{"_command": "TOPIC", "message": "hello", "subject": "greeting", "attributes": {"n": 7, "list": [1], "text": "x"}}`)
	want := []envelope{{Message: "hello", Subject: "greeting", MessageAttributes: map[string]struct{ Type, Value string }{
		"n": {"Number", "7"}, "list": {"String", "[1]"}, "text": {"String", "x"}}}}
	if diff := cmp.Diff(want, b.heard(t)); diff != "" {
		t.Error(diff)
	}
	b.publish(t, `{"_command": "TOPIC", "message": {"b": 1, "a": [true]}}`)
	if got := b.heard(t); len(got) != 1 || got[0].Message != `{"b":1,"a":[true]}` {
		t.Errorf("a mapping arrived as %+v", got)
	}
}

// TestOnceInOrder checks that a run that is delivered twice publishes once to a FIFO topic.
func TestOnceInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, ".fifo")
	for range 2 {
		b.publish(t, `{"_command": "TOPIC", "message": "once"}`)
	}
	if got := b.heard(t); len(got) != 1 {
		t.Errorf("a message that was published twice arrived %d times, want once", len(got))
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	const topic = "arn:aws:sns:us-east-1:000000000000:nobody-made-this"
	w := operatortest.New(t, `{"_command": "`+topic+`", "message": "m"}`)
	grant(t, w)
	want := operatortest.Ended{Error: "sns>: can't publish to " + topic + ": it does not exist: check its name, the account and the region"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
		t.Error(diff)
	}
}
