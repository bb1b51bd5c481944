package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/tick"
)

// TestStartsThatWait proves that each of many simultaneous events starts one attempt, however few may run: a start that
// meets the limit or an unavailable store waits until it can begin. A repeated event starts nothing more.
func TestStartsThatWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(20*time.Second))
		p := w.serveTicked(func(o *node.Options) { o.Limits.Attempts = 5 })
		p.push("main.dig", "+a: {work>: a}\n")
		away := true
		w.intercept(func(call string, done bool) error {
			if call == "start" && away && !done {
				return host.ErrUnavailable
			}
			return nil
		})
		for i := range 60 {
			away = i%10 == 0
			d := events.StartDetail{ID: fmt.Sprint("e", i), Time: time.Unix(int64(i), 0), Project: "p", Workflow: "main"}
			w.must(p.StartByEvent(w.t.Context(), d, false))
			w.must(p.StartByEvent(w.t.Context(), d, false))
		}
		pass(3 * time.Hour)
		list, err := p.Attempts(w.t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		want(t, "attempts", len(list), 60)
		for _, a := range list {
			want(t, "status of "+a.RetryName, a.Status(), "success")
		}
	})
}

// TestStartsThatNeverBegin proves that an event that names a missing project or workflow is announced with the reason
// and does not wait.
func TestStartsThatNeverBegin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		b := &bus{}
		p := w.serveTicked(func(o *node.Options) { o.Bus = b })
		w.must(p.StartByEvent(w.t.Context(), events.StartDetail{ID: "e", Time: time.Unix(1, 0), Project: "none", Workflow: "main"}, false))
		want(t, "told", b.told, []string{"Start Refused start-refused refused "})
		want(t, "sent", len(w.writes("send")), 0)
		if !strings.Contains(w.said(), "event starts nothing") {
			t.Errorf("the log does not mention it:\n%s", w.said())
		}
	})
}

// timers implements host.Timers in memory.
type timers struct {
	mu   sync.Mutex
	list map[string]host.Timer
}

func (t *timers) Later(_ context.Context, queue string, list ...host.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range list {
		t.list[m.ID] = host.Timer{Queue: queue, Message: m}
	}
	return nil
}

func (t *timers) Due(_ context.Context, until time.Time, _ int) (list []host.Timer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.list {
		if !x.Message.Due.After(until) {
			list = append(list, x)
		}
	}
	return list, nil
}

func (t *timers) Delete(_ context.Context, list []host.Timer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range list {
		delete(t.list, x.Message.ID)
	}
	return nil
}

// marks implements host.Horizon in memory.
type marks struct{}

func (marks) Marks(context.Context) (map[host.Mark]int64, error) { return map[host.Mark]int64{}, nil }

func (marks) Move(context.Context, host.Mark, int64, int64) error { return nil }

// lossy is a queue that is occasionally lost with all its messages.
type lossy struct {
	host.Queue
	lost atomic.Bool
}

func (q *lossy) Send(ctx context.Context, list ...host.Message) error {
	if q.lost.Load() {
		return nil
	}
	return q.Queue.Send(ctx, list...)
}

// TestStartsOutliveTheirQueue proves that starts waiting for the limit of attempts each begin once although the queue
// in which they wait is lost, and that no record of them is kept afterwards.
func TestStartsOutliveTheirQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(20*time.Minute))
		kept := &timers{list: map[string]host.Timer{}}
		o := w.options()
		ticked(&o)
		o.Limits.Attempts, o.Kept = 1, kept
		tasks := &lossy{Queue: o.Tasks}
		o.Tasks = tasks
		p := w.serveParts(node.New(o), node.Parts{Executor: true, Agent: true})
		ticker := &tick.Ticker{Node: p.Node, Horizon: marks{}, Timers: kept, Queues: map[string]host.Queue{"tasks": tasks}, Now: w.now, Logger: o.Logger}
		p.push("main.dig", "+a: {work>: a}\n")
		for i := range 4 {
			tasks.lost.Store(i > 1) // two of three waiting starts are in no queue
			w.must(p.StartByEvent(w.t.Context(), events.StartDetail{ID: fmt.Sprint("e", i), Time: time.Unix(int64(i), 0), Project: "p", Workflow: "main"}, false))
		}
		tasks.lost.Store(false)
		for range 240 {
			w.must(ticker.Once(w.t.Context()))
			pass(time.Minute)
		}
		list, err := p.Attempts(w.t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		want(t, "attempts", len(list), 4)
		want(t, "runs", len(w.ran()), 4)
		want(t, "kept", len(kept.list), 0)
	})
}
