package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Queue is a host.Queue. Its messages are rows; leases and the order in which messages
// are received are in memory, in the index.
type Queue struct {
	db   *DB
	name string

	mu      sync.Mutex
	index   index
	waiters []chan struct{} // the waiting calls of Receive, in order; a channel is closed to wake one
	timer   *time.Timer     // for the next message that becomes visible while a receiver waits
	counts  []count         // how many times messages were received: not yet stored
	noting  bool            // a receiver is going to store them
	outside bool            // they are stored before messages are handed out
	bodies  int             // total size in bytes of the bodies in memory
	leases  uint64          // how many leases have been granted so far
	offset  time.Duration   // the offset of the machine's clock from the steady one, at the last check
	slept   time.Duration   // how long the machine slept, up to a constant, at the last check
	closed  bool
}

// Bodies kept in memory: small ones, up to a limit; others are read again.
const (
	smallBody = 4 << 10
	allBodies = 32 << 20
)

// lookAgain limits a wait for a due time, because the clock may be set or the machine may sleep.
const lookAgain = time.Second

// queueNames returns the names of all queues; a row with another name would never be received.
func queueNames() []string { return []string{"events", "tasks"} }

// loadQueues builds the indexes from the rows.
func (db *DB) loadQueues(ctx context.Context) error {
	db.queues = map[string]*Queue{}
	for _, name := range queueNames() {
		q := &Queue{db: db, name: name, index: newIndex(), outside: name == "tasks"}
		db.queues[name] = q
		err := db.read(ctx, func(c *conn) error {
			return c.Query(func(r *row) {
				m := &message{row: r.ID(), id: r.Text(), group: r.Text(), due: r.Time(), count: r.Int(), begun: r.Text(), size: r.Int()}
				m.past = m.count
				q.remember(m, r.Blob())
				q.index.reserve(m)
				now := q.look()
				m.free = q.freeAt(m.due)
				q.index.publish(m, now)
				db.message.Store(max(db.message.Load(), m.row))
			}, "SELECT id, unique_name, message_group, due, receive_count, begun, length(body), CASE WHEN length(body) <= ? THEN body END"+
				" FROM queued_messages WHERE queue = ? ORDER BY id", smallBody, name)
		})
		if err != nil {
			return fmt.Errorf("load queue %s: %w", name, err)
		}
	}
	return nil
}

// remember keeps a body in memory if the limits allow it.
func (q *Queue) remember(m *message, body []byte) {
	if m.size <= smallBody && q.bodies+m.size <= allBodies {
		m.body, m.kept = body, true
		q.bodies += m.size
	}
}

// Traits implements host.Queue: this queue stores its messages together with the records that they are about, and
// delivers them exactly on time.
func (q *Queue) Traits() host.Traits { return host.Traits{} }

// Send adds messages: see host.Queue.
func (q *Queue) Send(ctx context.Context, messages ...host.Message) error {
	if len(messages) == 0 {
		return ctx.Err()
	}
	s := q.sending(messages...)
	return q.db.writer.do(ctx, &write{whole: len(messages) == 1, run: s.run, after: s.after, undo: s.undo})
}

// sending is a Send as part of a transaction: its three functions are the functions of a write.
type sending struct {
	q        *Queue
	messages []host.Message
	reserved []*message
}

func (q *Queue) sending(messages ...host.Message) *sending { return &sending{q: q, messages: messages} }

// run stores new messages. The IDs are reserved from here on, so that if two callers send the same message at once, one
// waits for the other's commit because it is in the same batch.
func (s *sending) run(c *conn) error {
	s.reserve()
	for _, m := range s.reserved {
		if _, err := c.Exec("INSERT INTO queued_messages (id, queue, unique_name, message_group, due, body) VALUES (?, ?, ?, ?, ?, ?)",
			m.row, s.q.name, m.id, m.group, m.due, m.body); err != nil {
			return fmt.Errorf("send message %s: %w", m.id, err)
		}
	}
	return nil
}

