package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Queue is a host.Queue. Its messages are rows, and so are leases; waiting receivers are in memory.
type Queue struct {
	db     *DB
	name   string
	number int // the number of the queue in queued_messages
	poll   time.Duration
	types  [][]byte // only messages of these types or without a type are received; nil means all

	mu      sync.Mutex
	waiters []chan struct{} // the waiting calls of Receive, in order; a channel is closed to wake one
	timer   *time.Timer     // for the next message that becomes visible while a receiver waits
	ends    time.Time       // when that happens
	armed   int64           // how many times it was set
	doubts  []int64         // receipts of unanswered calls, which may have leased messages that no receiver has
}

// queueNames returns the names of all queues; a queue's number is its position, from 1.
func queueNames() []string { return []string{"events", "tasks"} }

func newQueue(db *DB, name string, poll time.Duration) *Queue {
	return &Queue{db: db, name: name, number: slices.Index(queueNames(), name) + 1, poll: cmp.Or(poll, pollEvery)}
}

// only limits a task queue to messages of some types and messages for all receivers.
func (q *Queue) only(types []string) {
	if len(types) == 0 {
		return
	}
	q.types = [][]byte{{}}
	for _, t := range types {
		q.types = append(q.types, []byte(t))
	}
}

// clock is the time of queues in microseconds: the server's time when a statement reaches it, which all processes
// share.
const clock = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"

// Traits implements host.Queue: this queue stores its messages together with the records that they are about, and
// delivers them exactly on time.
func (q *Queue) Traits() host.Traits { return host.Traits{} }

// Send adds messages: see host.Queue.
func (q *Queue) Send(ctx context.Context, messages ...host.Message) error {
	if len(messages) == 0 {
		return ctx.Err()
	}
	return q.db.write(ctx, func(c *conn) error { return q.send(c, true, messages...) })
}

// send does the work of Send within a transaction. New groups, which no one else can know yet, need no lock.
func (q *Queue) send(c *conn, known bool, messages ...host.Message) error {
	var list []statement
	groups := groupsOf(messages)
	if known {
		list = q.locks(groups)
	}
	now := q.db.now()
	n := len(messages)
	ids, names, shares, types, bodies := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	due, waits := make([]*int64, n), make([]bool, n)
	for i, m := range messages {
		ids[i], names[i], shares[i], types[i], bodies[i], waits[i] = []byte(m.ID), []byte(m.Group), []byte(m.Share), []byte(m.Type), append([]byte{}, m.Body...), m.Relative
		if at := m.Due; !at.IsZero() {
			micros := at.UnixMicro()
			if m.Relative {
				micros = at.Sub(now).Microseconds()
			}
			due[i] = &micros
		}
	}
	list = append(list, sqlstore.Do("INSERT INTO @queued_messages (queue, unique_name, message_group, share, task_type, body, due, sent_at, free_at)"+
		" SELECT $1, id, message_group, share, task_type, body, due, now, CASE WHEN message_group = '' THEN greatest(due, now) END FROM ("+
		"SELECT m.*, CASE WHEN waits THEN now + wanted ELSE wanted END AS due, now FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[], $8::boolean[])"+
		" WITH ORDINALITY AS m (id, message_group, share, task_type, body, wanted, waits, place), (SELECT "+clock+" AS now) AS c) AS x ORDER BY place ON CONFLICT (queue, unique_name) DO NOTHING",
		q.number, ids, names, shares, types, bodies, due, waits))
	if len(groups) > 0 {
		list = append(list, q.promote(groups))
	}
	if err := c.Batch(append(list, q.notify(c))...); err != nil {
		return fmt.Errorf("send message %s: %w", messages[0].ID, err)
	}
	return nil
}

// groupsOf returns the groups of the given messages, each once.
func groupsOf(messages []host.Message) [][]byte {
	var groups []string
	for _, m := range messages {
		if m.Group != "" {
			groups = append(groups, m.Group)
		}
	}
	slices.Sort(groups)
	var list [][]byte
	for _, g := range slices.Compact(groups) {
		list = append(list, []byte(g))
	}
	return list
}

