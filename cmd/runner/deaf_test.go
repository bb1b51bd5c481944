//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// fleet is a service whose machines run the loop of this program on a simulated clock, with commands that only take
// time.
type fleet struct {
	*sandbox.Service
	t       *testing.T
	away    func() bool // whether the API is down
	slow    func() bool // whether a poll takes longer than its machine waits
	handler http.Handler

	mu       sync.Mutex
	machines map[string]*machine // by runner
	woke     map[engine.Run]bool
	runs     map[string]int // how many times the command of a task was started
	running  map[string]int // how many commands of the task run now
	twice    []string       // tasks that had two commands at the same time
}

type machine struct {
	stop  context.CancelFunc
	ended chan struct{}
}

func newFleet(t *testing.T) *fleet {
	memory := sandboxtest.NewMemory()
	f := &fleet{t: t, away: func() bool { return false }, slow: func() bool { return false }, machines: map[string]*machine{}, woke: map[engine.Run]bool{}, runs: map[string]int{}, running: map[string]int{}}
	f.Service = sandbox.New(sandbox.Options{Commands: memory, Work: memory, Runners: memory, Liveness: memory, Fences: memory, Launcher: f, Links: nowhere{}, Keys: sandboxtest.Keys(), Default: sandbox.Class{Image: "i"},
		Attempt: func(context.Context, int64, int64) (host.Attempt, error) { return host.Attempt{}, nil },
		Wake: func(_ context.Context, _ int64, run engine.Run) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.woke[run] = true
			return nil
		}})
	f.handler = f.Handler()
	return f
}

// RoundTrip carries a request from a machine to the API. A gateway answers while the API is down.
func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if strings.HasSuffix(r.URL.Path, "/poll") && f.slow() {
		late := r.Clone(context.WithoutCancel(r.Context()))
		go func() {
			time.Sleep(callTime + 10*time.Second)
			f.handler.ServeHTTP(w, late)
		}()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if f.away() {
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
	} else {
		f.handler.ServeHTTP(w, r)
	}
	return w.Result(), nil
}

func (f *fleet) Check(sandbox.Class, sandbox.Owner) error { return nil }

func (f *fleet) Launch(_ context.Context, r sandbox.Runner, ticket string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.machines[r.Name()] != nil {
		return r.Name(), nil
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &machine{stop, make(chan struct{})}
	f.machines[r.Name()] = m
	a := &api{url: "http://api", token: ticket, client: &http.Client{Transport: f}}
	x := &runner{settings: settings{slots: r.Of.Slots()}, api: a, archives: newArchives(a, f.t.TempDir()), users: &users{}, carryOut: f.command,
		wake: make(chan struct{}, 1), running: map[string]context.CancelCauseFunc{}, active: time.Now()}
	go func() {
		defer close(m.ended)
		sleep(ctx, 30*time.Second) // until the machine is up
		x.run(ctx)
	}()
	return r.Name(), nil
}

func (f *fleet) Stop(_ context.Context, r sandbox.Runner, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.machines[r.Name()].stop()
	return nil
}

func (f *fleet) Ended(_ context.Context, runners []sandbox.Runner) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	over := map[string]string{}
	for _, r := range runners {
		select {
		case <-f.machines[r.Name()].ended:
			over[r.Name()] = "it has ended"
		default:
		}
	}
	return over, nil
}

// command runs for a quarter of an hour, or for some tasks much longer. After it is asked to end, it takes another half
// minute.
func (f *fleet) command(ctx context.Context, o order) result {
	task, _, _ := strings.Cut(o.Key, ".")
	f.mu.Lock()
	f.runs[task]++
	if f.running[task]++; f.running[task] > 1 {
		f.twice = append(f.twice, task)
	}
	f.mu.Unlock()
	takes := 15 * time.Minute
	if strings.HasSuffix(task, "1") || strings.HasSuffix(task, "3") || strings.HasSuffix(task, "5") {
		takes = 40 * time.Minute
	}
	if !sleep(ctx, takes) {
		time.Sleep(30 * time.Second)
	}
	f.mu.Lock()
	f.running[task]--
	f.mu.Unlock()
	return result{Code: 7}
}

