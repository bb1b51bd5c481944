package cloud

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sqs"
)

// received is a queue whose messages come from Lambda. Lambda deletes messages that are not reported as failed, so
// Delete only has to mark a message as done.
type received struct {
	host.Queue
	done map[string]bool // by receipt
}

func (r *received) Delete(_ context.Context, d host.Delivery) error {
	r.done[d.Receipt] = true
	return nil
}

// Executor handles a call with messages from the queue "events"; messages of a group are handled together.
func (e *Engine) Executor(ctx context.Context, call events.SQSEvent) (events.SQSEventResponse, error) {
	defer e.measure("executor")()
	defer e.awaitBackground(ctx)
	return e.consume(ctx, e.Events, e.Config.EventVisibility, call, e.TakeEvents), nil
}

// killLook is the time within which an agent's run is stopped after a kill, and the interval at which a run reads its
// attempt to detect a kill; a run that ends sooner reads nothing.
const killLook = 2 * time.Second

// Agent handles a call with a message from the queue "tasks". It first shortens the lease so that a crash is noticed
// soon.
func (e *Engine) Agent(ctx context.Context, call events.SQSEvent) (events.SQSEventResponse, error) {
	defer e.measure("agent")()
	defer e.awaitBackground(ctx)
	defer e.WatchKills(ctx, killLook)()
	lease := e.lease
	return e.consume(ctx, e.Tasks, lease, call, func(ctx context.Context, q host.Queue, list []host.Delivery) {
		for _, d := range list {
			if sandbox.IsLook(d) {
				if err := e.lookAfterMachines(ctx); err != nil {
					e.Logger.Error("maintain machines: failed steps are repeated at the next check", "error", err)
				}
				q.Delete(ctx, d) //nolint:errcheck // never fails in this type
				continue
			}
			if err := e.Tasks.Extend(ctx, d, lease); err != nil {
				e.Logger.Error("shorten lease: another process has the message, or it will be delivered again", "message", d.ID, "error", err)
				continue
			}
			e.TakeTask(ctx, q, d)
		}
	}), nil
}

// consume handles the messages of one call, those of a group in order, and reports the messages that must be
// redelivered.
func (e *Engine) consume(ctx context.Context, q *sqs.Queue, lease time.Duration, call events.SQSEvent,
	handle func(context.Context, host.Queue, []host.Delivery)) events.SQSEventResponse {
	var groups []string
	members := map[string][]host.Delivery{}
	for _, m := range call.Records {
		d, err := adopt(q, m, lease)
		if err != nil {
			e.Logger.Error("message cannot be read: it is delivered again and then becomes a dead letter", "message", m.MessageId, "error", err)
			d = host.Delivery{Receipt: m.ReceiptHandle}
		}
		group := m.Attributes["MessageGroupId"]
		if members[group] == nil {
			groups = append(groups, group)
		}
		members[group] = append(members[group], d)
	}
	r := &received{q, map[string]bool{}}
	for _, group := range groups {
		if list := readable(members[group]); len(list) > 0 {
			handle(ctx, r, list)
		}
	}
	var answer events.SQSEventResponse
	for _, m := range call.Records {
		if !r.done[m.ReceiptHandle] {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return answer
}

// readable returns the messages of a group that precede the first unreadable one: later ones must wait.
func readable(list []host.Delivery) []host.Delivery {
	for i, d := range list {
		if d.ID == "" {
			return list[:i]
		}
	}
	return list
}

func adopt(q *sqs.Queue, m events.SQSMessage, lease time.Duration) (host.Delivery, error) {
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
	var first time.Time
	if ms, err := strconv.ParseInt(m.Attributes["ApproximateFirstReceiveTimestamp"], 10, 64); err == nil {
		first = time.UnixMilli(ms)
	}
	return q.Adopt(sqs.Record{ID: m.MessageId, Receipt: m.ReceiptHandle, Body: m.Body, Attributes: attributes, Count: count, First: first}, lease)
}

// Depths returns the approximate numbers of messages and dead letters in the queues.
func (e *Engine) Depths(ctx context.Context) ([]host.Depth, error) {
	var list []host.Depth
	for _, d := range e.dead {
		depth, err := d.Depth(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, depth)
	}
	return list, nil
}