// locks returns statements that lock groups until the end of the transaction: only one process at a time adds to a
// group or removes its first message, so its messages appear in the order of their IDs. Every process locks several
// groups in the same order.
func (q *Queue) locks(groups [][]byte) []statement {
	keys := make([]int64, len(groups))
	for i, g := range groups {
		keys[i] = hashOf("group", q.db.schema, q.name, string(g))
	}
	slices.Sort(keys)
	var list []statement
	for _, k := range slices.Compact(keys) {
		list = append(list, sqlstore.Do("SELECT pg_advisory_xact_lock($1)", k))
	}
	return list
}

// promote makes the first message of each group available before later ones. The groups' locks must be held.
func (q *Queue) promote(groups [][]byte) statement {
	return sqlstore.Do("UPDATE @queued_messages SET free_at = greatest(due, sent_at) WHERE free_at IS NULL AND id IN ("+
		"SELECT (SELECT m.id FROM @queued_messages m WHERE m.queue = $1 AND m.message_group = g AND m.message_group <> '' ORDER BY m.id LIMIT 1) FROM unnest($2::bytea[]) AS g)",
		q.number, groups)
}

// notify wakes receivers everywhere once the transaction is committed.
func (q *Queue) notify(c *conn) statement {
	c.woken = append(c.woken, q)
	return sqlstore.Do("SELECT pg_notify($1, $2)", q.db.channel, q.name)
}

// Receive waits for messages and leases them: see host.Queue.
func (q *Queue) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		wait := q.enter() // before the check, so that a later sender wakes it
		list, next, err := q.lease(ctx, n, lease)
		if err != nil || len(list) > 0 {
			q.leave(wait, len(list) == n) // more messages may be there for others
			return list, err
		}
		q.arm(next)
		select {
		case <-wait:
		case <-ctx.Done():
			q.leave(wait, false)
			return nil, ctx.Err()
		case <-q.db.done:
			return nil, fmt.Errorf("receive: %w", errClosed)
		}
	}
}

// lease takes up to n messages; if there are none, it returns the time until one can be received, or -1 if the queue is
// empty. Each call has a random receipt. If a call was not answered, the next one, from this or a later lease, first
// gives back the messages leased under that receipt.
func (q *Queue) lease(ctx context.Context, n int, lease time.Duration) (list []host.Delivery, next time.Duration, err error) {
	receipt := 1 + rand.Int64N(1<<62) // #nosec G404 -- it is a name, not a secret
	sent := false
	doubts := q.doubted()
	err = q.db.alone(ctx, func(c *conn) error {
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTime) // a caller that leaves now takes no messages
		defer cancel()
		c.ctx, list = finish, nil
		if sent {
			doubts, sent = append(doubts, receipt), false
		}
		if len(doubts) > 0 {
			if err := q.giveBack(c, doubts...); err != nil {
				return err
			}
			doubts = nil
		}
		until, err := q.db.judges(c)
		if err != nil {
			return err
		}
		sent = true
		text, args := q.take()
		taken, err := sqlstore.Collect(c, scanLeased, text, append([]any{n, lease.Microseconds(), receipt, until}, args...)...)
		if err != nil {
			return err
		}
		slices.SortFunc(taken, func(a, b leased) int { return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.row, b.row)) })
		for _, m := range taken {
			m.Receipt = strconv.FormatInt(m.row, 10) + "." + strconv.FormatInt(receipt, 10)
			list = append(list, m.Delivery)
		}
		if left := ctx.Err(); left != nil && len(list) > 0 {
			return errors.Join(left, q.giveBack(c, receipt))
		}
		if len(list) > 0 {
			return nil
		}
		next = -1
		return c.Query(func(r *row) { next = time.Duration(r.ID()) * time.Microsecond },
			"SELECT free_at - "+clock+" FROM @queued_messages WHERE queue = $1 AND free_at > "+clock+" ORDER BY free_at LIMIT 1", q.number)
	})
	if err != nil {
		if sent {
			doubts = append(doubts, receipt)
		}
		q.doubt(doubts)
		return nil, 0, err
	}
	return list, next, nil
}

