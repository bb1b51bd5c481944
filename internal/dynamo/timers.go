package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A message that is due later than its queue can delay it.
//
//	T#<queue>#<message id>   R   row; index due (T#<shard>, time)
const (
	aQueue   = "qu"
	aMessage = "mi"
	aGroup   = "gr"
	aShare   = "sh"
	aText    = "bo"
)

func timerKey(queue, id string) table.Key { return table.At("T#"+queue+"#"+id, table.Row) }
func dueTimers(shard int64) string        { return "T#" + table.Decimal(shard) }

// Timers keeps messages until their due times are close enough for their queues. It is separate from DB because DB
// needs the queues, which need Timers.
type Timers struct{ t *table.Table }

// NewTimers returns Timers that are stored in a deployment's table.
func NewTimers(c aws.Config, name string) *Timers {
	return &Timers{table.Open(c, table.Config{Name: name})}
}

// Later keeps messages until their due times are close enough for their queues. A repeated call changes nothing.
func (x *Timers) Later(ctx context.Context, queue string, messages ...host.Message) error {
	var items []table.Item
	for _, m := range messages {
		it := timerKey(queue, m.ID).Item()
		it[aListDue], it[aDue] = table.Text(dueTimers(table.ShardOf(m.Due.UnixMicro()))), table.Micros(m.Due)
		it.SetStr(aQueue, queue)
		it.SetStr(aMessage, m.ID)
		it.SetStr(aGroup, m.Group)
		it.SetStr(aShare, m.Share)
		it.SetBytes(aText, m.Body)
		items = append(items, it)
	}
	return x.t.PutAll(ctx, items)
}

// Due lists up to n messages due at or before a given time, the earliest first. The caller that sends a message deletes
// it afterwards; after a crash in between it is sent twice.
func (x *Timers) Due(ctx context.Context, until time.Time, n int) ([]host.Timer, error) {
	var out []host.Timer
	err := x.t.ListOf(env.Due(), table.Span{From: 0, To: until.UnixMicro()}, false, n, table.ByShard(dueTimers)).Rows(ctx, func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			out = append(out, host.Timer{Queue: it.Str(aQueue), Message: host.Message{ID: it.Str(aMessage), Group: it.Str(aGroup), Share: it.Str(aShare), Body: it.Bytes(aText), Due: it.Time(aDue)}})
		}
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// Delete removes messages that were sent.
func (x *Timers) Delete(ctx context.Context, list []host.Timer) error {
	keys := make([]table.Key, len(list))
	for i, timer := range list {
		keys[i] = timerKey(timer.Queue, timer.Message.ID)
	}
	return x.t.DeleteAll(ctx, keys)
}