func (s *sending) reserve() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	for _, m := range s.messages {
		if s.q.index.has(m.ID) {
			continue
		}
		n := &message{row: s.q.db.message.Add(1), id: m.ID, group: m.Group, due: m.Due.Truncate(time.Microsecond), waits: m.Relative, body: m.Body, size: len(m.Body)}
		s.q.index.reserve(n)
		s.reserved = append(s.reserved, n)
	}
}

func (s *sending) after() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	now := s.q.look()
	for _, m := range s.reserved {
		body := m.body
		m.body, m.free = nil, s.q.freeAt(m.due)
		s.q.remember(m, body)
		s.q.index.publish(m, now)
	}
	s.q.wake(now)
}

func (s *sending) undo() {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	for _, m := range s.reserved {
		s.q.index.forget(m)
	}
	s.reserved = nil
}

// Receive waits for messages and leases them: see host.Queue.
func (q *Queue) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list, wait, err := q.lease(n, lease)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && q.outside {
			if err := q.noted(ctx, list); err != nil {
				return nil, err
			}
		}
		if len(list) > 0 {
			return q.deliver(ctx, list)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			q.leave(wait)
			return nil, ctx.Err()
		}
	}
}

// leased is a message in the state in which it was leased.
type leased struct {
	host.Delivery
	m    *message
	kept bool
}

// lease takes up to n messages or, if there are none, a place in line among the waiting receivers.
func (q *Queue) lease(n int, lease time.Duration) ([]leased, chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, fmt.Errorf("receive: %w: the database is closed", host.ErrUnavailable)
	}
	now := q.look()
	q.index.surface(now)
	var list []leased
	for m := q.index.take(now.Add(lease)); m != nil; m = q.index.take(now.Add(lease)) {
		q.leases++
		again := m.past > 0 && m.count == m.past
		m.receipt = q.leases
		m.count++
		list = append(list, leased{m: m, kept: m.kept, Delivery: host.Delivery{Receipt: receipt(m), Count: m.count, Restarted: again, Crashed: again && q.db.crashed, Begun: m.begun,
			Message: host.Message{ID: m.id, Group: m.group, Body: m.body, Due: m.due}}})
		q.note(m)
		if len(list) >= n {
			break
		}
	}
	if len(list) > 0 {
		q.wake(now) // there may be more messages for others
		return list, nil, nil
	}
	wait := make(chan struct{})
	q.waiters = append(q.waiters, wait)
	q.arm(now)
	return nil, wait, nil
}

// receipt identifies one lease of one message: the row finds the message, and the lease's number is the proof.
func receipt(m *message) string {
	return strconv.FormatInt(m.row, 10) + "." + strconv.FormatUint(m.receipt, 10)
}

// deliver adds the bodies that are not in memory. If that fails, the leases are given up.
func (q *Queue) deliver(ctx context.Context, list []leased) ([]host.Delivery, error) {
	out := make([]host.Delivery, len(list))
	for i, l := range list {
		if !l.kept {
			err := q.db.read(ctx, func(c *conn) error {
				return c.Query(func(r *row) { l.Body = r.Blob() }, "SELECT body FROM queued_messages WHERE id = ?", l.m.row)
			})
			if err != nil {
				q.giveBack(list)
				return nil, fmt.Errorf("read message %s: %w", l.ID, err)
			}
		}
		out[i] = l.Delivery
	}
	return out, nil
}

func (q *Queue) giveBack(list []leased) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.look()
	for _, l := range list {
		if q.index.held(l.Delivery, now) != nil {
			q.index.unlease(l.m, now)
		}
	}
	q.wake(now)
}

// Extend prolongs a lease: see host.Queue.
func (q *Queue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.look()
	m := q.index.held(d, now)
	if m == nil {
		return host.ErrLeaseLost
	}
	q.index.extend(m, now.Add(lease))
	return ctx.Err()
}