// doubted hands out the receipts that are in doubt. The caller gives back the messages leased under them, or calls
// doubt.
func (q *Queue) doubted() []int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.doubts
	q.doubts = nil
	return list
}

// doubt keeps receipts for the next call.
func (q *Queue) doubt(receipts []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.doubts = append(q.doubts, receipts...)
}

// take returns a statement, with its further arguments, that leases up to $1 messages for $2 microseconds under receipt
// $3; messages whose lease has ended are taken only before $4. If there are several types, it checks the first messages
// of each, so that the cost does not depend on how many other messages wait before them.
func (q *Queue) take() (text string, args []any) {
	free := "free_at <= " + clock + " AND (receipt = 0 OR " + clock + " < $4) ORDER BY free_at, id LIMIT $1 FOR UPDATE SKIP LOCKED"
	picked := "SELECT id, free_at FROM @queued_messages WHERE queue = $5 AND " + free
	args = []any{q.number, q.db.server}
	if q.types != nil {
		picked = "SELECT x.id, x.free_at FROM unnest($5::bytea[]) AS t (task_type), LATERAL (SELECT id, free_at FROM @queued_messages m WHERE queue = " +
			strconv.Itoa(q.number) + " AND m.task_type = t.task_type AND " + free + ") AS x ORDER BY x.free_at, x.id LIMIT $1"
		args = []any{q.types, q.db.server}
	}
	return "WITH picked AS MATERIALIZED (" + picked + ") UPDATE @queued_messages m SET free_at = " + clock + " + $2, receipt = $3, holder = $6, receive_count = m.receive_count + 1" +
		" FROM picked WHERE m.id = picked.id RETURNING m.id, picked.free_at, m.unique_name, m.message_group, m.share, m.task_type, m.body, m.due, m.receive_count, m.begun", args
}

// giveBack undoes the leases of messages that no receiver got.
func (q *Queue) giveBack(c *conn, receipts ...int64) error {
	return c.Batch(sqlstore.Do("UPDATE @queued_messages SET free_at = "+clock+", receipt = 0, receive_count = receive_count - 1"+
		" WHERE queue = $1 AND receipt = ANY($2)", q.number, receipts), q.notify(c))
}

// leased is a message with its row, and the time from which it could be received.
type leased struct {
	host.Delivery
	row, free int64
}

func scanLeased(r *row) leased {
	return leased{row: r.ID(), free: r.ID(), Delivery: host.Delivery{Message: host.Message{ID: r.Text(), Group: r.Text(), Share: r.Text(), Type: r.Text(), Body: r.Blob(), Due: r.Time()}, Count: r.Int(), Begun: r.Text()}}
}

// parseReceipt returns a message's row and the proof of its lease, or false if the string is not a receipt.
func parseReceipt(text string) (id, receipt int64, ok bool) {
	left, right, _ := strings.Cut(text, ".")
	id, err := strconv.ParseInt(left, 10, 64)
	receipt, err2 := strconv.ParseInt(right, 10, 64)
	return id, receipt, errors.Join(err, err2) == nil && id > 0 && receipt > 0
}

// held finds a message that no one else has received since. If another receiver has it, the row has another receipt,
// even if this statement had to wait for it. Until another receiver takes the message, a lease that ended while its
// holder could not reach the database remains valid.
const held = " WHERE id = $1 AND receipt = $2"

// Extend prolongs a lease: see host.Queue. If it is repeated, the lease runs from the last call.
func (q *Queue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	id, receipt, ok := parseReceipt(d.Receipt)
	if !ok {
		return host.ErrLeaseLost
	}
	return q.db.alone(ctx, func(c *conn) error {
		n, err := c.Exec("UPDATE @queued_messages SET free_at = "+clock+" + $3"+held, id, receipt, lease.Microseconds())
		if err == nil && n == 0 {
			err = host.ErrLeaseLost
		}
		return err
	})
}

