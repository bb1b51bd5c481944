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

// Later keeps messages until they are due soon enough to be sent.
type Later interface {
	Later(ctx context.Context, queue string, messages ...host.Message) error
}

// Options holds the settings of a Queue.
type Options struct {
	Name  string // "events" or "tasks"; passed to Later
	URL   string
	FIFO  bool
	Later Later // nil: messages that are due too late are refused
	// Visibility is the visibility timeout of the queue: how long Lambda holds a message unless the function changes
	// that. 0 means unknown.
	Visibility time.Duration
	Now        func() time.Time // time.Now when nil
	Tries      int              // how many times a call that was throttled or got no response is tried: border.Tries
}

// Queue is a host.Queue.
type Queue struct {
	Options
	client *sqs.Client
	leases leases
}

// New returns a Queue for an existing SQS queue.
func New(c aws.Config, o Options) *Queue {
	if o.Now == nil {
		o.Now = time.Now
	}
	client := sqs.NewFromConfig(border.Answered(c), func(s *sqs.Options) { s.Retryer = border.Retryer(o.Tries) })
	return &Queue{Options: o, client: client, leases: leases{now: o.Now}}
}

// The longest times that SQS accepts.
const (
	maxLease = 12 * time.Hour
	pollTime = 20 * time.Second
)

// seconds rounds up.
func seconds(d, most time.Duration) int32 {
	d = min(max(d, 0), most)
	return int32((d + time.Second - 1) / time.Second)
}

// Traits implements host.Queue. A FIFO queue refuses the ID of a message for five minutes; SQS delays messages by whole
// seconds, which are rounded up, so messages come 300 ms late on average. An old receipt may still delete a message
// that was received again.
func (q *Queue) Traits() host.Traits {
	t := host.Traits{Rounding: 300 * time.Millisecond, StaleDeletes: true}
	if q.FIFO {
		t.Remembers = 4 * time.Minute
	}
	return t
}

// Receive waits until there is at least one message or ctx ends. From a FIFO queue, it takes one message at a time
// because SQS would hand out several of one group together.
func (q *Queue) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	if q.FIFO {
		n = 1
	}
	for {
		list, err := q.poll(ctx, min(max(n, 1), maxBatch), max(lease, time.Second))
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
}

// poll makes one receive call. SQS leases a message even if the caller no longer waits for the response, so a call is
// never canceled: if ctx ends first, its messages are given back.
func (q *Queue) poll(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	type answer struct {
		list []host.Delivery
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		unbroken, cancel := context.WithTimeout(context.WithoutCancel(ctx), pollTime+10*time.Second)
		defer cancel()
		out, err := q.client.ReceiveMessage(unbroken, &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MaxNumberOfMessages: int32(n), VisibilityTimeout: seconds(lease, maxLease),
			WaitTimeSeconds: int32(pollTime / time.Second), MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount}})
		if err != nil {
			answers <- answer{nil, border.Translate("receive from "+q.Name, err)}
			return
		}
		list, err := q.deliveries(out.Messages, lease)
		if ctx.Err() != nil {
			for _, d := range list {
				q.Release(unbroken, d, 0) //nolint:errcheck // otherwise, it is delivered again when its lease ends
			}
		}
		answers <- answer{list, err}
	}()
	select {
	case a := <-answers:
		if ctx.Err() == nil {
			return a.list, a.err
		}
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("receive from %s: %w", q.Name, ctx.Err())
}

func (q *Queue) deliveries(messages []types.Message, lease time.Duration) ([]host.Delivery, error) {
	var list []host.Delivery
	for _, m := range messages {
		attributes := map[string]string{}
		for name, a := range m.MessageAttributes {
			attributes[name] = aws.ToString(a.StringValue)
		}
		count, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
		if err != nil {
			return nil, fmt.Errorf("receive from %s: number of receives: %w", q.Name, err)
		}
		d, err := q.Adopt(Record{ID: aws.ToString(m.MessageId), Receipt: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body), Attributes: attributes, Count: count}, lease)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// Record is a message as SQS, or Lambda, delivers it.
type Record struct {
	ID         string // SQS's own ID
	Receipt    string
	Body       string
	Attributes map[string]string // of the message
	Count      int
	// First is when the message was first received; zero means unknown.
	First time.Time
}

// slack is how much earlier than its visibility timeout a message may seem to come back, because SQS's times are
// approximate and come from another clock.
const slack = 5 * time.Second

// unbegun reports whether each receiver before this one had the message for the whole visibility timeout of the queue.
// The first thing that a function does is to shorten it, so none of them began: Lambda received the message and was
// throttled, or the process died at once. A receiver that began and died makes the sum too small, however many others
// were throttled; only a receiver that worked on the message until Lambda ended it at the function's time limit cannot
// be distinguished from them.
func (q *Queue) unbegun(r Record) bool {
	if q.Visibility == 0 || r.Count < 2 || r.First.IsZero() {
		return false
	}
	return q.Now().Sub(r.First) >= time.Duration(r.Count-1)*q.Visibility-slack
}

// Adopt makes a Delivery from a message that Lambda received and leased.
func (q *Queue) Adopt(r Record, lease time.Duration) (host.Delivery, error) {
	m, err := decode(r.Body, r.Attributes)
	if err != nil {
		return host.Delivery{}, fmt.Errorf("receive from %s: message %s: %w", q.Name, r.ID, err)
	}
	q.leases.begin(r.ID, r.Receipt, time.Duration(seconds(lease, maxLease))*time.Second)
	return host.Delivery{Message: m, Receipt: r.Receipt, Count: r.Count, Unbegun: q.unbegun(r)}, nil
}

// Extend makes the lease last for the given time from now.
func (q *Queue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	if !q.leases.holds(d.Receipt) {
		return host.ErrLeaseLost
	}
	lease = max(lease, time.Second)
	err := q.visibility(ctx, d, lease)
	if err == nil {
		q.leases.extend(d.Receipt, time.Duration(seconds(lease, maxLease))*time.Second)
	}
	return err
}

func (q *Queue) visibility(ctx context.Context, d host.Delivery, after time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.URL, ReceiptHandle: &d.Receipt, VisibilityTimeout: seconds(after, maxLease)})
	if lost(err) {
		q.leases.end(d.Receipt)
		return host.ErrLeaseLost
	}
	return border.Translate("change lease in "+q.Name, err)
}

// Delete removes a message; if the lease is lost, it does nothing.
func (q *Queue) Delete(ctx context.Context, d host.Delivery) error {
	if !q.leases.holds(d.Receipt) {
		return nil
	}
	_, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.URL, ReceiptHandle: &d.Receipt})
	if err == nil || lost(err) {
		q.leases.end(d.Receipt)
		return nil
	}
	return border.Translate("delete from "+q.Name, err)
}

// Release gives a message back, to be received again after a delay.
func (q *Queue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	if !q.leases.holds(d.Receipt) {
		return nil
	}
	err := q.visibility(ctx, d, delay)
	if err == nil || errors.Is(err, host.ErrLeaseLost) {
		q.leases.end(d.Receipt)
		return nil
	}
	return err
}

// lost reports whether SQS refused a receipt.
func lost(err error) bool {
	switch border.Code(err) {
	case "ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue", "AWS.SimpleQueueService.MessageNotInflight":
		return true
	}
	return false
}
