package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"zerodag/internal/host"
)

// PostgreSQL reuses the numbers of transactions that a crash has undone, so a number proves nothing about a commit. A
// mark does: it is a random number that the transaction writes into its slot of transaction_marks before anything else.
// It is there afterwards if and only if the transaction was committed on the server that is asked.

const (
	// marksKept is how long the row of an unused slot is kept.
	marksKept = 7 * 24 * time.Hour
	// markTrusted is the age up to which the absence of a mark proves something. A process that was stalled for longer
	// might ask about a row that has been removed.
	markTrusted = 24 * time.Hour
)

// setMark is the first statement of a transaction. No one else writes to the slot while the transaction is open, so it
// never waits. It also limits how long a hanging process can block others with an open transaction.
const setMark = "INSERT INTO @transaction_marks (slot, mark, at) VALUES ($1, $2, " + clock + ") ON CONFLICT (slot) DO UPDATE SET mark = excluded.mark, at = excluded.at" +
	" RETURNING set_config('idle_in_transaction_session_timeout', '30000', true)"

// askMark returns the mark that was last committed in a slot. It writes to the slot on purpose: the write waits for an
// open transaction on the same slot, and its commit waits for the synchronous standbys, which then have all earlier
// commits.
const askMark = "INSERT INTO @transaction_marks (slot, mark, at) VALUES ($1, 0, " + clock + ") ON CONFLICT (slot) DO UPDATE SET at = excluded.at RETURNING mark"

// mark identifies one transaction.
type mark struct {
	slot, number int64
	taken        time.Time
}

// marks holds the slots of this process that no transaction is using.
type marks struct {
	mu   sync.Mutex
	free []int64
}

// take returns a mark for a new transaction.
func (m *marks) take() mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := mark{slot: rand.Int64(), number: 1 + rand.Int64N(1<<62), taken: time.Now().Round(0)} // #nosec G404 -- names, not secrets
	if last := len(m.free) - 1; last >= 0 {
		x.slot, m.free = m.free[last], m.free[:last]
	}
	return x
}

// release lets another transaction use the slot. The transaction must no longer be open on the server.
func (m *marks) release(x mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, x.slot)
}

// settle finds out whether a transaction was committed after its commit went unanswered. It returns nil if it was, and
// cause if it was not and never will be, so that it may be run again.
func (db *DB) settle(ctx context.Context, m mark, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.bound)
	defer cancel()
	ask := db.connTo(ctx, nil).finished(askMark)
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		var found int64
		err := db.pool.QueryRow(ctx, ask, m.slot).Scan(&found)
		switch {
		case err == nil && found == m.number:
			db.marks.release(m)
			for _, q := range db.queues {
				q.wake() // the transaction may have sent messages
			}
			return nil
		case err == nil && time.Now().Round(0).Sub(m.taken) > markTrusted:
			return &doubt{cause}
		case err == nil:
			db.marks.release(m)
			return cause
		}
		if !db.pause(ctx, wait) {
			return &doubt{cause}
		}
	}
}

// sweepMarks removes the rows of unused slots, such as slots of processes that have ended.
func (c *conn) sweepMarks() error {
	_, err := c.Exec("DELETE FROM @transaction_marks WHERE at < "+clock+" - $1", marksKept.Microseconds())
	return err
}

// doubt is the error of a change that may or may not have been made. This package does not repeat it: the host can
// check, and so can callers.
type doubt struct{ cause error }

func (d *doubt) Error() string {
	return "the connection to the database broke during a commit, and whether the commit succeeded cannot be determined: " + d.cause.Error()
}

// Is makes a doubt match host.ErrUnavailable.
func (d *doubt) Is(target error) bool { return target == host.ErrUnavailable }