// Begin implements host.Marker. Repeating it changes nothing. Its commit does not wait for the disk: a PostgreSQL crash
// may lose the note.
func (q *Queue) Begin(ctx context.Context, d host.Delivery, name string, known host.Entry) (flagged bool, err error) {
	attempt, _, err := host.ParseMessageID(d.ID)
	id, receipt, ok := parseReceipt(d.Receipt)
	if err != nil || !ok {
		return false, host.ErrLeaseLost
	}
	sql, args := "SELECT id, "+begins+" FROM @queued_messages"+held, []any{id, receipt, attempt, known.Seq, known.Nonce}
	if name != "" {
		sql = "WITH noted AS (UPDATE @queued_messages SET begun = $6" + held + " RETURNING id) SELECT id, " + begins + ", set_config('synchronous_commit', 'off', true) FROM noted"
		args = append(args, name)
	}
	err = q.db.alone(ctx, func(c *conn) error {
		stands := false
		flags, there, err := sqlstore.One(c, func(r *row) (flags int64) { r.ID(); flags, stands = r.ID(), r.Bool(); return flags }, sql, args...)
		switch {
		case err == nil && !there:
			err = host.ErrLeaseLost
		case err == nil && !stands:
			err = host.ErrConflict
		}
		flagged = flags&sqlstore.Canceled != 0
		return err
	})
	return flagged, err
}

// begins selects the results of Begin: the flags of the attempt, and whether the entry that the holder knows is there.
const begins = "coalesce((SELECT state_flags FROM @session_attempts WHERE id = $3), 0)," +
	" $5::bytea = '' OR EXISTS (SELECT 1 FROM @attempt_entries WHERE attempt_id = $3 AND seq = $4::bigint AND nonce = $5)"

// Delete removes a message: see host.Queue. Repeating it changes nothing.
func (q *Queue) Delete(ctx context.Context, d host.Delivery) error {
	id, receipt, ok := parseReceipt(d.Receipt)
	if !ok {
		return ctx.Err()
	}
	remove := sqlstore.Do("DELETE FROM @queued_messages"+held, id, receipt)
	return q.db.alone(ctx, func(c *conn) error {
		if d.Group == "" {
			return c.Batch(remove)
		}
		groups := [][]byte{[]byte(d.Group)}
		next := q.promote(groups)
		next.SQL = "WITH next AS (" + next.SQL + " RETURNING id) SELECT pg_notify($3, $4) FROM next LIMIT 1"
		next.Args = append(next.Args, q.db.channel, q.name)
		c.woken = append(c.woken, q)
		return c.Batch(append(q.locks(groups), remove, next)...)
	})
}

// Forward replaces a message with another: see host.Forwarder. Messages of groups are not forwarded.
func (q *Queue) Forward(ctx context.Context, d host.Delivery, m host.Message) error {
	id, receipt, ok := parseReceipt(d.Receipt)
	if !ok {
		return host.ErrLeaseLost
	}
	return q.db.write(ctx, func(c *conn) error {
		n, err := c.Exec("DELETE FROM @queued_messages"+held, id, receipt)
		if err == nil && n == 0 {
			err = host.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		return q.send(c, true, m)
	})
}

// Release gives a message back: see host.Queue. Repeating it does nothing, because the lease is already lost.
func (q *Queue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	id, receipt, ok := parseReceipt(d.Receipt)
	if !ok {
		return ctx.Err()
	}
	return q.db.alone(ctx, func(c *conn) error {
		return c.Batch(sqlstore.Do("UPDATE @queued_messages SET receipt = 0, due = "+clock+" + $3, free_at = "+clock+" + $3"+held,
			id, receipt, delay.Microseconds()), q.notify(c))
	})
}
