package sqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/sqs"
)

var _ host.Queue = (*sqs.Queue)(nil)

// open creates a queue with the same settings as infra.
func open(t testing.TB, c aws.Config, name string, fifo bool) *sqs.Queue {
	t.Helper()
	client := awssqs.NewFromConfig(c)
	in := &awssqs.CreateQueueInput{QueueName: aws.String(localstack.Name())}
	if fifo {
		in.QueueName = aws.String(*in.QueueName + ".fifo")
		in.Attributes = map[string]string{"FifoQueue": "true", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
	}
	out, err := client.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
		return err
	})
	return sqs.New(c, sqs.Options{Name: name, URL: *out.QueueUrl, FIFO: fifo})
}

// TestContract runs the queue suite. SQS keeps time in seconds, and LocalStack only approximately.
func TestContract(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("SQS keeps messages and nothing else; a process has nothing to lose", "Queue"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		run(t, suite.Stores{Events: open(t, c, "events", true), Tasks: open(t, c, "tasks", false), Now: time.Now, Grain: time.Second})
	}})
}
