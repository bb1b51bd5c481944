package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Queue is a queue of the stack with its dead-letter queue.
type Queue struct {
	Name, URL, Dead string
	client          *sqs.Client
}

// Queues returns the queues of events and of tasks.
func (s *Stack) Queues(ctx context.Context, c aws.Config) (events, tasks *Queue, err error) {
	config, err := s.Config(ctx)
	if err != nil {
		return nil, nil, err
	}
	client := sqs.NewFromConfig(c)
	if events, err = open(ctx, client, "events", config.Events); err != nil {
		return nil, nil, err
	}
	tasks, err = open(ctx, client, "tasks", config.Tasks)
	return events, tasks, err
}

func open(ctx context.Context, client *sqs.Client, name, url string) (*Queue, error) {
	q := &Queue{Name: name, URL: url, client: client}
	a, err := q.attributes(ctx, url, types.QueueAttributeNameRedrivePolicy)
	if err != nil {
		return nil, err
	}
	var policy struct{ DeadLetterTargetArn string }
	if err := json.Unmarshal([]byte(a[string(types.QueueAttributeNameRedrivePolicy)]), &policy); err != nil {
		return nil, fmt.Errorf("read redrive policy of %s: %w", name, err)
	}
	dead := policy.DeadLetterTargetArn[strings.LastIndexByte(policy.DeadLetterTargetArn, ':')+1:]
	out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &dead})
	if err != nil {
		return nil, fmt.Errorf("find dead letters of %s: %w", name, err)
	}
	q.Dead = *out.QueueUrl
	return q, nil
}

func (q *Queue) attributes(ctx context.Context, url string, names ...types.QueueAttributeName) (map[string]string, error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return nil, fmt.Errorf("inspect queue %s: %w", q.Name, err)
	}
	return out.Attributes, nil
}

// depth counts the messages of a queue, visible and in flight. Delayed messages are for schedules that fire soon or for
// attempts that have ended meanwhile.
func (q *Queue) depth(ctx context.Context, url string) (int, error) {
	names := []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible}
	a, err := q.attributes(ctx, url, names...)
	sum := 0
	for _, name := range names {
		n, _ := strconv.Atoi(a[string(name)]) // SQS returns numbers
		sum += n
	}
	return sum, err
}

// Depth counts the messages in the queue.
func (q *Queue) Depth(ctx context.Context) (int, error) { return q.depth(ctx, q.URL) }

// DeadLetters counts the messages that could not be handled.
func (q *Queue) DeadLetters(ctx context.Context) (int, error) { return q.depth(ctx, q.Dead) }

// Visibility sets how long a received message stays invisible, in seconds, and returns the previous value.
func (q *Queue) Visibility(ctx context.Context, seconds int) (before int, err error) {
	name := types.QueueAttributeNameVisibilityTimeout
	a, err := q.attributes(ctx, q.URL, name)
	if err != nil {
		return 0, err
	}
	if before, err = strconv.Atoi(a[string(name)]); err != nil {
		return 0, err
	}
	_, err = q.client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &q.URL, Attributes: map[string]string{string(name): strconv.Itoa(seconds)}})
	return before, err
}

// Send puts a message into the queue unchanged.
func (q *Queue) Send(ctx context.Context, in *sqs.SendMessageInput) error {
	in.QueueUrl = &q.URL
	_, err := q.client.SendMessage(ctx, in)
	return err
}

// Purge removes all messages from the queue.
func (q *Queue) Purge(ctx context.Context) error {
	_, err := q.client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &q.URL})
	return err
}
