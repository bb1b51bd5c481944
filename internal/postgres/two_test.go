package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/host/hosttest/suite"
)

// either is a queue spanning two servers: each call goes to one of them.
type either struct{ one, two host.Queue }

func (e either) any() host.Queue {
	if rand.IntN(2) == 0 {
		return e.one
	}
	return e.two
}

func (e either) Traits() host.Traits { return e.one.Traits() }
func (e either) Send(ctx context.Context, messages ...host.Message) error {
	return e.any().Send(ctx, messages...)
}

func (e either) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	return e.any().Receive(ctx, n, lease)
}

func (e either) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	return e.any().Extend(ctx, d, lease)
}

func (e either) Begin(ctx context.Context, d host.Delivery, name string, known host.Entry) (bool, error) {
	return e.any().(host.Marker).Begin(ctx, d, name, known)
}
func (e either) Delete(ctx context.Context, d host.Delivery) error { return e.any().Delete(ctx, d) }
func (e either) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	return e.any().Release(ctx, d, delay)
}

// testTwo runs the suites with ports of two servers on one schema: each reads what the other has written, and both
// share one queue.
func testTwo(t *testing.T, l *lab) {
	absent := absent()
	for _, name := range []string{"Database", "Reopen", "Outage"} {
		absent[name] = "it is about one process (testContract)"
	}
	hosttest.Exercise(t, hosttest.Driver{Absent: absent, Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		l.enter(t)
		o := l.options()
		one, two := open(t, o), open(t, o)
		s := storesOf(one)
		s.Events, s.Tasks = either{one.Queue("events"), two.Queue("events")}, either{one.Queue("tasks"), two.Queue("tasks")}
		s.Log, s.Workflows, s.Sessions, s.Retention, s.Secrets, s.Blobs = two, two, two, two, two, NewBlobs(two)
		s.Logs = readElsewhere{s.Logs, NewLogs(two, LogOptions{})}
		run(t, s)
	}})
}

// readElsewhere writes logs with one server and reads them with another.
type readElsewhere struct {
	host.Logs
	by host.Logs
}

func (r readElsewhere) Files(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	return r.by.Files(ctx, a, prefix)
}

