package node_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// simStore is a store in memory, for one goroutine at a time. What it returns is correct; the simulation decides which
// calls fail before or after they reach it.
type simStore struct {
	*sim
	defs      map[int64]host.Workflow
	compiled  map[int64]*engine.Definition
	rows      []*host.Attempt // by id - 1
	logs      map[int64][]host.Entry
	truth     map[int64]*engine.State // according to the log
	archives  map[int64][]byte
	schedules []host.Schedule
	queues    map[string]*simQueue
}

type simQueue struct {
	*simStore
	name string
	list []*simMessage
	sent int // messages so far
}

type simMessage struct {
	host.Message
	count int
	first time.Time // when it was first received
	due   time.Time
	until time.Time // end of the lease
	held  *coroutine
	lease int
	sure  bool // its holder extends the lease for as long as it lives
	// number distinguishes it from other messages with the same ID.
	number int
}

func (m *simMessage) receipt() string { return fmt.Sprintf("%d.%d", m.number, m.lease) }

func (m *simMessage) received(now time.Time) {
	m.count++
	m.lease++
	if m.first.IsZero() {
		m.first = now
	}
}

func (st *simStore) row(id int64) *host.Attempt {
	if id < 1 || int(id) > len(st.rows) {
		return nil
	}
	return st.rows[id-1]
}

// Append implements host.Log.
func (st *simStore) Append(ctx context.Context, attempt int64, e host.Entry) error {
	return st.call(ctx, fmt.Sprintf("append %d/%d", attempt, e.Seq), func() error {
		log := st.logs[attempt]
		switch n := int64(len(log)); {
		case n == 0:
			return host.ErrNotFound
		case e.Seq <= n && log[e.Seq-1].Nonce == e.Nonce:
			return nil
		case e.Seq <= n:
			return host.ErrConflict
		case e.Seq > n+1 && st.phantoms > 0:
			return fmt.Errorf("entry %d is not there", e.Seq-1)
		case e.Seq > n+1:
			st.fail("entry %d of attempt %d is appended to %d entries", e.Seq, attempt, n)
		}
		if e.At.Before(log[len(log)-1].At) {
			st.fail("entry %d of attempt %d goes back in time", e.Seq, attempt)
		}
		st.logs[attempt] = append(log, e)
		st.checkEntry(attempt, e)
		st.checkCovered(attempt, fmt.Sprintf("entry %d", e.Seq))
		return nil
	})
}

// Load implements host.Log.
func (st *simStore) Load(ctx context.Context, attempt int64) (s host.Stored, err error) {
	err = st.call(ctx, fmt.Sprintf("load %d", attempt), func() error {
		log := st.logs[attempt]
		if len(log) == 0 {
			return host.ErrNotFound
		}
		s = host.Stored{Entries: log}
		for i := range log {
			if log[i].Snapshot != nil {
				s = host.Stored{Snapshot: log[i].Snapshot, At: log[i].Seq, Entries: log[i+1:]}
			}
		}
		return nil
	})
	return s, err
}

// History implements host.Log.
func (st *simStore) History(ctx context.Context, attempt, first int64, n int) (s host.Stored, err error) {
	err = st.call(ctx, fmt.Sprintf("history %d", attempt), func() error {
		s.Entries = st.logs[attempt][first-1:][:n]
		return nil
	})
	return s, err
}

// Traits implements host.Queue.
func (q *simQueue) Traits() host.Traits {
	return host.Traits{StaleDeletes: q.loose && q.name == "tasks"}
}

// Send implements host.Queue.
func (q *simQueue) Send(ctx context.Context, messages ...host.Message) error {
	return q.call(ctx, fmt.Sprintf("send %s %d", messages[0].ID, len(messages)), func() error {
		for _, m := range messages {
			q.put(m)
			wait, since := m.Due.Sub(q.wall()), ctx.Value(coroutineKey{}).(*coroutine).number > q.before
			if m.Relative && since && wait > longestWait {
				q.fail("message %s waits %v, no task that long", m.ID, wait)
			}
		}
		return nil
	})
}

func (q *simQueue) put(m host.Message) {
	if !slices.ContainsFunc(q.list, func(x *simMessage) bool { return x.ID == m.ID }) {
		q.sent++
		n := &simMessage{Message: m, number: q.sent}
		if !m.Due.IsZero() {
			n.due = m.Due.Add(-q.set)
		}
		q.list = append(q.list, n)
	}
}

// longestWait is longer than any task waits for its next run.
const longestWait = 30 * time.Minute

// Receive implements host.Queue; the simulation hands messages out itself.
func (q *simQueue) Receive(context.Context, int, time.Duration) ([]host.Delivery, error) {
	panic("not used")
}

