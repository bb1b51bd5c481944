package node_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestTwoStarts proves that of two concurrent starts of one session, one wins and the other reports the winner as a
// conflict.
func TestTwoStarts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "+a:\n  work>: a\n")
		id := p.workflow("main").ID
		var all sync.WaitGroup
		won, lost := make(chan int64, 20), make(chan int64, 20)
		for range 20 {
			all.Go(func() {
				a, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: id, SessionTime: time.Unix(1, 0)})
				var e *host.Error
				switch {
				case err == nil:
					won <- a.ID
				case errors.As(err, &e) && e.Existing != nil && e.Code == host.Conflict:
					lost <- e.Existing.ID
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		want(t, "won", len(won), 1)
		id = <-won
		for range len(lost) {
			want(t, "existing attempt", <-lost, id)
		}
		pass(time.Second)
		w.wantRuns("+main+a/1")
	})
}

// TestLimits proves that attempts and tasks above the limits are refused, and that a
// finished attempt makes room.
func TestLimits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Hour))
		p := w.serve(func(o *node.Options) { o.Limits.Attempts, o.Limits.Tasks = 3, 5 })
		p.push("main.dig", "+a:\n  work>: a\n", "large.dig", "+a: {echo>: x}\n+b: {echo>: x}\n+c: {echo>: x}\n+d: {echo>: x}\n")
		first := p.start(1)
		p.start(2)
		p.start(3)
		_, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(4, 0)})
		if code(err) != host.Invalid || !strings.Contains(err.Error(), "Too many attempts running") {
			t.Errorf("the fourth attempt: %v", err)
		}
		p.end(first)
		_, err = p.Start(w.t.Context(), catalogue.StartRequest{Workflow: p.workflow("large").ID, SessionTime: time.Unix(4, 0)})
		if code(err) != host.Invalid || !strings.Contains(err.Error(), "Too many tasks") {
			t.Errorf("too many tasks: %v", err)
		}
		p.start(4)
	})
}

// TestForeign proves that a workflow of another site cannot be started, even if the host has already cached it.
func TestForeign(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.end(p.run("+a:\n  work>: a\n"))
		_, err := p.Start(w.t.Context(), catalogue.StartRequest{Site: 7, Workflow: p.workflow("main").ID, SessionTime: time.Unix(2, 0)})
		want(t, "code", code(err), host.Missing)
	})
}

// TestResume checks which tasks a resumed attempt and a forked attempt run.
func TestResume(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("b", times(1))
		p := w.serve()
		a := p.run("+a:\n  work>: a\n+b:\n  work>: b\n+c:\n  work>: c\n")
		want(t, "status", p.end(a), "error")
		want(t, "notices", w.told(), []string{"Workflow session attempt failed"})
		w.wantRuns("+main+a/1", "+main+b/1")
		resumed := func(name string, r catalogue.Resume) []string {
			before := len(w.ran())
			want(t, name, p.end(p.start(1, func(q *catalogue.StartRequest) { q.RetryName, q.Resume = name, &r })), "success")
			return w.ran()[before:]
		}
		want(t, "failed", resumed("f", catalogue.Resume{Mode: "failed", Attempt: a.ID}), []string{"+main+b/1", "+main+c/1"})
		want(t, "from c", resumed("c", catalogue.Resume{Mode: "from", Attempt: a.ID + 1, From: "+c"}), []string{"+main+c/1"})
		want(t, "from a", resumed("a", catalogue.Resume{Mode: "from", Attempt: a.ID, From: "+a"}), []string{"+main+a/1", "+main+b/1", "+main+c/1"})
		_, err := p.Start(w.t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(1, 0), RetryName: "x",
			Resume: &catalogue.Resume{Mode: "failed", Attempt: a.ID + 1}})
		want(t, "code of resuming a success", code(err), host.Invalid)

		history, err := p.History(w.t.Context(), a, 1, 100)
		w.must(err)
		before := len(w.ran())
		fork, err := p.Fork(w.t.Context(), a, catalogue.ForkRequest{Seq: history[1].Seq, RetryName: "fork", Params: param.New("x", int64(1))}) // after entry 2: a is done
		w.must(err)
		want(t, "fork", p.end(fork), "success")
		want(t, "fork", len(w.ran())-before, 2)
	})
}

// TestRequire proves that a workflow starts another, waits for it without occupying anything and takes over its
// outcome.
func TestRequire(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		inBubble(t, func(w *world) {
			if fails {
				w.on("child", failing)
			} else {
				w.on("child", lasting(time.Minute))
			}
			p := w.serve(func(o *node.Options) { o.Limits.Threads = 1 })
			p.push("main.dig", "+r:\n  require>: child\n+z:\n  work>: z\n", "child.dig", "+c:\n  work>: child\n")
			got := p.end(p.start(1))
			if fails {
				want(t, "status", got, "error")
				w.wantRuns("+child+c/1")
			} else {
				want(t, "status", got, "success")
				w.wantRuns("+child+c/1", "+main+z/1")
			}
		})
	}
}

// TestWatch proves that a watcher is notified of the end no matter when it began to watch.
func TestWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Minute))
		p := w.serve()
		a := p.run("+a:\n  work>: a\n")
		steps := 0
		for range p.Watch(w.t.Context(), a) {
			steps++
		}
		row := p.row(a)
		want(t, "done", row.Done, true)
		if steps == 0 {
			t.Error("no step was heard of")
		}
		for range p.Watch(w.t.Context(), a) { // with an outdated row of an attempt that is not in memory
		}
		ctx, stop := context.WithCancel(w.t.Context())
		stop()
		for range p.Watch(ctx, p.start(2)) {
		}
	})
}

// TestNoNotices proves that a host without notices still runs `notify>` and ends failed attempts.
func TestNoNotices(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", failing)
		p := w.serve(func(o *node.Options) { o.Notices, o.Store, o.Logs = nil, nil, nil })
		a := p.run("+n:\n  notify>: hello\n+a:\n  work>: a\n")
		want(t, "status", p.end(a), "error")
		want(t, "tasks", p.tasks(a), []string{" group_error", "+n success", "+a error", "^failure-alert success"})
	})
}

// TestManyAttempts proves that the host keeps every attempt that it works on in memory, however many there are.
func TestManyAttempts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Minute))
		w.on("p", func(_ context.Context, o *operators.Task) (operators.Result, error) {
			if o.RetryCount < 3 {
				return operators.Result{}, &operators.Later{After: 7 * time.Second}
			}
			return operators.Result{}, nil
		})
		p := w.serve(func(o *node.Options) { o.Limits.Attempts = 1000 })
		p.push("main.dig", "_parallel: true\n+a:\n  work>: a\n+b:\n  work>: p\n")
		var list []host.Attempt
		for i := range 450 {
			list = append(list, p.start(int64(i)))
		}
		for _, a := range list {
			want(t, "status", p.end(a), "success")
		}
		want(t, "number of runs", len(w.ran()), 450*5)
		s := p.Stats()
		want(t, "stats", [4]int64{s.Started, s.Finished, s.Failed, s.TasksRun}, [4]int64{450, 450, 0, 450 * 5})
		want(t, "running", s.TasksRunning, int64(0))
	})
}