// testFaults has a process that crashes repeatedly write a log and work through a queue, over a store that refuses
// calls, loses responses and adds delays: in the end, everything has been done exactly once.
func testFaults(t *testing.T, l *lab) {
	db := l.fresh(t)
	a := setScene(t, db).start(t, db)
	f := faults.New(1, faults.Rates{Refuse: .05, LoseAnswer: .1, Delay: .1, Conflict: .1, Drop: .05, Duplicate: .1, Reorder: .1,
		CrashBefore: .02, CrashAfter: .02, MaxDelay: 5 * time.Millisecond})
	p := f.Process()
	done := func(err error) bool {
		if errors.Is(err, faults.ErrCrashed) {
			p = f.Process()
		}
		return err == nil
	}
	for seq := int64(2); seq < 60; {
		if done(p.Log(db).Append(t.Context(), a.ID, host.Entry{Seq: seq, Nonce: "n"})) {
			seq++
		}
	}
	for i := 0; i < 40; {
		if done(p.Queue("tasks", db.Queue("tasks")).Send(t.Context(), host.Message{ID: fmt.Sprint(i)})) {
			i++
		}
	}
	for of, q := p, p.Queue("tasks", db.Queue("tasks")); number(t, db, "SELECT count(*) FROM @queued_messages WHERE queue = 2") > 0; {
		if of != p {
			of, q = p, p.Queue("tasks", db.Queue("tasks"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		list, err := q.Receive(ctx, 1, 200*time.Millisecond)
		cancel()
		if done(err) {
			done(q.Delete(t.Context(), list[0]))
		}
	}
	if l, err := db.Load(t.Context(), a.ID); err != nil || len(l.Entries) != 59 {
		t.Errorf("the log has %d entries, want 59 (%v)", len(l.Entries), err)
	}
	for _, kind := range []string{"Refuse", "LoseAnswer", "Conflict", "Drop", "Duplicate", "CrashAfter"} {
		if f.Injected()[kind] == 0 {
			t.Errorf("no fault of kind %s", kind)
		}
	}
}

// testGroups has several senders add to the same groups on two servers while both receive: only one message of a group
// is leased at a time, messages of one sender arrive in the order sent, and none is left behind. No poll helps here.
func testGroups(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.poll = time.Hour
	servers := []*DB{open(t, o), open(t, o)}
	ctx, over := context.WithTimeout(t.Context(), 40*time.Second)
	defer over()
	const senders, each, groups = 4, 60, 3
	var sending, receiving sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range each {
				group := fmt.Sprint(rand.IntN(groups))
				if err := servers[sender%2].Queue("events").Send(ctx, host.Message{ID: fmt.Sprintf("%d %03d", sender, i), Group: group, Body: []byte(group)}); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	var mu sync.Mutex
	held, last, left := map[string]string{}, map[string]string{}, senders*each
	take := func(d host.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if other := held[d.Group]; other != "" {
			t.Errorf("message %s of group %s is received while %s is held", d.ID, d.Group, other)
		}
		from := d.Group + " of " + d.ID[:1]
		if d.ID < last[from] {
			t.Errorf("message %s of group %s comes after %s", d.ID, d.Group, last[from])
		}
		held[d.Group], last[from] = d.ID, d.ID
	}
	for receiver := range 4 {
		q := servers[receiver%2].Queue("events")
		receiving.Go(func() {
			for {
				list, err := q.Receive(ctx, 2, time.Hour)
				if err != nil {
					return
				}
				for _, d := range list {
					take(d)
				}
				for _, d := range list {
					mu.Lock()
					delete(held, d.Group)
					mu.Unlock()
					if err := q.Delete(ctx, d); err != nil {
						t.Errorf("delete: %v", err)
					}
					mu.Lock()
					if left--; left == 0 {
						over()
					}
					mu.Unlock()
				}
			}
		})
	}
	sending.Wait()
	receiving.Wait()
	if left != 0 {
		t.Errorf("%d messages are left behind", left)
	}
}

// testLeaving proves that receivers that leave at any moment take no message with them: others can receive all messages
// at once.
func testLeaving(t *testing.T, l *lab) {
	db := l.fresh(t)
	q := db.Queue("tasks")
	const messages = 20
	for i := range messages {
		if err := q.Send(t.Context(), host.Message{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	left := 0
	for i := 0; i < 300 || left == i; i++ { // the first receivers leave too early to get a message, the last one gets it
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		list, err := q.Receive(ctx, 2, time.Hour)
		cancel()
		if err != nil {
			left++
		}
		for _, d := range list {
			if err := q.Release(t.Context(), d, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := number(t, db, "SELECT count(*) FROM @queued_messages WHERE receipt = 0"); n != messages {
		t.Errorf("%d of %d messages are free", n, messages)
	}
}

// testKilled proves that when the lease of a killed server ends, another server receives the leased messages, although
// no notification is sent then.
func testKilled(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.poll = 200 * time.Millisecond
	other := open(t, o)
	got := make(chan host.Delivery, 1)
	var all sync.WaitGroup
	killed, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Queue("tasks").Send(t.Context(), host.Message{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	first, err := killed.Queue("tasks").Receive(t.Context(), 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { // it has waited since before the lease ends
		list, err := other.Queue("tasks").Receive(t.Context(), 1, time.Hour)
		if err != nil {
			t.Error(err)
			return
		}
		got <- list[0]
	})
	killed.Close() // to the others, it looks killed: its leases stay
	all.Wait()
	d := <-got
	if took := time.Since(begin); d.ID != "a" || d.Count != 2 || d.Restarted || took < time.Second {
		t.Errorf("received %+v after %v", d, took)
	}
	if err := other.Queue("tasks").Delete(t.Context(), first[0]); err != nil {
		t.Fatal(err)
	}
	if err := other.Queue("tasks").Extend(t.Context(), d, time.Hour); err != nil {
		t.Errorf("the lease of the second was lost with that of the first: %v", err)
	}
}
