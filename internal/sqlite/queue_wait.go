package sqlite

import (
	"slices"
	"time"
)

// wake lets as many receivers check again as there are visible messages. A woken receiver that finds its message gone
// takes a new place in line.
func (q *Queue) wake(now time.Time) {
	for n := q.index.visible(); n > 0 && len(q.waiters) > 0; n-- {
		close(q.waiters[0])
		q.waiters = q.waiters[1:]
	}
	q.arm(now)
}

// leave takes a receiver out of the line. If it was woken in the meantime, another receiver is woken for the message
// that it leaves behind.
func (q *Queue) leave(wait chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiters, wait); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		return
	}
	q.wake(q.look())
}

// arm sets the timer to the time at which the next message becomes visible, if a receiver waits for it.
func (q *Queue) arm(now time.Time) {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	wait, any := q.index.next(now)
	if !any || len(q.waiters) == 0 || q.closed {
		return
	}
	q.timer = time.AfterFunc(min(wait, lookAgain), q.tick)
}

func (q *Queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.surface()
}

// surface makes due messages visible, and wakes the receivers that wait for them. The lock must be held.
func (q *Queue) surface() {
	now := q.look()
	q.index.surface(now)
	q.wake(now)
}

// close wakes all receivers: they find the queue closed.
func (q *Queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.waiters {
		close(w)
	}
	q.waiters = nil
	q.arm(time.Time{})
}

// setBy is the smallest change to the machine's clock that counts as setting it: a smaller one is drift.
const setBy = 100 * time.Millisecond

// look returns the time of the steady clock, which is never set: leases and waits use it. Messages that are due at a
// time on the machine's clock follow that clock. The lock must be held.
func (q *Queue) look() time.Time {
	now := q.db.steady()
	offset, slept := q.db.now().Round(0).Sub(now), time.Duration(0)
	due := q.offset - offset
	waits := min(due, 0) // the machine may have slept
	if q.db.uptime != nil {
		slept = q.db.uptime().Round(0).Sub(now)
		waits = q.slept - slept
	}
	if max(due.Abs(), waits.Abs()) > setBy {
		q.offset, q.slept = offset, slept
		q.index.shift(due, waits)
	}
	return now
}

// freeAt converts a time on the machine's clock to the steady clock. The lock must be held.
func (q *Queue) freeAt(due time.Time) time.Time {
	if due.IsZero() {
		return due
	}
	return due.Round(0).Add(-q.offset)
}
