// Package sqs implements `sqs>`: it sends messages to an Amazon SQS queue. Any agent may run it; it must never log a
// message.
package sqs

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `sqs>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "sqs", Summary: "sends messages to an SQS queue", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) { return run(ctx, account, t) }}
}

const (
	batchSize    = 10      // messages in one call
	batchBytes   = 1 << 20 // bytes in one call, as SQS allows
	longestDelay = 15 * time.Minute
)

func run(ctx context.Context, account *aws.Account, t *operators.Task) (operators.Result, error) {
	p, err := aws.Params(t, "sqs")
	if err != nil {
		return operators.Result{}, err
	}
	queue, err := p.String("_command")
	if err != nil {
		return operators.Result{}, err
	}
	entries, err := read(t, p, queue)
	if err != nil {
		return operators.Result{}, err
	}
	c, err := account.Config(ctx, t, p, "sqs")
	if err != nil {
		return operators.Result{}, err
	}
	if region := regionOf(queue); region != "" {
		c.Region = region
	}
	client := sqs.NewFromConfig(c)
	call := aws.Call{Operator: "sqs", Doing: "send to " + queue, Needs: "sqs:SendMessage"}
	address := queue
	if !isURL(queue) {
		out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
		if err != nil {
			call.Needs = "sqs:GetQueueUrl"
			return operators.Result{}, call.Failure(ctx, err)
		}
		address = *out.QueueUrl
	}
	for _, batch := range batches(entries) {
		if err := send(ctx, client, address, batch); err != nil {
			return operators.Result{}, call.Failure(ctx, err)
		}
	}
	t.Log.Line(operators.Info, "SqsOperator", fmt.Sprintf("Sent messages to %s: %d", queue, len(entries)))
	return operators.Result{}, nil
}

func isURL(queue string) bool { return strings.Contains(queue, "://") }

// regionOf returns the region in the URL of an AWS queue, "" for none.
func regionOf(queue string) string {
	u, err := url.Parse(queue)
	if err != nil {
		return ""
	}
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) >= 4 && parts[0] == "sqs" && strings.HasPrefix(parts[2], "amazonaws") {
		return parts[1]
	}
	return ""
}

// read builds the entries of all messages of a task.
func read(t *operators.Task, p *operators.Params, queue string) ([]types.SendMessageBatchRequestEntry, error) {
	bodies, err := readBodies(p)
	if err != nil {
		return nil, err
	}
	delay, err := p.DurationOr("delay", 0)
	if err != nil {
		return nil, err
	}
	attributes, err := operators.ReadOr(p, "attributes", aws.AsAttributes, nil)
	if err != nil {
		return nil, err
	}
	order, err := aws.ReadOrder(t, p, path.Base(queue))
	switch {
	case err != nil:
		return nil, err
	case delay > longestDelay:
		return nil, param.Errorf("'delay' is %v: SQS delays messages by at most 15 minutes, use wait> before it", delay)
	case delay > 0 && order.Group != "":
		return nil, param.Errorf("'delay' does not work for FIFO queues: set the delay of the queue %s", queue)
	}
	named := map[string]types.MessageAttributeValue{}
	for name, a := range attributes {
		named[name] = types.MessageAttributeValue{DataType: &a.Type, StringValue: &a.Text}
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(bodies))
	for i, body := range bodies {
		if body == "" {
			return nil, param.Errorf("message %d is empty: SQS rejects messages without text", i+1)
		}
		entries[i] = types.SendMessageBatchRequestEntry{Id: new(strconv.Itoa(i)), MessageBody: &bodies[i], DelaySeconds: int32(delay / time.Second), MessageAttributes: named}
		if order.Group != "" {
			id := order.ID
			if len(bodies) > 1 {
				id += "-" + strconv.Itoa(i)
			}
			entries[i].MessageGroupId, entries[i].MessageDeduplicationId = &order.Group, &id
		}
	}
	return entries, nil
}

func readBodies(p *operators.Params) ([]string, error) {
	one, many := p.Has("message"), p.Has("messages")
	if one == many {
		return nil, param.Errorf("Either 'message' or 'messages' must be set")
	}
	if one {
		body, err := operators.Read(p, "message", aws.AsMessage)
		return []string{body}, err
	}
	list, err := operators.Read(p, "messages", param.ParseList)
	if err != nil {
		return nil, err
	}
	bodies := make([]string, len(list))
	for i, v := range list {
		if bodies[i], err = aws.AsMessage("messages", v); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// batches splits entries into groups that fit in one call. The attributes count for each entry.
func batches(entries []types.SendMessageBatchRequestEntry) [][]types.SendMessageBatchRequestEntry {
	var list [][]types.SendMessageBatchRequestEntry
	room := 0
	for _, e := range entries {
		size := len(*e.MessageBody)
		for name, a := range e.MessageAttributes {
			size += len(name) + len(*a.DataType) + len(*a.StringValue)
		}
		if last := len(list) - 1; last >= 0 && len(list[last]) < batchSize && size <= room {
			list[last] = append(list[last], e)
		} else {
			list, room = append(list, []types.SendMessageBatchRequestEntry{e}), batchBytes
		}
		room -= size
	}
	return list
}

// send sends a batch; it returns an error if SQS did not accept some of its messages.
func send(ctx context.Context, client *sqs.Client, address string, batch []types.SendMessageBatchRequestEntry) error {
	out, err := client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &address, Entries: batch})
	if err != nil || len(out.Failed) == 0 {
		return err
	}
	f := out.Failed[0]
	text := "message " + *f.Id
	if f.Message != nil {
		text += ": " + *f.Message
	}
	return &smithy.GenericAPIError{Code: *f.Code, Message: text}
}
