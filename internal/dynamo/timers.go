package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

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

func timerKey(queue, id string) key { return key{"T#" + queue + "#" + id, row} }
func dueTimers(shard int64) string  { return "T#" + decimal(shard) }

// Timers keeps messages until they are near enough to be sent. It is apart from DB, which needs the
// queues that need Timers.
type Timers struct{ db *DB }

// NewTimers makes Timers in a deployment's table.
func NewTimers(c aws.Config, table string) *Timers { return &Timers{New(c, Options{Table: table})} }

// Later keeps messages until they are near enough to be sent. Repeated it changes nothing.
func (t *Timers) Later(ctx context.Context, queue string, messages ...host.Message) error {
	var items []item
	for _, m := range messages {
		it := timerKey(queue, m.ID).item()
		it[aListDue], it[aDue] = text(dueTimers(shardOf(m.Due.UnixMicro()))), micros(m.Due)
		it.setStr(aQueue, queue)
		it.setStr(aMessage, m.ID)
		it.setStr(aGroup, m.Group)
		it.setStr(aShare, m.Share)
		it.setBytes(aText, m.Body)
		items = append(items, it)
	}
	return t.db.putAll(ctx, items)
}

// Due lists up to n messages due at or before a time, the earliest first. The sender of
// one deletes it afterwards: a crash in between sends it twice.
func (t *Timers) Due(ctx context.Context, until time.Time, n int) ([]host.Timer, error) {
	var out []host.Timer
	err := t.db.listOf(env.Due(), span{0, until.UnixMicro()}, false, n, byShard(dueTimers)).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			out = append(out, host.Timer{Queue: it.str(aQueue), Message: host.Message{ID: it.str(aMessage), Group: it.str(aGroup), Share: it.str(aShare), Body: it.bytes(aText), Due: it.time(aDue)}})
		}
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// Delete removes messages that were sent.
func (t *Timers) Delete(ctx context.Context, list []host.Timer) error {
	keys := make([]key, len(list))
	for i, x := range list {
		keys[i] = timerKey(x.Queue, x.Message.ID)
	}
	return t.db.deleteAll(ctx, keys)
}
