package node_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// shared makes a process one of several over the same stores.
func shared(o *node.Options) { o.Shared = true }

// several starts one process for each of the given parts, all over the world's stores.
func (w *world) several(parts ...node.Parts) (list []*process) {
	for _, p := range parts {
		o := w.options()
		shared(&o)
		list = append(list, w.serveParts(node.New(o), p))
	}
	return list
}

// TestKillElsewhere proves that a kill stops runs in a process other than the one that receives it, at most two seconds
// later, and that only the killed attempt is stopped.
func TestKillElsewhere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(5*time.Hour))
		w.on("short", lasting(time.Minute))
		list := w.several(node.Parts{Executor: true}, node.Parts{Agent: true})
		executor := list[0]
		a := executor.run("+a:\n  work>: long\n+b:\n  work>: b\n")
		executor.push("main.dig", "+a:\n  work>: short\n")
		other := executor.start(2)
		pass(30 * time.Second)
		_, err := executor.Kill(w.t.Context(), a.Site, a.ID)
		w.must(err)
		pass(2 * time.Second)
		row := executor.row(a)
		want(t, "status", row.Status(), "killed")
		want(t, "status of the other", executor.end(other), "success")
		w.wantRuns("+main+a/1", "+main+a/1")
	})
}

// TestRunners proves that the server of each running task is known: of tasks with separate messages, and of a task that
// follows another under its message, but not of a task that waits or has ended.
func TestRunners(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.db.Close()
		w.db = w.open(sqlite.Options{Server: "7@me"})
		for _, name := range []string{"a", "b", "x", "y"} {
			w.on(name, lasting(time.Minute))
		}
		w.on("c", func(context.Context, *operators.Task) (operators.Result, error) {
			return operators.Result{}, operators.Failf("not yet")
		})
		p := w.serve()
		a := p.run("+a: {work>: a}\n+b: {work>: b}\n+p:\n  _parallel: true\n  +x: {work>: x}\n  +y: {work>: y}\n+c:\n  work>: c\n  _retry: {limit: 1, interval: 30}\n")
		wantRunning := func(what string, names ...string) {
			t.Helper()
			var got []string
			runners, err := p.Runners(t.Context(), p.row(a))
			w.must(err)
			w.must(p.View(t.Context(), p.row(a), func(s *engine.State) {
				for id, server := range runners(s) {
					got = append(got, s.Task(id).Name)
					want(t, "server of "+s.Task(id).Name, server, "7@me")
				}
			}))
			slices.Sort(got)
			want(t, what, strings.Join(got, " "), strings.Join(names, " "))
		}
		pass(30 * time.Second)
		wantRunning("the first task", "+main+a")
		pass(time.Minute)
		wantRunning("the task behind it", "+main+b")
		pass(time.Minute)
		wantRunning("two at the same time", "+main+p+x", "+main+p+y")
		pass(45 * time.Second)
		wantRunning("a task that waits for its retry")
		pass(time.Hour)
		wantRunning("at the end")
	})
}

// TestSchedulesOfOthers proves that a process fires a schedule that another has pushed, on time, and that several
// such processes start only one attempt.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("fast", func(context.Context, *operators.Task) (operators.Result, error) { return operators.Result{}, nil })
		list := w.several(node.Parts{Executor: true, Agent: true, Scheduler: true}, node.Parts{Executor: true, Agent: true, Scheduler: true}, node.Parts{})
		pass(10 * time.Second)
		list[2].push("main.dig", "schedule:\n  cron>: '* * * * *'\n+a:\n  work>: fast\n")
		pass(5 * time.Minute)
		attempts, err := list[2].Attempts(w.t.Context(), host.AttemptQuery{Retried: true})
		w.must(err)
		if len(attempts) < 4 || len(attempts) > 6 {
			t.Errorf("there are %d attempts after five minutes", len(attempts))
		}
		seen := map[time.Time]bool{}
		for _, a := range attempts {
			if seen[a.SessionTime] {
				t.Errorf("session %v has two attempts", a.SessionTime)
			}
			seen[a.SessionTime] = true
			want(t, "status", a.Status(), "success")
			if late := a.CreatedAt.Sub(a.SessionTime); late > time.Second {
				t.Errorf("session %v began %v late", a.SessionTime, late)
			}
		}
		want(t, "number of runs", len(w.ran()), len(attempts))
	})
}

// TestOutageLongerThanALease proves that the work after a task whose lease ended while the store was unavailable runs
// once: the process with the result and the process that took the task over do not both continue.
func TestOutageLongerThanALease(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]time.Duration{"in the outage": 20 * time.Second, "after it": 62 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(ends))
				w.on("next", lasting(15*time.Second))
				var list []*process
				for range 2 {
					o := w.options()
					shared(&o)
					o.Limits.Lease, o.Limits.Heartbeat, o.Limits.StoreRetry = 30*time.Second, 10*time.Second, 2*time.Second
					list = append(list, w.serveParts(node.New(o), node.Parts{Executor: true, Agent: true}))
				}
				a := list[0].run("+a:\n  work>: long\n+b:\n  work>: next\n+c:\n  work>: next\n")
				began := time.Now()
				w.intercept(func(call string, done bool) error {
					until := time.Minute
					if strings.HasPrefix(call, "extend ") { // so that the result is in the log before another process has checked
						until += 3 * time.Second
					}
					if at := time.Since(began); done || at < 5*time.Second || at >= until {
						return nil
					}
					return host.ErrUnavailable
				})
				want(t, "status", list[0].end(a), "success")
				count := map[string]int{}
				for _, run := range w.ran() {
					task, _, _ := strings.Cut(run, "/")
					count[task]++
				}
				if count["+main+b"] != 1 || count["+main+c"] != 1 || count["+main+a"] > 2 {
					t.Errorf("the tasks ran so often: %v", count)
				}
			})
		})
	}
}