// ready lists the messages that can be received now.
func (q *simQueue) ready() []*simMessage {
	var list []*simMessage
	groups := map[string]bool{}
	for _, m := range q.list {
		if m.held != nil && (m.held.over || m.held.process.dead) {
			m.sure = false
		}
		free := m.held == nil || !m.sure && !q.now.Before(m.until)
		if m.Group == "" || !groups[m.Group] {
			if free && !m.due.After(q.now) {
				list = append(list, m)
			}
		}
		groups[m.Group] = true
	}
	return list
}

// behind lists a message and the next free messages of its group, up to five.
func (q *simQueue) behind(first *simMessage) []*simMessage {
	if first.Group == "" {
		return nil
	}
	list := []*simMessage{first}
	for _, m := range q.list[slices.Index(q.list, first)+1:] {
		if m.Group != first.Group {
			continue
		}
		free := m.held == nil || !m.sure && !q.now.Before(m.until)
		if !free || m.due.After(q.now) || len(list) == 5 {
			break
		}
		list = append(list, m)
	}
	return list
}

// holds finds a message by a receipt that still counts.
func (q *simQueue) holds(d host.Delivery) *simMessage {
	for _, m := range q.list {
		if m.ID == d.ID && d.Receipt == m.receipt() && m.held != nil && (m.sure || q.now.Before(m.until)) {
			return m
		}
	}
	return nil
}

// there finds a message by any receipt that it ever had. Another message with the same ID has different receipts.
func (q *simQueue) there(d host.Delivery) *simMessage {
	number, _, _ := strings.Cut(d.Receipt, ".")
	for _, m := range q.list {
		if m.ID == d.ID && strconv.Itoa(m.number) == number {
			return m
		}
	}
	return nil
}

// Extend implements host.Queue.
func (q *simQueue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	return q.callFree(ctx, "extend "+d.ID, func() error {
		m := q.holds(d)
		if m == nil {
			return host.ErrLeaseLost
		}
		m.until = q.now.Add(lease)
		return nil
	})
}

// Delete implements host.Queue.
func (q *simQueue) Delete(ctx context.Context, d host.Delivery) error {
	return q.callFree(ctx, "delete "+d.ID, func() error {
		m := q.holds(d)
		if m == nil && q.loose && q.name == "tasks" {
			m = q.there(d)
		}
		if m != nil {
			q.list = slices.DeleteFunc(q.list, func(x *simMessage) bool { return x == m })
			prefix, _, _ := strings.Cut(d.ID, "/")
			id, _ := strconv.ParseInt(prefix, 10, 64)
			q.checkCovered(id, "the delete of "+d.ID)
		}
		return nil
	})
}

// MessagesOf implements host.Inventory.
func (st *simStore) MessagesOf(ctx context.Context, attempt int64) (list []host.Message, err error) {
	err = st.call(ctx, fmt.Sprintf("messages of %d", attempt), func() error {
		list = st.messagesOf(attempt)
		return nil
	})
	return list, err
}

// HeldOf implements host.Inventory.
func (st *simStore) HeldOf(context.Context, int64) ([]host.Held, error) { return nil, nil }

// Discard implements host.Inventory.
func (st *simStore) Discard(ctx context.Context, attempt int64) error {
	return st.call(ctx, fmt.Sprintf("discard messages of %d", attempt), func() error {
		q := st.queues["tasks"]
		q.list = slices.DeleteFunc(q.list, func(m *simMessage) bool { return strings.HasPrefix(m.ID, fmt.Sprint(attempt, "/")) && m.held == nil })
		return nil
	})
}

func (st *simStore) messagesOf(attempt int64) (list []host.Message) {
	for _, name := range []string{"events", "tasks"} {
		for _, m := range st.queues[name].list {
			if strings.HasPrefix(m.ID, fmt.Sprint(attempt, "/")) {
				list = append(list, m.Message)
			}
		}
	}
	return list
}

// Silent implements host.Inventory.
func (st *simStore) Silent(_ context.Context, after int64, n int) (list []int64, err error) {
	for _, a := range st.rows {
		moved := slices.ContainsFunc(st.messagesOf(a.ID), func(m host.Message) bool {
			_, guard, _ := host.ParseMessageID(m.ID)
			return !host.IsDeadline(guard)
		})
		if a.ID > after && !a.Done && a.AfterSession == 0 && !a.Paused && !moved && len(list) < n {
			list = append(list, a.ID)
		}
	}
	return list, nil
}

// Release implements host.Queue.
func (q *simQueue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	return q.callFree(ctx, "release "+d.ID, func() error {
		if m := q.holds(d); m != nil {
			m.held, m.due = nil, q.now.Add(delay)
		}
		return nil
	})
}

