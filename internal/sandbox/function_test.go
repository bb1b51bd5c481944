package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// noLinks makes links that are not followed, and records the stored objects.
type noLinks struct{ put *puts }

// puts holds the keys of the stored objects.
type puts struct {
	mu   sync.Mutex
	keys []string
}

func (l noLinks) Put(_ context.Context, key string, _ []byte) error {
	l.put.mu.Lock()
	defer l.put.mu.Unlock()
	l.put.keys = append(l.put.keys, key)
	return nil
}

func (noLinks) Blob(_ context.Context, key string) (string, error) { return "archive:" + key, nil }
func (noLinks) Log(_ context.Context, _ sandbox.LogID, runner string, began time.Time) (string, error) {
	return fmt.Sprint("log:", runner, began.UnixNano()), nil
}
func (noLinks) Output(_ context.Context, key string, _ int64) (string, error) {
	return "output:" + key, nil
}
func (noLinks) Read(_ context.Context, key string) ([]byte, error) { return []byte("blob " + key), nil }

// callee is a function whose behavior a test sets.
type callee struct {
	mu    sync.Mutex
	calls []sandbox.Call
	do    func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error)
}

func (x *callee) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	x.mu.Lock()
	x.calls = append(x.calls, c)
	n := len(x.calls)
	x.mu.Unlock()
	return x.do(ctx, n, c)
}

func (x *callee) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.calls)
}

// scene is a Function over a callee, and a task's view of it.
type scene struct {
	*sandbox.Function
	*callee
	memory *sandboxtest.Memory
	killed atomic.Bool
	now    time.Time
	woke   []engine.Run
	put    puts
	log    bytes.Buffer
}

func newScene(do func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error)) *scene {
	s := &scene{callee: &callee{do: do}, memory: sandboxtest.NewMemory(), now: time.Unix(1_700_000_000, 0)}
	s.Function = &sandbox.Function{Caller: s.callee, Memory: 512, Service: sandbox.New(sandbox.Options{Commands: s.memory, Links: noLinks{&s.put},
		Attempt: func(context.Context, int64, int64) (host.Attempt, error) {
			return host.Attempt{Canceled: s.killed.Load()}, nil
		},
		Now: func() time.Time { return s.now },
		Wake: func(_ context.Context, _ int64, run engine.Run) error {
			s.woke = append(s.woke, run)
			return nil
		}})}
	return s
}

// run is one run of the task: its dispatch, and the status that the previous run left.
func (s *scene) run(t *testing.T, dispatch int, status *param.Map, change ...func(*operators.Command)) (operators.Exit, *operators.Pending, error) {
	t.Helper()
	c := operators.Command{Args: []string{"true"}, Outputs: []string{"output.json"}, Stdout: &s.log, Status: status}
	for _, f := range change {
		f(&c)
	}
	exit, err := s.For(sandboxtest.Task(1, 2, dispatch), "archive/0").Run(t.Context(), c)
	var p *operators.Pending
	if errors.As(err, &p) {
		return exit, p, nil
	}
	return exit, nil, err
}

func done(context.Context, int, sandbox.Call) (sandbox.Result, error) {
	return sandbox.Result{Code: 3, Log: []byte("said\n"), Outputs: map[string][]byte{"output.json": []byte("{}")}}, nil
}

// TestFunctionRuns proves that a command is one call, with its secrets and its links, that its row holds no secret, and
// that a repeated run finds its end.
func TestFunctionRuns(t *testing.T) {
	t.Parallel()
	s := newScene(done)
	for range 2 {
		exit, p, err := s.run(t, 1, nil, func(c *operators.Command) {
			c.Env, c.Secrets = []string{"PW=correct-horse"}, map[string]string{"pw": "correct-horse"}
		})
		if err != nil || p != nil || exit.Code != 3 || string(exit.Outputs["output.json"]) != "{}" {
			t.Fatalf("got %+v, %v, %v", exit, p, err)
		}
	}
	if s.count() != 1 {
		t.Fatalf("%d calls, want 1", s.count())
	}
	c := s.calls[0]
	if c.Spec.Env[0] != "PW=correct-horse" || c.Mask[0] != "correct-horse" || c.Archive != "archive:archive/0" || len(c.Logs) != 8 || c.Outputs["output.json"].Blob == "" ||
		c.Spec.Limits != (sandbox.Limits{Seconds: 540, Processes: 512, Output: 128 << 20, Memory: 384 << 20}) {
		t.Errorf("call: %+v", c)
	}
	row, err := s.memory.Command(t.Context(), 1, "2.0")
	if text, e := json.Marshal(row); err != nil || e != nil || strings.Contains(string(text), "correct-horse") {
		t.Errorf("row: %s, %v", text, err)
	}
	if s.log.String() != "said\nsaid\n" {
		t.Errorf("log: %q", s.log.String())
	}
}

