package messages

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// queueRace lets workers receive messages, keep them for too long, extend their leases, release and delete them. While
// a lease is valid, no other receiver gets the message or another message in its group; a group's messages end in the
// order sent; and no message is lost.
func queueRace(t *testing.T, s suite.Stores) {
	const messages, groups, workers = 60, 6, 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &witness{now: s.Now, held: map[string]time.Time{}, last: map[string]int{}, left: messages, over: cancel}
	for i := range messages {
		group := ""
		if g := i % (groups + 1); g > 0 {
			group = fmt.Sprint("g", g)
		}
		suite.Must(t, s.Events.Send(ctx, suite.Message(fmt.Sprintf("%03d", i), group)))
	}
	var all sync.WaitGroup
	for seed := range workers {
		all.Go(func() { w.work(t, ctx, s.Events, rand.New(rand.NewPCG(1, uint64(seed)))) }) // #nosec G404 -- a seed, so that a race can be repeated
	}
	all.Wait()
	if w.left != 0 {
		t.Errorf("%d of %d messages were never deleted", w.left, messages)
	}
}

// witness records which receiver may hold which message. The holder can rely on its times.
type witness struct {
	now  func() time.Time
	over context.CancelFunc

	mu   sync.Mutex
	held map[string]time.Time // the earliest end of the lease, by message and by group
	last map[string]int       // number of the last message deleted of a group
	left int
}

const shortLease = 40 * time.Millisecond

func (w *witness) work(t *testing.T, ctx context.Context, q host.Queue, random *rand.Rand) {
	for {
		before := w.now()
		list, err := q.Receive(ctx, 1+random.IntN(3), shortLease)
		if errors.Is(err, context.Canceled) {
			return
		}
		if err != nil {
			t.Errorf("receive: %v", err)
			w.over()
			return
		}
		for _, d := range list {
			w.hold(t, d, before)
			if err := w.one(ctx, q, d, random); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
				w.over()
				return
			}
		}
	}
}

// hold records a lease, which began no earlier than before. It does not record a lease that may already have ended, as
// on a busy machine, because another receiver may already have the message.
func (w *witness) hold(t *testing.T, d host.Delivery, before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.now().Before(before.Add(shortLease)) {
		return
	}
	for _, key := range keys(d) {
		if until := w.held[key]; w.now().Before(until) {
			t.Errorf("received %s for the %dth time while %s is leased for another %v", d.ID, d.Count, key, until.Sub(w.now()))
		}
		w.held[key] = before.Add(shortLease)
	}
}

func keys(d host.Delivery) []string {
	if d.Group == "" {
		return []string{"message " + d.ID}
	}
	return []string{"message " + d.ID, "group " + d.Group}
}

// one performs a random action on a held message.
func (w *witness) one(ctx context.Context, q host.Queue, d host.Delivery, random *rand.Rand) error {
	switch random.IntN(6) {
	case 0: // the message is forgotten
		return nil
	case 1:
		w.free(d)
		return q.Release(ctx, d, time.Duration(random.IntN(20))*time.Millisecond)
	case 2:
		before := w.now()
		err := q.Extend(ctx, d, shortLease)
		if errors.Is(err, host.ErrLeaseLost) {
			return nil
		}
		if err != nil {
			return err
		}
		w.prolong(d, before)
	}
	return w.delete(ctx, q, d)
}

func (w *witness) prolong(d host.Delivery, before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys(d) {
		if _, held := w.held[key]; held {
			w.held[key] = before.Add(shortLease)
		}
	}
}

// free is called before the store frees a message, because another receiver may get it at once.
func (w *witness) free(d host.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys(d) {
		delete(w.held, key)
	}
}

// delete deletes a message whose lease is certainly valid, so that the outcome is known.
func (w *witness) delete(ctx context.Context, q host.Queue, d host.Delivery) error {
	if err := q.Extend(ctx, d, time.Hour); errors.Is(err, host.ErrLeaseLost) {
		return nil
	} else if err != nil {
		return err
	}
	n, err := strconv.Atoi(d.ID)
	if err != nil {
		return err
	}
	w.mu.Lock()
	if last, any := w.last[d.Group]; d.Group != "" && any && n < last {
		w.mu.Unlock()
		return fmt.Errorf("message %d of group %s comes after message %d", n, d.Group, last)
	}
	w.last[d.Group] = n
	w.mu.Unlock()
	w.free(d)
	if err := q.Delete(ctx, d); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left--; w.left == 0 {
		w.over()
	}
	return nil
}