// Start implements host.Attempts.
func (st *simStore) Start(ctx context.Context, list ...host.NewAttempt) (made []host.Attempt, err error) {
	err = st.callFree(ctx, fmt.Sprintf("start %d", len(list)), func() error {
		made = nil
		for _, n := range list {
			for _, a := range slices.Backward(st.rows) {
				if a.Workflow.ID == n.Workflow.ID && a.SessionTime.Equal(n.SessionTime) && a.RetryName == n.RetryName {
					made = []host.Attempt{*a}
					return host.ErrConflict
				}
			}
		}
		for _, n := range list {
			made = append(made, st.insert(n, made))
		}
		return nil
	})
	return made, err
}

func (st *simStore) insert(n host.NewAttempt, made []host.Attempt) host.Attempt {
	id := int64(len(st.rows) + 1)
	session := id
	for _, a := range st.rows {
		if a.Workflow.ID == n.Workflow.ID && a.SessionTime.Equal(n.SessionTime) {
			session = a.SessionID
		}
	}
	a := &host.Attempt{ID: id, SessionID: session, SessionUUID: fmt.Sprint("uuid", session), SessionTime: n.SessionTime, Project: n.Project,
		Workflow: n.Workflow, RetryName: n.RetryName, Zone: n.Zone, Params: n.Params, CreatedAt: n.CreatedAt}
	st.rows = append(st.rows, a)
	if n.WaitsFor >= 0 {
		a.AfterSession = made[n.WaitsFor].SessionID
	} else {
		st.enter(id, n.First, n.Message)
	}
	return *a
}

func (st *simStore) enter(id int64, first host.Entry, m host.Message) {
	st.logs[id] = []host.Entry{first}
	st.truth[id] = engine.New(st.compiled[st.row(id).Workflow.ID], nil)
	st.checkEntry(id, first)
	m.Group = strconv.FormatInt(id, 10)
	m.ID = m.Group + "/" + m.ID
	st.queues["events"].put(m)
}

// Begin implements host.Attempts.
func (st *simStore) Begin(ctx context.Context, id int64, first host.Entry, m host.Message) error {
	return st.call(ctx, fmt.Sprintf("begin %d", id), func() error {
		a := st.row(id)
		if a.AfterSession == 0 || a.Done {
			return host.ErrConflict
		}
		for _, b := range st.rows {
			if b.SessionID == a.AfterSession && !b.Done {
				st.fail("attempt %d begins before %d is over", id, b.ID)
			}
		}
		a.AfterSession = 0
		st.enter(id, first, m)
		return nil
	})
}

// Attempt implements host.Attempts.
func (st *simStore) Attempt(ctx context.Context, _, id int64) (a host.Attempt, err error) {
	err = st.call(ctx, fmt.Sprintf("read %d", id), func() error {
		row := st.row(id)
		if row == nil {
			return host.ErrNotFound
		}
		a = *row
		return nil
	})
	return a, err
}

// Cancel implements host.Attempts.
func (st *simStore) Cancel(ctx context.Context, id int64) error {
	return st.callFree(ctx, fmt.Sprintf("cancel %d", id), func() error {
		if a := st.row(id); !a.Done {
			a.Canceled = true
		}
		return nil
	})
}

// SetPaused implements host.Attempts.
func (st *simStore) SetPaused(ctx context.Context, id int64, paused bool) error {
	return st.callFree(ctx, fmt.Sprintf("pause %d", id), func() error {
		if a := st.row(id); !a.Done {
			a.Paused = paused
		}
		return nil
	})
}

// Finish implements host.Attempts.
func (st *simStore) Finish(ctx context.Context, id int64, e host.End) error {
	return st.call(ctx, fmt.Sprintf("finish %d", id), func() error {
		a := st.row(id)
		if a.Done {
			return nil
		}
		a.Done, a.Success, a.Canceled, a.FinishedAt = true, e.Success, a.Canceled || e.Canceled, e.At
		st.archives[id] = e.Archive
		st.checkEnd(a, e)
		return nil
	})
}

// Import adds nothing: the simulation is about attempts that run here.
func (st *simStore) Import(context.Context, ...host.PastAttempt) (int, error) { return 0, nil }

// Archive implements host.Attempts.
func (st *simStore) Archive(_ context.Context, id int64) ([]byte, error) { return st.archives[id], nil }

// Expire implements host.Attempts.
func (st *simStore) Expire(context.Context, time.Time, int) (int, error) { return 0, nil }

// nextTime returns when the next message or coroutine is due.
func (st *simStore) nextTime() (next time.Time) {
	earlier := func(t time.Time) {
		if t.After(st.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, name := range []string{"events", "tasks"} {
		for _, m := range st.queues[name].list {
			earlier(m.due)
			if m.held != nil && !m.sure {
				earlier(m.until)
			}
		}
	}
	for _, c := range st.coroutines {
		earlier(c.wake)
	}
	for _, s := range st.schedules {
		earlier(s.Times.Run.Add(-st.set))
	}
	return next
}
