package sqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// looking is how long, in seconds, Look hides the letters that it has received, so that it does not find them twice. If
// the function ends before it releases them, they become visible after that time.
const looking = 30

// Look implements host.DeadLetters. SQS shows a message only to its receiver, so each message is received for a while
// and released at the end. That counts as a receive, but the number of times that a dead letter may be received is not
// limited.
func (d DeadLetters) Look(ctx context.Context, f func(host.DeadLetter) bool) error {
	return d.each(ctx, func(_ types.Message, l host.DeadLetter) (bool, error) { return f(l), nil })
}

// Return implements host.DeadLetters.
func (d DeadLetters) Return(ctx context.Context, id string) error {
	found := false
	err := d.each(ctx, func(m types.Message, l host.DeadLetter) (bool, error) {
		if l.ID != id {
			return true, nil
		}
		found = true
		if err := d.queue.sendBack(ctx, m, l.Times+1); err != nil {
			return false, err
		}
		_, err := d.queue.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &d.url, ReceiptHandle: m.ReceiptHandle})
		return false, border.Translate("delete dead letter of "+d.queue.Name, err)
	})
	if err == nil && !found {
		return fmt.Errorf("dead letter %s of %s: %w", id, d.queue.Name, host.ErrNotFound)
	}
	return err
}

// each receives each letter once, until f returns false or there are no more, and then releases them.
func (d DeadLetters) each(ctx context.Context, f func(types.Message, host.DeadLetter) (more bool, err error)) (failed error) {
	var seen []types.ChangeMessageVisibilityBatchRequestEntry
	defer func() { // even if the caller has gone, because other callers want to see them
		failed = errors.Join(failed, d.queue.show(context.WithoutCancel(ctx), d.url, seen))
	}()
	known := map[string]bool{}
	for {
		out, err := d.queue.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &d.url, MaxNumberOfMessages: maxBatch, VisibilityTimeout: looking,
			WaitTimeSeconds:       1, // without a wait, SQS queries only some of its servers
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		if err != nil {
			return border.Translate("peek at dead letters of "+d.queue.Name, err)
		}
		if len(out.Messages) == 0 {
			return nil
		}
		for _, m := range out.Messages {
			seen = append(seen, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(len(seen) % maxBatch)), ReceiptHandle: m.ReceiptHandle})
		}
		for _, m := range out.Messages {
			l := d.letter(m)
			if known[l.ID] {
				continue
			}
			known[l.ID] = true
			if more, err := f(m, l); err != nil || !more {
				return err
			}
		}
	}
}

func (d DeadLetters) letter(m types.Message) host.DeadLetter {
	attributes := map[string]string{}
	for name, a := range m.MessageAttributes {
		attributes[name] = aws.ToString(a.StringValue)
	}
	number := func(name types.MessageSystemAttributeName) int64 {
		n, _ := strconv.ParseInt(m.Attributes[string(name)], 10, 64) // SQS returns each as a number
		return n
	}
	l := host.DeadLetter{ID: aws.ToString(m.MessageId), Queue: d.queue.Name, Size: len(aws.ToString(m.Body)), Count: int(number(types.MessageSystemAttributeNameApproximateReceiveCount)),
		Sent: time.UnixMilli(number(types.MessageSystemAttributeNameSentTimestamp)).UTC()}
	l.Times, _ = strconv.Atoi(attributes[attrRedriven])
	var err error
	if l.Message, err = decode(aws.ToString(m.Body), attributes); err != nil {
		l.Broken = err.Error()
	}
	return l
}
