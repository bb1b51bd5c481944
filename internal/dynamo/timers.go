package dynamo

import (
	"context"
	"time"

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

// Timer is a message and the queue that it is for.
type Timer struct {
	Queue   string
	Message host.Message
}

// Later keeps messages until they are near enough to be sent. Repeated it changes nothing.
func (db *DB) Later(ctx context.Context, queue string, messages ...host.Message) error {
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
	return db.putAll(ctx, items)
}

// DueTimers lists up to n messages due at or before a time, the earliest first. Whoever
// sends one deletes it afterwards: a crash in between sends it twice.
func (db *DB) DueTimers(ctx context.Context, until time.Time, n int) ([]Timer, error) {
	var out []Timer
	err := db.listOf(env.Due(), span{0, until.UnixMicro()}, false, n, byShard(dueTimers)).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			out = append(out, Timer{it.str(aQueue), host.Message{ID: it.str(aMessage), Group: it.str(aGroup), Share: it.str(aShare), Body: it.bytes(aText), Due: it.time(aDue)}})
		}
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// DeleteTimers removes messages that were sent.
func (db *DB) DeleteTimers(ctx context.Context, list []Timer) error {
	keys := make([]key, len(list))
	for i, t := range list {
		keys[i] = timerKey(t.Queue, t.Message.ID)
	}
	return db.deleteAll(ctx, keys)
}