// task runs a task with a command: it runs the task again at each notification until the command has finished.
func (f *fleet) task(n int64) {
	id := sandboxtest.Task(1, n, 1)
	c := operators.Command{Args: []string{"sh"}, Stdout: io.Discard}
	for {
		exit, err := f.For(id, "a").Run(f.t.Context(), c)
		var p *operators.Pending
		if !errors.As(err, &p) {
			if err != nil || exit.Code != 7 {
				f.t.Errorf("task %d: %+v, %v", n, exit, err)
			}
			return
		}
		c.Status = p.Status
		id.Dispatch++
		id.RetryCount++
		run, due := engine.Run{Task: engine.TaskID(n), Dispatch: id.Dispatch}, time.Now().Add(p.After)
		for woken := false; !woken && time.Now().Before(due); time.Sleep(time.Second) {
			f.mu.Lock()
			woken = f.woke[run]
			f.mu.Unlock()
		}
	}
}

// all runs tasks concurrently, with the checks of the machines, and then ends the machines.
func (f *fleet) all(tasks int) {
	ctx, stop := context.WithCancel(f.t.Context())
	go func() {
		for sleep(ctx, 20*time.Second) {
			if _, err := f.Service.Check(ctx); err != nil && ctx.Err() == nil {
				f.t.Error(err)
			}
		}
	}()
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() { f.task(int64(n + 2)) })
	}
	all.Wait()
	stop()
	for _, m := range f.machines {
		m.stop()
		<-m.ended
	}
}

// nowhere returns links that are never followed.
type nowhere struct{}

func (nowhere) Blob(context.Context, string) (string, error)          { return "", nil }
func (nowhere) Put(context.Context, string, []byte) error             { return nil }
func (nowhere) Output(context.Context, string, int64) (string, error) { return "", nil }
func (nowhere) Read(context.Context, string) ([]byte, error)          { return nil, nil }
func (nowhere) Log(context.Context, sandbox.LogID, string, time.Time) (string, error) {
	return "", nil
}

// TestAPIAway checks that no command runs again because the API was down, or throttled all machines, for ten minutes
// while twenty commands ran, many of which ended in the meantime. It also checks that after 20 minutes, when the
// machines have given up, each command runs again once, and never while it still runs elsewhere.
func TestAPIAway(t *testing.T) {
	t.Parallel()
	for minutes, runs := range map[int]int{10: 1, 20: 2} {
		t.Run(fmt.Sprint(minutes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				began := time.Now()
				f.away = func() bool {
					at := time.Since(began)
					return at > 10*time.Minute && at < time.Duration(10+minutes)*time.Minute
				}
				go func() {
					time.Sleep(10 * time.Minute)
					f.mu.Lock()
					defer f.mu.Unlock()
					if len(f.runs) != 20 {
						t.Errorf("%d commands run when the API goes away", len(f.runs))
					}
				}()
				f.all(20)
				for task, n := range f.runs {
					if n != runs {
						t.Errorf("the command of task %s was run %d times, want %d", task, n, runs)
					}
				}
				if len(f.runs) != 20 || len(f.twice) > 0 {
					t.Errorf("%d commands were run, two at a time of tasks %v", len(f.runs), f.twice)
				}
				t.Logf("the API was away for %d minutes: %d machines were launched, all is over after %v", minutes, len(f.machines), time.Since(began).Round(time.Second))
			})
		})
	}
}

// TestLateClaim checks that a command starts, exactly once, if a poll claimed it after the machine had abandoned that
// poll and after the next poll was answered.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		submit := func(n int64) {
			_, err := f.For(sandboxtest.Task(1, n, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard})
			var p *operators.Pending
			if !errors.As(err, &p) {
				t.Error(err)
			}
		}
		runs := func(task string) int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.runs[task]
		}
		var polls atomic.Int64 // after a minute: the first poll is slow
		began := time.Now()
		f.slow = func() bool { return time.Since(began) > time.Minute && polls.Add(1) == 1 }
		submit(2)
		for polls.Load() < 2 {
			time.Sleep(time.Second)
		}
		if runs("2") != 1 {
			t.Fatalf("the first command was run %d times", runs("2"))
		}
		time.Sleep(5 * time.Second) // the second poll was answered
		before := polls.Load()
		submit(3)
		time.Sleep(time.Minute)
		if before != 2 || runs("3") != 1 || len(f.machines) != 1 {
			t.Errorf("after %d polls and %d more: the command was run %d times, on %d machines", before, polls.Load()-before, runs("3"), len(f.machines))
		}
		for _, m := range f.machines {
			m.stop()
			<-m.ended
		}
	})
}
