package sqs

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/internal/border"
)

// attrRedriven counts how many times a message has come back from the dead letters.
const attrRedriven = "redriven"

// hidden is how long a pass through the dead letters may take, in seconds.
const hidden = 300

// DeadLetters returns the messages of this queue that were moved to the queue at url.
func (q *Queue) DeadLetters(url string) DeadLetters { return DeadLetters{q, url} }

// DeadLetters is a host.DeadLetters.
type DeadLetters struct {
	queue *Queue
	url   string
}

// Redrive implements host.DeadLetters.
func (d DeadLetters) Redrive(ctx context.Context, turn func(times int) bool) (int, error) {
	return d.queue.redrive(ctx, d.url, turn)
}

// redrive sends a dead-letter queue's messages back to this one, and returns how many there were. It calls turn for
// each to decide whether to send it now, given how many times it was sent before. Each is sent first and then deleted:
// a crash in between sends it twice, which the log of its attempt detects.
func (q *Queue) redrive(ctx context.Context, dead string, turn func(times int) bool) (int, error) {
	moved := 0
	var left []types.ChangeMessageVisibilityBatchRequestEntry
	for {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &dead, MaxNumberOfMessages: maxBatch, VisibilityTimeout: hidden,
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameMessageGroupId, types.MessageSystemAttributeNameMessageDeduplicationId}})
		if err != nil {
			return moved, border.Translate("receive dead letters of "+q.Name, err)
		}
		if len(out.Messages) == 0 {
			return moved, q.show(ctx, dead, left)
		}
		for _, m := range out.Messages {
			times, _ := strconv.Atoi(aws.ToString(m.MessageAttributes[attrRedriven].StringValue))
			if !turn(times) {
				left = append(left, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(len(left) % maxBatch)), ReceiptHandle: m.ReceiptHandle})
				continue
			}
			if err := q.sendBack(ctx, m, times+1); err != nil {
				return moved, err
			}
			if _, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &dead, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return moved, border.Translate("delete dead letter of "+q.Name, err)
			}
			moved++
		}
	}
}

// sendBack sends a message unchanged. It gets a new deduplication ID because the queue may still remember the old one.
func (q *Queue) sendBack(ctx context.Context, m types.Message, times int) error {
	n := strconv.Itoa(times)
	attributes := map[string]types.MessageAttributeValue{attrRedriven: {DataType: aws.String("String"), StringValue: &n}}
	for name, a := range m.MessageAttributes {
		if name != attrRedriven {
			attributes[name] = a
		}
	}
	in := &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: m.Body, MessageAttributes: attributes}
	if group, ok := m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]; ok {
		in.MessageGroupId = &group
	}
	if q.FIFO {
		id := m.Attributes[string(types.MessageSystemAttributeNameMessageDeduplicationId)]
		in.MessageDeduplicationId = aws.String(plainID(fmt.Sprintf("%s.redriven%s", id, n)))
	}
	_, err := q.client.SendMessage(ctx, in)
	return border.Translate("send dead letter back to "+q.Name, err)
}

// show makes messages that stay visible again.
func (q *Queue) show(ctx context.Context, dead string, left []types.ChangeMessageVisibilityBatchRequestEntry) error {
	for len(left) > 0 {
		n := min(len(left), maxBatch)
		if _, err := q.client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &dead, Entries: left[:n]}); err != nil {
			return border.Translate("return dead letters to "+q.Name, err)
		}
		left = left[n:]
	}
	return nil
}
