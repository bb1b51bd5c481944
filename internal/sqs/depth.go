package sqs

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"zerodag/internal/border"
	"zerodag/internal/host"
)

// Depth returns the approximate numbers of messages in the queue and of its dead letters: SQS adds up the counts of its
// servers.
func (d DeadLetters) Depth(ctx context.Context) (host.Depth, error) {
	live, err := d.queue.count(ctx, d.queue.URL)
	if err != nil {
		return host.Depth{}, err
	}
	dead, err := d.queue.count(ctx, d.url)
	live.Aside = dead.Ready + dead.Later + dead.Leased
	return live, err
}

func (q *Queue) count(ctx context.Context, url string) (host.Depth, error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesDelayed, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible}})
	if err != nil {
		return host.Depth{}, border.Translate("count messages of "+q.Name, err)
	}
	number := func(name types.QueueAttributeName) int {
		n, _ := strconv.Atoi(out.Attributes[string(name)]) // SQS returns each as a number
		return n
	}
	return host.Depth{Queue: q.Name, About: true, Ready: number(types.QueueAttributeNameApproximateNumberOfMessages),
		Later: number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed), Leased: number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)}, nil
}
