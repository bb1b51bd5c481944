package node_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// How long calls approximately take in a deployment on AWS.
const (
	readTime = 20 * time.Millisecond // a page of an index with its rows, or a log
	sendTime = 10 * time.Millisecond // ten messages
)

// manySchedules is a store of schedules that are due in the same minute and are read in batches.
type manySchedules struct {
	schedules
	n, part int
	due     time.Time
	reads   atomic.Int64
}

func (m *manySchedules) EachDue(_ context.Context, _, _ time.Time, do func([]host.Schedule) error) error {
	for id := 0; id < m.n; {
		var list []host.Schedule
		for ; len(list) < m.part && id < m.n; id++ {
			at := m.due.Add(time.Duration(id*60/m.n) * time.Second)
			list = append(list, host.Schedule{ID: int64(id + 1), Times: host.Times{Run: at, Session: at}})
		}
		time.Sleep(readTime)
		m.reads.Add(1)
		if err := do(list); err != nil {
			return err
		}
	}
	return nil
}

// countingQueue takes some time for each message and counts them.
type countingQueue struct {
	queue
	messages, calls int
	first           time.Time
}

// queue gives the port a name that differs from its methods' names.
type queue interface{ host.Queue }

func (*countingQueue) Traits() host.Traits {
	return host.Traits{Rounding: 300 * time.Millisecond, Remembers: 4 * time.Minute}
}

func (q *countingQueue) Send(_ context.Context, messages ...host.Message) error {
	if q.first.IsZero() {
		q.first = time.Now()
	}
	n := (len(messages) + 9) / 10
	time.Sleep(time.Duration(n) * sendTime)
	q.messages, q.calls = q.messages+len(messages), q.calls+n
	return nil
}

// TestHandOverMany proves that 100,000 schedules that are due in one minute are handed over within a tick: they are
// sent as they are read, and the horizon moves with them.
func TestHandOverMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &manySchedules{n: 100_000, part: 800, due: began.Add(time.Minute).Truncate(time.Second)}
		q := &countingQueue{}
		n := node.New(node.Options{Ports: host.Ports{Schedules: s, Tasks: q}, FiredByMessages: true})
		moves, last := 0, time.Time{}
		err := n.HandOver(t.Context(), time.Time{}, began.Add(2*time.Minute), func(to time.Time) error {
			if to.Before(last) {
				t.Errorf("the horizon goes back from %v to %v", last, to)
			}
			moves, last = moves+1, to
			return nil
		})
		took := time.Since(began)
		t.Logf("100,000 schedules: %d reads of 800 rows, %d messages in %d calls, %d moves of the horizon; the first message after %v, all after %v (%v a read, %v a call)",
			s.reads.Load(), q.messages, q.calls, moves, q.first.Sub(began), took, readTime, sendTime)
		if err != nil || q.messages < 4000 || q.messages > 4200 || moves != 125 || q.first.Sub(began) > time.Second || took > 20*time.Second {
			t.Errorf("%v; %d messages, %d moves, %v", err, q.messages, moves, took)
		}
	})
}

// manyAttempts is a store of many unfinished attempts.
type manyAttempts struct {
	sessions
	n       int
	created time.Time
	reads   atomic.Int64
}

func (m *manyAttempts) Active(_ context.Context, q host.ActiveQuery) (list []host.Attempt, err error) {
	m.reads.Add(1)
	time.Sleep(readTime)
	for id := q.After + 1; id <= int64(m.n) && len(list) < q.Count; id++ {
		list = append(list, host.Attempt{ID: id, SessionID: id, CreatedAt: m.created})
	}
	return list, nil
}

// begunLogs holds the logs of attempts that have begun.
type begunLogs struct {
	host.Log
	loads atomic.Int64
}

func (l *begunLogs) Load(context.Context, int64) (host.Stored, error) {
	l.loads.Add(1)
	time.Sleep(readTime)
	return host.Stored{Entries: make([]host.Entry, 2)}, nil
}

// TestSweepMany proves that a sweep over 10,000 unfinished attempts, all of them in the hour in which the sweep checks
// whether they have begun, fits into one tick, or into several if the time is too short even for one page: together
// these check the same number.
func TestSweepMany(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{30 * time.Second, 5 * time.Second, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			attempts, logs := &manyAttempts{n: 10_000, created: began.Add(-65 * time.Minute)}, &begunLogs{}
			n := node.New(node.Options{Ports: host.Ports{Sessions: attempts, Log: logs, Events: &countingQueue{}, Tasks: &countingQueue{}, Limits: host.Limits{Looks: 16}}, FiredByMessages: true})
			steps, after, over := 0, int64(0), false
			for ; !over && steps < 1000; steps++ {
				ctx, cancel := context.WithTimeout(t.Context(), step)
				var err error
				if after, over, err = n.Sweep(ctx, after); err != nil {
					t.Fatal(err)
				}
				cancel()
			}
			took := time.Since(began)
			t.Logf("10,000 attempts in steps of %v: %d steps, %d pages, %d logs, %v", step, steps, attempts.reads.Load(), logs.loads.Load(), took)
			if took > 30*time.Second || logs.loads.Load() < 10_000 || logs.loads.Load() > 15_000 || !over {
				t.Errorf("after %v: %d logs, over: %v", took, logs.loads.Load(), over)
			}
		})
	}
}
