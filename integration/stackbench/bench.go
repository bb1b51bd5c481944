package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
)

// bench is a stack whose functions call through a proxy, and a server for tasks to call.
type bench struct {
	*stack.Stack
	proxy         *proxy.Proxy
	works         *works
	events, tasks *stack.Queue
	session       time.Time
	stop          []func()
}

// settings returns the settings replaced during a measurement: the lease is as on AWS (on LocalStack, a short one was
// deployed, which costs extensions), and a fan-out may have more tasks.
func settings() map[string]string {
	return map[string]string{"ZERODAG_LEASE": "1m0s", "ZERODAG_TASK_LIMIT": "20000"}
}

func open(ctx context.Context, s *stack.Stack) (*bench, error) {
	b := &bench{Stack: s, session: time.Now().Add(-100 * 365 * 24 * time.Hour)}
	var err error
	if b.events, b.tasks, err = s.Queues(ctx, localAWS()); err != nil {
		return nil, err
	}
	if b.works, err = newWorks(); err != nil {
		return nil, err
	}
	b.stop = append(b.stop, b.works.stop)
	p, stop, err := proxy.Open("")
	if err != nil {
		return nil, err
	}
	b.proxy, b.stop = p, append(b.stop, stop)
	detach, err := p.Attach(ctx, s.Stage, settings())
	if err != nil {
		return nil, err
	}
	b.stop = append(b.stop, func() {
		if err := detach(context.WithoutCancel(ctx)); err != nil {
			fmt.Println("the functions still call the proxy:", err)
		}
	})
	return b, nil
}

// close undoes open in reverse order.
func (b *bench) close() {
	for i := len(b.stop) - 1; i >= 0; i-- {
		b.stop[i]()
	}
}

// works is the target of tasks' calls: it answers at once and records the time.
type works struct {
	url  string
	stop func()

	mu    sync.Mutex
	calls []time.Time
}

func newWorks() (*works, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &works{url: "http://" + l.Addr().String()}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, time.Now())
	})}
	w.stop = func() { s.Close() }
	go s.Serve(l)
	return w, nil
}

// take returns the times of calls since the last take.
func (w *works) take() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.calls
	w.calls = nil
	return list
}

// patience is how long the queues may still hold messages, because leftovers of another run would also be counted.
const patience = 3 * time.Minute

// settled waits until the queues are empty, which means that everything has ended.
func (b *bench) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for quiet := 0; quiet < 3; {
		waiting := 0
		for _, q := range []*stack.Queue{b.events, b.tasks} {
			n, err := q.Depth(ctx)
			if err != nil {
				return err
			}
			waiting += n
		}
		quiet++
		if waiting > 0 {
			quiet = 0
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d messages are still in the queues (a schedule that fires often keeps one there: disable it): %w", waiting, ctx.Err())
		}
	}
	return nil
}

// measure returns the usage of f. It waits for earlier work to end, and for the work that f leaves behind.
func (b *bench) measure(ctx context.Context, f func() error) (usage, error) {
	if err := b.settled(ctx); err != nil {
		return usage{}, err
	}
	time.Sleep(logDelay)
	b.proxy.Take()
	since := time.Now()
	if err := f(); err != nil {
		return usage{}, err
	}
	if err := b.settled(ctx); err != nil {
		return usage{}, err
	}
	u := usage{Bill: b.proxy.Take(), functions: map[string]invocations{}}
	time.Sleep(logDelay)
	names, err := proxy.Functions(ctx, b.Stage)
	if err != nil {
		return u, err
	}
	for _, name := range names {
		if u.functions[name], err = b.invoked(ctx, name, since); err != nil {
			return u, err
		}
	}
	return u, nil
}

// logDelay is the longest time that LocalStack takes to write the log of an invocation.
const logDelay = time.Second