// TestFunctionEnds checks how a task ends depending on the end of its call.
func TestFunctionEnds(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err error
		why string
	}{
		{sandbox.ErrMemory, operators.OutOfMemory(512 << 20)},
		{sandbox.ErrTime, operators.TooLong(9 * time.Minute)},
	} {
		s := newScene(func(context.Context, int, sandbox.Call) (sandbox.Result, error) { return sandbox.Result{}, x.err })
		if exit, p, err := s.run(t, 1, nil); err != nil || p != nil || exit.Why != x.why {
			t.Errorf("%v: got %+v, %v, %v", x.err, exit, p, err)
		}
	}
	refused := newScene(func(context.Context, int, sandbox.Call) (sandbox.Result, error) {
		return sandbox.Result{}, errors.New("access denied")
	})
	if _, p, err := refused.run(t, 1, nil); p != nil || err == nil || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("refused: %v, %v", p, err)
	}
	elsewhere := newScene(func(context.Context, int, sandbox.Call) (sandbox.Result, error) {
		return sandbox.Result{Blobs: map[string]string{"output.json": "archives/of-others"}}, nil
	})
	if exit, _, err := elsewhere.run(t, 1, nil); err == nil {
		t.Errorf("a function could name any object: %+v", exit)
	}
}

// TestFunctionBusy proves that a call that was not accepted is retried at growing intervals, and that this does not
// count as a loss.
func TestFunctionBusy(t *testing.T) {
	t.Parallel()
	s := newScene(func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error) {
		if n <= 6 {
			return sandbox.Result{}, fmt.Errorf("%w: TooManyRequestsException", sandbox.ErrBusy)
		}
		return done(ctx, n, c)
	})
	var status *param.Map
	for n, want := range []int{5, 10, 20, 40, 80, 80} {
		_, p, err := s.run(t, n+1, status)
		if err != nil || p == nil || p.After != time.Duration(want)*time.Second {
			t.Fatalf("run %d: %+v, %v, want to wait for %d s", n+1, p, err, want)
		}
		status = p.Status
	}
	if exit, p, err := s.run(t, 7, status); err != nil || p != nil || exit.Code != 3 {
		t.Errorf("got %+v, %v, %v", exit, p, err)
	}
}

// TestFunctionLost proves that a command whose function was lost runs again, but only a limited number of times.
func TestFunctionLost(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("%w: exit status 1", sandbox.ErrCrashed)
	for after, want := range map[int]string{1: "", 100: "lost 3 times"} {
		s := newScene(func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error) {
			if n <= after {
				return sandbox.Result{}, lost
			}
			return done(ctx, n, c)
		})
		var status *param.Map
		var exit operators.Exit
		var p *operators.Pending
		var err error
		for dispatch := 1; dispatch < 10; dispatch++ {
			if exit, p, err = s.run(t, dispatch, status); p == nil {
				break
			}
			status = p.Status
		}
		if want == "" && (err != nil || exit.Code != 3 || s.count() != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || s.count() != 3) {
			t.Errorf("after %d: got %+v, %v with %d calls", after, exit, err, s.count())
		}
	}
}

// TestFunctionTaken proves that a second run of a task leaves the command to the call of the first one, receives its
// outcome, and runs it again only when no caller can still wait for it.
func TestFunctionTaken(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s := newScene(func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error) {
		if n > 1 {
			return done(ctx, n, c)
		}
		close(begun)
		<-finish
		return done(ctx, n, c)
	})
	ended := make(chan error, 1)
	go func() {
		_, err := s.For(sandboxtest.Task(1, 2, 1), "archive/0").Run(context.Background(), operators.Command{Args: []string{"true"}, Stdout: new(bytes.Buffer)})
		ended <- err
	}()
	<-begun
	id := sandboxtest.Task(1, 2, 7) // taken over: another dispatch with the same retry count
	id.RetryCount = 0
	second := s.For(id, "archive/0")
	_, err := second.Run(t.Context(), operators.Command{Args: []string{"true"}, Stdout: &s.log})
	var p *operators.Pending
	if !errors.As(err, &p) || p.After != 10*time.Minute {
		t.Fatalf("got %v, want to wait for 10 min", err)
	}
	if s.count() != 1 {
		t.Fatalf("it was called %d times, want 1", s.count())
	}
	s.now = s.now.Add(p.After + time.Second) // the first one never came back
	exit, next, err := s.run(t, 8, p.Status)
	if err != nil || next != nil || exit.Code != 3 || s.count() != 2 {
		t.Errorf("got %+v, %v, %v with %d calls", exit, next, err, s.count())
	}
	close(finish)
	if err := <-ended; !errors.As(err, &p) {
		t.Errorf("the first run, whose command was given up: %v", err)
	}
}

// TestFunctionWakes proves that a run that waits for another run's call is woken.
func TestFunctionWakes(t *testing.T) {
	t.Parallel()
	var s *scene
	s = newScene(func(ctx context.Context, n int, c sandbox.Call) (sandbox.Result, error) {
		id := sandboxtest.Task(1, 2, 7)
		id.RetryCount = 0
		if _, err := s.For(id, "archive/0").Run(ctx, operators.Command{Args: []string{"true"}, Stdout: new(bytes.Buffer)}); err == nil {
			t.Error("the second run has an end before the first")
		}
		return done(ctx, n, c)
	})
	if _, p, err := s.run(t, 1, nil); p != nil || err != nil {
		t.Fatal(p, err)
	}
	if len(s.woke) != 1 || s.woke[0] != (engine.Run{Task: 2, Dispatch: 8}) {
		t.Errorf("woke %v", s.woke)
	}
}

