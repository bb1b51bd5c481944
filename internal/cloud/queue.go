package cloud

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"zerodag/internal/host"
	"zerodag/internal/sqs"
)

// received is a queue as Lambda hands it over: Lambda deletes what is not reported as
// failed, so to delete is to say nothing.
type received struct {
	host.Queue
	done bool
}

func (r *received) Delete(context.Context, host.Delivery) error {
	r.done = true
	return nil
}

// Consume handles the messages of one call, in their order, and reports those that must
// come again. In a FIFO queue what is behind a failed message of its group comes again too.
func (e *Engine) Consume(ctx context.Context, q *sqs.Queue, lease time.Duration, call events.SQSEvent,
	handle func(ctx context.Context, q host.Queue, d host.Delivery)) events.SQSEventResponse {
	var answer events.SQSEventResponse
	failed := map[string]bool{}
	for _, m := range call.Records {
		group := m.Attributes["MessageGroupId"]
		if !(group != "" && failed[group]) && e.consume(ctx, q, lease, m, handle) {
			continue
		}
		failed[group] = true
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
	}
	return answer
}

func (e *Engine) consume(ctx context.Context, q *sqs.Queue, lease time.Duration, m events.SQSMessage, handle func(context.Context, host.Queue, host.Delivery)) bool {
	attributes := map[string]string{}
	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			attributes[name] = *a.StringValue
		}
	}
	count, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		count = 1
	}
	d, err := q.Adopt(sqs.Record{ID: m.MessageId, Receipt: m.ReceiptHandle, Body: m.Body, Attributes: attributes, Count: count}, lease)
	if err != nil {
		e.Logger.Error("message cannot be read: it comes again, then goes to the dead letters", "message", m.MessageId, "error", err)
		return false
	}
	r := &received{Queue: q}
	handle(ctx, r, d)
	return r.done
}