// Begin implements host.Marker. It returns after the commit, so a command that ends this process in its first
// millisecond has been recorded.
func (q *Queue) Begin(ctx context.Context, d host.Delivery, name string, _ host.Entry) (flagged bool, err error) {
	attempt, _, err := host.ParseMessageID(d.ID)
	if err != nil {
		return false, err
	}
	m := q.heldBy(d)
	if m == nil {
		return false, host.ErrLeaseLost
	}
	look := func(c *conn) error {
		flagged = false
		return c.Query(func(r *row) { flagged = r.Int()&sqlstore.Canceled != 0 }, "SELECT state_flags FROM session_attempts WHERE id = ?", attempt)
	}
	if name == "" {
		err = q.db.read(ctx, look)
		return flagged, err
	}
	err = q.db.writer.do(ctx, &write{whole: true,
		run: func(c *conn) error {
			if _, err := c.Exec("UPDATE queued_messages SET begun = ? WHERE id = ?", name, m.row); err != nil {
				return err
			}
			return look(c)
		},
		after: func() { q.began(m, name) },
	})
	return flagged, err
}

func (q *Queue) heldBy(d host.Delivery) *message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.index.held(d, q.look())
}

func (q *Queue) began(m *message, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.begun = name
}

// Delete removes a message: see host.Queue. If the message has no group, no caller waits for the commit: it happens
// with the next commit, which usually records that the next message was received.
func (q *Queue) Delete(ctx context.Context, d host.Delivery) error {
	if d.Group == "" {
		if m := q.hold(d); m != nil {
			q.deleteSoon(m)
		}
		return ctx.Err()
	}
	var m *message
	return q.db.writer.do(ctx, &write{whole: true,
		run: func(c *conn) error {
			if m = q.hold(d); m == nil {
				return nil
			}
			_, err := c.Exec("DELETE FROM queued_messages WHERE id = ?", m.row)
			return err
		},
		after: func() { q.deleted(m) },
		undo:  func() { q.unhold(m) },
	})
}

// deleteSoon deletes a leased message. If the process ends before that, the message is redelivered, and the log shows
// that it is finished.
func (q *Queue) deleteSoon(m *message) {
	_ = q.db.writer.later(&write{whole: true, lasting: true, // if it is not added, the message still exists when the database is reopened
		run: func(c *conn) error {
			_, err := c.Exec("DELETE FROM queued_messages WHERE id = ?", m.row)
			return err
		},
		after: func() { q.deleted(m) },
		settled: func(err error) {
			if err != nil && !errors.Is(err, host.ErrUnavailable) {
				q.unhold(m) // it is redelivered, like a message whose deletion failed
			}
		},
	})
}

// hold keeps a leased message from being leased again until it is known whether the change was committed. It returns
// nil if the lease is lost.
func (q *Queue) hold(d host.Delivery) *message {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.index.held(d, q.look())
	if m != nil {
		q.index.hold(m)
	}
	return m
}

func (q *Queue) unhold(m *message) {
	if m == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.index.unhold(m)
	q.wake(q.look())
}

func (q *Queue) deleted(m *message) {
	if m == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.kept {
		q.bodies -= m.size
	}
	now := q.look()
	q.index.remove(m, now)
	q.wake(now)
}

// Release gives a message back: see host.Queue. Leases are in memory, so the message is redelivered even if the release
// cannot be stored (a full disk): only the delay is lost in a restart.
func (q *Queue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	due := sqlstore.Stamp(q.db.now()).Add(delay)
	err := q.release(ctx, d, due, delay)
	if errors.Is(err, host.ErrUnavailable) {
		q.released(q.hold(d), due, delay)
		return nil
	}
	return err
}

func (q *Queue) release(ctx context.Context, d host.Delivery, due time.Time, delay time.Duration) error {
	var m *message
	return q.db.writer.do(ctx, &write{whole: true,
		run: func(c *conn) error {
			if m = q.hold(d); m == nil {
				return nil
			}
			_, err := c.Exec("UPDATE queued_messages SET due = ? WHERE id = ?", due, m.row)
			return err
		},
		after: func() { q.released(m, due, delay) },
		undo:  func() { q.unhold(m) },
	})
}

func (q *Queue) released(m *message, due time.Time, delay time.Duration) {
	if m == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.look()
	m.due, m.free, m.waits = due, now.Add(delay), true
	q.index.unlease(m, now)
	q.wake(now)
}