// TestFunctionEnded proves that a task that must end makes the function end the command, waits a limited time for that,
// and keeps the output of the command until then.
func TestFunctionEnded(t *testing.T) {
	t.Parallel()
	for answers, want := range map[bool]time.Duration{true: 11 * time.Second, false: 27 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(func(ctx context.Context, _ int, _ sandbox.Call) (sandbox.Result, error) {
				if answers {
					time.Sleep(11 * time.Second)
					return sandbox.Result{Code: 3, Log: []byte("said\n")}, nil
				}
				<-ctx.Done()
				return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnknown, ctx.Err())
			})
			ctx, end := context.WithCancelCause(t.Context())
			began := time.Now()
			time.AfterFunc(7*time.Second, func() { end(operators.ErrEnded) })
			_, err := s.For(sandboxtest.Task(1, 2, 1), "archive/0").Run(ctx, operators.Command{Args: []string{"true"}, Stdout: &s.log})
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "was stopped") || took != want {
				t.Errorf("got %v after %v, want %v", err, took, want)
			}
			if c, err := s.memory.Command(t.Context(), 1, "2.0"); err != nil || c.State != sandbox.Over || !c.Result.Stopped || answers && s.log.String() != "said\n" {
				t.Errorf("the command is %+v, %v, log %q", c, err, s.log.String())
			}
			s.wantKilled(t)
		})
	}
}

// TestFunctionCutOff proves that an agent that must stop leaves the command to its call, and that a kill ends a call
// that no caller waits for.
func TestFunctionCutOff(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := newScene(func(ctx context.Context, _ int, _ sandbox.Call) (sandbox.Result, error) {
		close(begun)
		<-ctx.Done()
		return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnknown, ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	_, err := s.For(sandboxtest.Task(1, 2, 1), "archive/0").Run(ctx, operators.Command{Args: []string{"true"}, Stdout: &s.log})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if c, err := s.memory.Command(t.Context(), 1, "2.0"); err != nil || c.State != sandbox.Claimed {
		t.Errorf("the command is %+v, %v", c, err)
	}
	if err := s.For(sandboxtest.Task(1, 2, 2), "archive/0").Stop(t.Context(), param.New("command", "2.0")); err != nil {
		t.Fatal(err)
	}
	if c, err := s.memory.Command(t.Context(), 1, "2.0"); err != nil || !c.Result.Stopped {
		t.Errorf("the command is %+v, %v", c, err)
	}
	s.wantKilled(t)
}

// wantKilled checks that the only call was asked to end, in the place that it polls.
func (s *scene) wantKilled(t *testing.T) {
	t.Helper()
	s.put.mu.Lock()
	defer s.put.mu.Unlock()
	if keys := s.put.keys; len(keys) != 1 || len(s.calls) != 1 || "archive:"+keys[0] != s.calls[0].Killed {
		t.Errorf("put %v, while the call looks at %v", keys, s.calls)
	}
}

// TestFunctionRefuses proves that settings that only machines support give one clear error.
func TestFunctionRefuses(t *testing.T) {
	t.Parallel()
	s := newScene(done)
	for want, c := range map[string]operators.Command{
		"docker: the executor lambda cannot run images":  {Sandbox: operators.Sandbox{Docker: param.New("image", "x"), Image: "x"}},
		"timeout may be at most 9m0s":                    {Sandbox: operators.Sandbox{Time: 10 * time.Minute}},
		"output may be at most 128 MiB":                  {Sandbox: operators.Sandbox{Output: 1 << 30}},
		"cpu, memory cannot be set":                      {Sandbox: operators.Sandbox{CPU: 2, Memory: 1 << 30}},
		"disk, fresh, role, spot cannot be set":          {Sandbox: operators.Sandbox{Disk: 1, Fresh: true, Role: "r", Spot: true}},
		"the scripts and parameters of the command have": {Files: map[string][]byte{"a": make([]byte, 5<<20)}},
	} {
		_, err := s.For(sandboxtest.Task(1, 2, 1), "archive/0").Run(t.Context(), c)
		var config *param.ConfigError
		if !errors.As(err, &config) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "fargate") {
			t.Errorf("got %v, want %s and what to do", err, want)
		}
	}
	id := sandboxtest.Task(1, 2, 1)
	id.SiteID = 5
	if _, err := s.For(id, "archive/0").Run(t.Context(), operators.Command{}); err == nil || !strings.Contains(err.Error(), "only for site 0") {
		t.Errorf("another site: %v", err)
	}
	if s.count() != 0 {
		t.Errorf("%d calls", s.count())
	}
}
