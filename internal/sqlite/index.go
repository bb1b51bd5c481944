package sqlite

import (
	"container/heap"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/host"
)

// message is the in-memory record of a row in queued_messages.
type message struct {
	row   int64 // increases in the order sent
	id    string
	group string
	due   time.Time
	sent  time.Time // by the steady clock; for older messages, when this process loaded them
	free  time.Time // when it can be received, by the steady clock
	waits bool      // its time is relative to sent: see host.Message.Relative
	count int
	past  int // how many times earlier processes received it
	begun string
	size  int
	body  []byte
	kept  bool // body holds its body; otherwise it must be read

	receipt uint64    // the receipt of its lease; 0: not leased
	until   time.Time // end of the lease
	busy    bool      // a change to it is being committed
	heap    *messages // the heap that contains it, if any
	at      int       // its position in the heap
	behind  *message  // the next message of its group
}

// index finds the next message, in time O(log n). Its times come from the steady clock. Only the first message of a
// group, its head, is visible: the others wait behind it.
type index struct {
	byID   map[string]*message
	byRow  map[int64]*message
	groups map[string]*line
	ready  messages // visible, in the order sent
	later  messages // not due yet, by time
	leased messages // by the end of the lease
}

// line is a group's messages in the order sent.
type line struct{ head, tail *message }

func newIndex() index {
	x := index{byID: map[string]*message{}, byRow: map[int64]*message{}, groups: map[string]*line{}}
	x.ready.less = func(a, b *message) bool { return a.row < b.row }
	x.later.less = func(a, b *message) bool { return a.free.Before(b.free) || a.free.Equal(b.free) && a.row < b.row }
	x.leased.less = func(a, b *message) bool { return a.until.Before(b.until) || a.until.Equal(b.until) && a.row < b.row }
	return x
}

func (x *index) has(id string) bool { return x.byID[id] != nil }
func (x *index) visible() int       { return len(x.ready.list) }

// reserve takes the id of a message that is being sent.
func (x *index) reserve(m *message) { x.byID[m.id] = m }

// forget cancels a reservation.
func (x *index) forget(m *message) { delete(x.byID, m.id) }

// publish makes a stored message available to receivers.
func (x *index) publish(m *message, now time.Time) {
	x.byRow[m.row] = m
	m.sent = now
	if m.group == "" {
		x.place(m, now)
		return
	}
	l := x.groups[m.group]
	if l == nil {
		x.groups[m.group] = &line{m, m}
		x.place(m, now)
		return
	}
	l.tail.behind = m
	l.tail = m
}

// place puts an unleased message that is the first of its group into the right heap.
func (x *index) place(m *message, now time.Time) {
	if m.free.After(now) {
		x.later.push(m)
	} else {
		x.ready.push(m)
	}
}

// surface makes messages visible that are due or whose lease has ended.
func (x *index) surface(now time.Time) {
	for m := x.later.first(); m != nil && !m.free.After(now); m = x.later.first() {
		x.later.remove(m)
		x.ready.push(m)
	}
	for m := x.leased.first(); m != nil && !m.until.After(now); m = x.leased.first() {
		x.unlease(m, now)
	}
}

// next returns the time until surface will find a message.
func (x *index) next(now time.Time) (wait time.Duration, any bool) {
	if m := x.later.first(); m != nil {
		wait, any = m.free.Sub(now), true
	}
	if m := x.leased.first(); m != nil && (!any || m.until.Sub(now) < wait) {
		wait, any = m.until.Sub(now), true
	}
	return max(wait, 0), any
}

// shift moves the times of messages after the machine's clock was set or the machine slept: by waits for messages with
// Message.Relative, and by due for all others. Leases stay as they are, because their holders also slept.
func (x *index) shift(due, waits time.Duration) {
	for _, m := range x.later.list { // messages that were due stay due
		if m.waits {
			m.free = m.free.Add(waits)
		} else {
			m.free = m.free.Add(due)
		}
	}
	heap.Init(&x.later)
}

// take leases the first visible message; the caller gives it a receipt.
func (x *index) take(until time.Time) *message {
	m := x.ready.first()
	if m != nil {
		x.ready.remove(m)
		m.until = until
		x.leased.push(m)
	}
	return m
}

// held returns the message of a valid lease, or nil if the lease is lost.
func (x *index) held(d host.Delivery, now time.Time) *message {
	left, right, _ := strings.Cut(d.Receipt, ".")
	id, err := strconv.ParseInt(left, 10, 64)
	if err != nil {
		return nil
	}
	lease, err := strconv.ParseUint(right, 10, 64)
	if err != nil || lease == 0 {
		return nil
	}
	m := x.byRow[id]
	if m == nil || m.receipt != lease || m.busy || !m.until.After(now) {
		return nil
	}
	return m
}

func (x *index) extend(m *message, until time.Time) {
	x.leased.remove(m)
	m.until = until
	x.leased.push(m)
}

// unlease ends a lease; the message can be received again when it is due.
func (x *index) unlease(m *message, now time.Time) {
	if m.heap == &x.leased {
		x.leased.remove(m)
	}
	m.receipt, m.busy = 0, false
	x.place(m, now)
}

// hold takes a leased message out of the heaps so that its lease cannot end; unhold reverses that.
func (x *index) hold(m *message) {
	x.leased.remove(m)
	m.busy = true
}

// withdraw takes a message out of the heaps, unless it is leased or not in any.
func (x *index) withdraw(m *message) bool {
	if m.heap != &x.ready && m.heap != &x.later {
		return false
	}
	m.heap.remove(m)
	m.busy = true
	return true
}

func (x *index) unhold(m *message) {
	m.busy = false
	x.leased.push(m)
}

// remove forgets a held message; the next one of its group becomes the first.
func (x *index) remove(m *message, now time.Time) {
	delete(x.byID, m.id)
	delete(x.byRow, m.row)
	if m.group == "" {
		return
	}
	if m.behind == nil {
		delete(x.groups, m.group)
		return
	}
	x.groups[m.group].head = m.behind
	x.place(m.behind, now)
}

// messages is a heap; every message records its place in it.
type messages struct {
	list []*message
	less func(a, b *message) bool
}

func (h *messages) Len() int           { return len(h.list) }
func (h *messages) Less(i, j int) bool { return h.less(h.list[i], h.list[j]) }
func (h *messages) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].at, h.list[j].at = i, j
}

// Push implements heap.Interface.
func (h *messages) Push(m any) {
	m.(*message).at = len(h.list)
	h.list = append(h.list, m.(*message))
}

// Pop implements heap.Interface.
func (h *messages) Pop() any {
	last := len(h.list) - 1
	m := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return m
}

func (h *messages) first() *message {
	if len(h.list) == 0 {
		return nil
	}
	return h.list[0]
}

func (h *messages) push(m *message) {
	m.heap = h
	heap.Push(h, m)
}

func (h *messages) remove(m *message) {
	m.heap = nil
	heap.Remove(h, m.at)
}
