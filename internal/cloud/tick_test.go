package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// bucket creates an empty bucket.
func bucket(t *testing.T, c aws.Config) string {
	t.Helper()
	client, name := awss3.NewFromConfig(c, func(o *awss3.Options) { o.UsePathStyle = true }), localstack.Name()
	if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: &name})
		return err
	})
	return name
}

// queue creates a queue as infra does and returns its URL.
func queue(t *testing.T, c aws.Config, fifo bool) string {
	t.Helper()
	client := awssqs.NewFromConfig(c)
	in := &awssqs.CreateQueueInput{QueueName: aws.String(localstack.Name())}
	if fifo {
		in.QueueName = aws.String(*in.QueueName + ".fifo")
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	out, err := client.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
		return err
	})
	return *out.QueueUrl
}

// waiting counts a queue's delayed messages.
func waiting(t *testing.T, c aws.Config, url string) int {
	t.Helper()
	out, err := awssqs.NewFromConfig(c).GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessagesDelayed}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTickMany proves that schedules that are due in the same second are sent to the queue only once, in messages of
// 25, however often a tick runs.
func TestTickMany(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	const many = 200
	config := env.Config{Stage: "test", Table: localstack.Name(), Events: queue(t, c, true), Tasks: queue(t, c, false), DeadEvents: queue(t, c, true), DeadTasks: queue(t, c, false)}
	e, err := wire(config, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Logger = slog.New(slog.DiscardHandler)
	if err := e.DB.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, e.DB.DeleteTable)
	// Both ticks are in the same round, whatever the time of day, because a new round also searches for overdue work.
	now := time.Now()
	if next := now.Add(5 * time.Second).Truncate(time.Minute); next.After(now) {
		now = next
	}
	e.Ticker.Now = func() time.Time { return now }
	due := now.Add(50 * time.Second).Truncate(time.Second)
	const each = 50
	for i := 0; i < many; i += each {
		p := host.Push{Project: fmt.Sprint("p", i), Revision: host.Revision{Name: "r", CreatedAt: time.Now(), Archive: "a"}, Schedules: map[string]host.NextTimes{}}
		for j := range min(each, many-i) {
			name := fmt.Sprint("w", j)
			p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))})
			p.Schedules[name] = func(*host.Schedule, bool) host.Times { return host.Times{Run: due, Session: due} }
		}
		if _, err := e.DB.Push(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := e.Ticker.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if got, want := waiting(t, c, config.Tasks), (many+24)/25; got != want {
		t.Errorf("%d messages wait, want %d", got, want)
	}
}
