package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Queue wraps a queue. name distinguishes it from others.
func (p *Process) Queue(name string, q host.Queue) host.Queue {
	return &faultyQueue{queue: q, name: name, p: p}
}

type faultyQueue struct {
	queue host.Queue
	name  string
	p     *Process

	mu    sync.Mutex
	again []host.Delivery // messages that will be received once more
}

// Traits returns the wrapped queue's traits.
func (q *faultyQueue) Traits() host.Traits { return q.queue.Traits() }

// Send may return an error although it took effect.
func (q *faultyQueue) Send(ctx context.Context, messages ...host.Message) error {
	id := ""
	if len(messages) > 0 {
		id = messages[0].ID
	}
	return q.p.call(ctx, q.name+": send "+id, func() error { return q.queue.Send(ctx, messages...) })
}

// Receive may lose messages until their leases end, return them twice, or delay them.
func (q *faultyQueue) Receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	for {
		if q.p.crashed() {
			return nil, ErrCrashed
		}
		if d, ok := q.second(); ok {
			return []host.Delivery{d}, nil
		}
		list, err := q.receive(ctx, n, lease)
		if err != nil {
			return nil, err
		}
		var out []host.Delivery
		for _, d := range list {
			kept, err := q.pass(ctx, d)
			if err != nil {
				return nil, err
			}
			if kept {
				out = append(out, d)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}

// receive ends with the process, because a receiver in a dead process would take messages from the next one.
func (q *faultyQueue) receive(ctx context.Context, n int, lease time.Duration) ([]host.Delivery, error) {
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-q.p.dead:
			cancel()
		case <-stop:
		}
	}()
	list, err := q.queue.Receive(alive, n, lease)
	if q.p.crashed() {
		return nil, ErrCrashed // the messages are delivered again when their leases end
	}
	return list, err
}

// second returns a message that will be received once more.
func (q *faultyQueue) second() (host.Delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.again) == 0 {
		return host.Delivery{}, false
	}
	d := q.again[0]
	q.again = q.again[1:]
	return d, true
}

// pass reports whether a message is returned now.
func (q *faultyQueue) pass(ctx context.Context, d host.Delivery) (bool, error) {
	x := q.p.faults.of(fmt.Sprintf("%s: receive %s %d", q.name, d.ID, d.Count))
	switch {
	case x.hit("CrashAfter", x.rates.CrashAfter):
		q.p.Crash()
		return false, ErrCrashed
	case x.hit("Drop", x.rates.Drop):
		return false, nil
	case d.Group == "" && x.hit("Reorder", x.rates.Reorder):
		wait := time.Duration(x.random.Int64N(int64(max(x.rates.MaxDelay, 1))))
		return false, q.queue.Release(ctx, d, wait)
	case x.hit("Duplicate", x.rates.Duplicate):
		q.mu.Lock()
		defer q.mu.Unlock()
		twice := d
		twice.Count++
		q.again = append(q.again, twice)
	}
	return true, nil
}

// Extend may fail.
func (q *faultyQueue) Extend(ctx context.Context, d host.Delivery, lease time.Duration) error {
	return q.p.call(ctx, q.name+": extend "+d.ID, func() error { return q.queue.Extend(ctx, d, lease) })
}

// Delete may return an error although it took effect.
func (q *faultyQueue) Delete(ctx context.Context, d host.Delivery) error {
	return q.p.call(ctx, q.name+": delete "+d.ID, func() error { return q.queue.Delete(ctx, d) })
}

// Release may return an error although it took effect.
func (q *faultyQueue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	return q.p.call(ctx, q.name+": give back "+d.ID, func() error { return q.queue.Release(ctx, d, delay) })
}
