package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// fake launches nothing and records the calls.
type fake struct {
	mu       sync.Mutex
	runners  []machine
	stopped  []string
	over     map[string]string // by name of the runner: why its machine has ended
	refuse   error
	unsaid   error // the error returned for a launch that was carried out
	launches int
}

// machine is a launched machine, and the pass that it received.
type machine struct {
	sandbox.Runner
	ticket string
	pass   *string
}

func (m machine) Token() string { return *m.pass }

func (f *fake) Check(sandbox.Class, sandbox.Owner) error { return nil }

func (f *fake) Launch(_ context.Context, r sandbox.Runner, ticket string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.launches++
	if f.refuse != nil {
		return "", f.refuse
	}
	f.runners = append(f.runners, machine{r, ticket, new("")})
	if f.unsaid != nil {
		return "", f.unsaid
	}
	return r.Name(), nil
}

func (f *fake) Stop(_ context.Context, r sandbox.Runner, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, r.Name())
	return nil
}

func (f *fake) Ended(_ context.Context, runners []sandbox.Runner) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	over := map[string]string{}
	for _, r := range runners {
		if why, ended := f.over[r.Name()]; ended {
			over[r.Name()] = why
		}
	}
	return over, nil
}

// ends ends a machine.
func (f *fake) ends(m machine, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over[m.Name()] = why
}

// links returns only names.
type links struct{}

func (links) Blob(_ context.Context, key string) (string, error) { return "archive:" + key, nil }
func (links) Put(context.Context, string, []byte) error          { return nil }
func (links) Log(_ context.Context, id sandbox.LogID, runner string, _ time.Time) (string, error) {
	return fmt.Sprint("log:", id.Task, runner), nil
}
func (links) Output(_ context.Context, key string, _ int64) (string, error) { return "put:" + key, nil }
func (links) Read(_ context.Context, key string) ([]byte, error)            { return []byte(key), nil }

// bench is a service over the model, without machines.
type bench struct {
	*sandbox.Service
	t       *testing.T
	memory  *sandboxtest.Memory
	fake    *fake
	mu      sync.Mutex
	woke    []engine.Run
	alarms  []string
	secrets map[string]string
	done    bool
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, memory: sandboxtest.NewMemory(), fake: &fake{over: map[string]string{}}, secrets: map[string]string{}}
	b.Service = sandbox.New(sandbox.Options{Commands: b.memory, Work: b.memory, Runners: b.memory, Liveness: b.memory, Fences: b.memory, Launcher: b.fake, Links: links{}, Default: sandbox.Class{Image: "i"}, Keys: sandboxtest.Keys(),
		Alarm:   func(_ context.Context, text string) error { b.alarms = append(b.alarms, text); return nil },
		Secrets: func(context.Context, int64, int64) (map[string]string, error) { return b.secrets, nil },
		Attempt: func(context.Context, int64, int64) (host.Attempt, error) { return host.Attempt{Done: b.done}, nil },
		Wake: func(_ context.Context, _ int64, run engine.Run) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.woke = append(b.woke, run)
			return nil
		}})
	return b
}

// submit runs a command for the first time and returns its pending state.
func (b *bench) submit(task int64, change ...func(*operators.Command)) *operators.Pending {
	b.t.Helper()
	c := operators.Command{Args: []string{"sh"}, Stdout: io.Discard}
	for _, f := range change {
		f(&c)
	}
	_, err := b.For(sandboxtest.Task(1, task, 1), "a").Run(b.t.Context(), c)
	var p *operators.Pending
	if !errors.As(err, &p) {
		b.t.Fatalf("task %d is not pending: %v", task, err)
	}
	return p
}

// again makes the next run of a task whose command was pending.
func (b *bench) again(task int64, dispatch int, p *operators.Pending) (operators.Exit, error) {
	return b.For(sandboxtest.Task(1, task, dispatch), "a").Run(b.t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard, Status: p.Status})
}

// stop ends the pending command of a task.
func (b *bench) stop(task int64, p *operators.Pending) error {
	return b.For(sandboxtest.Task(1, task, 2), "a").Stop(b.t.Context(), p.Status)
}

// two makes one machine run the commands of tasks 2 and 3.
func (b *bench) two() (m machine, second, third *operators.Pending) {
	b.t.Helper()
	second, third = b.submit(2), b.submit(3)
	m = b.fake.runners[0]
	if o := b.poll(m, sandbox.Beat{Free: 2}); len(o.Commands) != 2 {
		b.t.Fatalf("it has got %+v", o)
	}
	return m, second, third
}

// join makes a machine join unless it has joined.
func (b *bench) join(m machine) {
	b.t.Helper()
	if *m.pass != "" {
		return
	}
	joined, err := b.Join(b.t.Context(), m.ticket, sandbox.Joining{Secret: rand.Text()})
	if err != nil {
		b.t.Fatal(err)
	}
	*m.pass = joined.Pass
}

func (b *bench) poll(r machine, beat sandbox.Beat) sandbox.Orders {
	b.t.Helper()
	b.join(r)
	o, err := b.Poll(b.t.Context(), r.Token(), beat)
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

func (b *bench) check() error {
	_, err := b.Check(b.t.Context())
	return err
}

func timed(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

// TestLife checks the life of a command: it waits, a runner claims it, its end wakes the task, and the task's next run
// gets the result. A repeated report changes nothing.
func TestLife(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		o := b.poll(r, sandbox.Beat{Free: 4})
		if len(o.Commands) != 1 || o.Commands[0].Key != "2.0" || o.Commands[0].Archive != "archive:a" || o.Commands[0].Spec.Args[0] != "sh" {
			t.Fatalf("orders: %+v", o)
		}
		if o := b.poll(r, sandbox.Beat{Free: 3, Running: []string{"2.0"}}); len(o.Commands)+len(o.Kill) != 0 || o.Wait <= 0 {
			t.Errorf("orders while it runs: %+v", o)
		}
		result := sandbox.Result{Code: 3, Outputs: map[string][]byte{"o": []byte("x")}, Lost: true}
		for range 2 {
			if err := b.Finish(t.Context(), r.Token(), "2.0", result); err != nil {
				t.Fatal(err)
			}
		}
		if len(b.woke) == 0 || b.woke[0] != (engine.Run{Task: 2, Dispatch: 2}) {
			t.Errorf("woke %v", b.woke)
		}
		exit, err := b.again(2, 2, p)
		if err != nil || exit.Code != 3 || string(exit.Outputs["o"]) != "x" {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
}

// TestOnce proves that a run that is repeated after a crash finds the command of the previous run and starts no other.
func TestOnce(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		o := b.poll(b.fake.runners[0], sandbox.Beat{Free: 4})
		id := sandboxtest.Task(1, 2, 1)
		id.Dispatch = 2 // taken over: another dispatch with the same retry count
		_, err := b.For(id, "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard})
		var p *operators.Pending
		if !errors.As(err, &p) {
			t.Fatal(err)
		}
		if more := b.poll(b.fake.runners[0], sandbox.Beat{Free: 4, Running: []string{"2.0"}}); len(o.Commands) != 1 || len(more.Commands) != 0 || b.fake.launches != 1 {
			t.Errorf("%d launches, orders %+v", b.fake.launches, more)
		}
	})
}

// TestCrowd checks how many machines commands get: one for twenty commands that share it, one for each command with its
// own size, and never more than ten.
func TestCrowd(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 20 {
			b.submit(int64(i + 2))
		}
		if b.fake.launches != 1 {
			t.Errorf("20 that share have %d machines", b.fake.launches)
		}
		for i := range 300 {
			b.submit(int64(i + 100))
		}
		if b.fake.launches != sandbox.MaxRunners {
			t.Errorf("320 that share have %d machines", b.fake.launches)
		}
		own := newBench(t)
		for i := range 12 {
			own.submit(int64(i+2), func(c *operators.Command) { c.Sandbox.Memory = 3 << 30 })
		}
		if n := own.fake.launches; n != sandbox.MaxRunners {
			t.Errorf("12 of a size of their own have %d machines", n)
		}
		if of := own.fake.runners[0].Of; of.Memory != 3072 || of.CPU != 512 || of.Slots() != 1 {
			t.Errorf("the machine is %+v", of)
		}
	})
}

// TestLeave proves that an idle runner leaves, at once if its attempt has ended, and never if a command has arrived.
func TestLeave(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{}); err != nil {
			t.Fatal(err)
		}
		if b.poll(r, sandbox.Beat{Free: 4, Idle: 30_000}).Leave {
			t.Error("it left although the attempt goes on")
		}
		b.submit(3)
		if o := b.poll(r, sandbox.Beat{Free: 4, Idle: 61_000}); o.Leave || len(o.Commands) != 1 {
			t.Errorf("it left although a command waits: %+v", o)
		}
		if err := b.Finish(t.Context(), r.Token(), "3.0", sandbox.Result{}); err != nil {
			t.Fatal(err)
		}
		b.done = true
		if !b.poll(r, sandbox.Beat{Free: 4, Idle: 1_000}).Leave {
			t.Error("it stays although the attempt is over")
		}
		if _, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("it is heard after it has left: %v", err)
		}
		b.submit(4)
		if b.fake.launches != 2 {
			t.Errorf("%d machines for a command after the first has left", b.fake.launches)
		}
	})
}

// TestLost proves that the commands of a machine that has ended run again alone and fail when the third machine is
// lost; and that a machine that is asked to end after a long silence loses its commands only when it has ended.
func TestLost(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		for n := 0; ; n++ {
			r := b.fake.runners[n]
			if o := b.poll(r, sandbox.Beat{Free: 1}); len(o.Commands) != 1 {
				t.Fatalf("machine %d has %+v", n, o)
			}
			key := fmt.Sprintf("2.%d", n)
			for range 15 * 3 { // the API is unavailable for as long as a machine stays
				time.Sleep(20 * time.Second)
				if err := b.check(); err != nil || len(b.fake.stopped) != n {
					t.Fatalf("a machine that runs was stopped: %v, %v", b.fake.stopped, err)
				}
			}
			b.poll(r, sandbox.Beat{Running: []string{key}})
			time.Sleep(17*time.Minute + time.Second)
			woke := len(b.woke)
			for range 3 {
				if err := b.check(); err != nil || len(b.fake.stopped) == n || len(b.woke) != woke || len(b.fake.runners) != n+1 {
					t.Fatalf("a machine that has not ended: stopped %v, woke %v, %v", b.fake.stopped, b.woke, err)
				}
			}
			b.fake.stopped = b.fake.stopped[:n+1]
			if _, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{}); !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("a machine that was given up is heard: %v", err)
			}
			if err := b.Finish(t.Context(), r.Token(), key, sandbox.Result{}); !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("its result counts: %v", err)
			}
			b.fake.ends(r, "it was asked to")
			if err := b.check(); err != nil || len(b.woke) == woke {
				t.Fatalf("a machine that has ended: %v, woke %v", err, b.woke)
			}
			_, err := b.again(2, n+2, p)
			if !errors.As(err, &p) {
				if n != 2 || err == nil || !strings.Contains(err.Error(), "lost 3 times") || !strings.Contains(err.Error(), "17m") {
					t.Errorf("after %d losses: %v", n+1, err)
				}
				return
			}
			if b.fake.runners[n+1].Of.Alone == "" {
				t.Error("it is not alone")
			}
		}
	})
}

// TestNotNotedAndDeaf proves that a machine whose launch was never recorded, and that came up and then is silent for
// too long, is stopped like any other and not launched again.
func TestNotNotedAndDeaf(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.unsaid = fmt.Errorf("the answer is lost: %w", host.ErrUnavailable)
		_, err := b.For(sandboxtest.Task(1, 2, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard})
		if len(b.fake.runners) != 1 {
			t.Fatalf("%d machines: %v", len(b.fake.runners), err)
		}
		b.poll(b.fake.runners[0], sandbox.Beat{Free: 1})
		time.Sleep(17*time.Minute + time.Second)
		launches := b.fake.launches
		if err := b.check(); err != nil || len(b.fake.stopped) != 1 || b.fake.launches != launches {
			t.Errorf("stopped %v, launched %d times more: %v", b.fake.stopped, b.fake.launches-launches, err)
		}
	})
}

// TestUnheard proves that a command that arrives while a machine is silent gets another machine, and that the sweep
// notices a machine that ends silently.
func TestUnheard(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		time.Sleep(41 * time.Second)
		b.submit(3)
		if len(b.fake.runners) != 2 {
			t.Fatalf("%d machines", len(b.fake.runners))
		}
		if o := b.poll(r, sandbox.Beat{Free: 3, Running: []string{"2.0"}}); len(o.Commands) != 1 || len(o.Kill) != 0 {
			t.Errorf("when it is heard again: %+v", o)
		}
		time.Sleep(41 * time.Second)
		b.fake.ends(r, "its host is gone")
		woke := len(b.woke)
		if err := b.check(); err != nil || len(b.woke) != woke+2 || len(b.fake.stopped) != 0 {
			t.Errorf("woke %v, stopped %v, %v", b.woke, b.fake.stopped, err)
		}
	})
}

// TestBusy proves that a machine that cannot be launched is launched later, however long that takes, by one of the
// waiting commands or, if that command is gone, by the sweep over all machines; that the others do not try in the
// meantime; and that each logs why it waits.
func TestBusy(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.refuse = fmt.Errorf("%w: RESOURCE:ENI", sandbox.ErrBusy)
		p := b.submit(2)
		if p.After <= 0 || p.After > time.Minute {
			t.Errorf("it is tried again after %v", p.After)
		}
		var log bytes.Buffer
		if other := b.submit(3, func(c *operators.Command) { c.Stdout = &log }); other.After < 5*time.Minute || b.fake.launches != 1 {
			t.Errorf("another command looks again after %v; %d launches", other.After, b.fake.launches)
		}
		if !strings.Contains(log.String(), "waits for a machine") || !strings.Contains(log.String(), "RESOURCE:ENI") {
			t.Errorf("its log is %q", &log)
		}
		for n := 2; n < 40; n++ {
			time.Sleep(p.After)
			if _, err := b.again(2, n, p); !errors.As(err, &p) || b.fake.launches != n || p.After > 2*time.Minute {
				t.Fatalf("run %d: %v, again after %v; %d launches", n, err, p.After, b.fake.launches)
			}
		}
		b.fake.refuse = nil
		time.Sleep(time.Minute)
		if err := b.check(); err != nil || len(b.fake.runners) != 1 {
			t.Errorf("with room: %v, %d machines", err, len(b.fake.runners))
		}
		if o := b.poll(b.fake.runners[0], sandbox.Beat{Free: 4}); len(o.Commands) != 2 {
			t.Errorf("got %+v", o)
		}
	})
}

// TestNoRoom proves that a machine for which ECS finds no capacity after the launch is launched again later, and that
// its command reports why it waits; that no task launches a machine for commands that have ended; and that a launch
// that can never succeed ends the command.
func TestNoRoom(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		for n := range 8 {
			if err := b.Stopped(t.Context(), b.fake.runners[n].Name(), "no room", sandbox.NoRoom); err != nil || len(b.woke) != n+1 {
				t.Fatalf("%v, woke %v", err, b.woke)
			}
			if _, err := b.again(2, n+2, p); !errors.As(err, &p) || b.fake.launches != n+1 {
				t.Fatalf("%v; %d launches", err, b.fake.launches)
			}
			time.Sleep(time.Minute)
			if err := b.check(); err != nil || b.fake.launches != n+2 {
				t.Fatalf("%v; %d launches", err, b.fake.launches)
			}
		}
		b.fake.refuse = errors.New("no such role")
		if err := b.Stopped(t.Context(), b.fake.runners[8].Name(), "no room", sandbox.NoRoom); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := b.check(); err == nil || len(b.woke) != 10 {
			t.Errorf("%v; woke %v", err, b.woke)
		}
		if _, err := b.again(2, 12, p); errors.As(err, &p) || err == nil || !strings.Contains(err.Error(), "no such role") {
			t.Errorf("got %v", err)
		}
	})
}

// TestGoneBeforeItCameUp proves that another machine is launched for a missing one, as after a restore into another
// region, long before the time limit for coming up; and that for a machine that ended, the service waits for the event,
// which explains what to do.
func TestGoneBeforeItCameUp(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		b.fake.ends(b.fake.runners[0], sandbox.Gone)
		time.Sleep(time.Minute)
		if err := b.check(); err != nil || b.fake.launches != 1 {
			t.Fatalf("asked for too early: %v; %d launches", err, b.fake.launches)
		}
		time.Sleep(time.Minute + time.Second)
		if err := b.check(); err != nil || len(b.woke) != 1 {
			t.Fatalf("%v; woke %v", err, b.woke)
		}
		time.Sleep(time.Minute)
		if err := b.check(); err != nil || b.fake.launches != 2 || len(b.fake.stopped) != 0 {
			t.Fatalf("%v; %d launches, stopped %v", err, b.fake.launches, b.fake.stopped)
		}
		b.fake.ends(b.fake.runners[1], "the image is not there")
		time.Sleep(3 * time.Minute)
		if err := b.check(); err != nil || b.fake.launches != 2 {
			t.Errorf("ended without its event: %v; %d launches", err, b.fake.launches)
		}
	})
}

// TestNoAPI proves that commands wait for as long as the API is unavailable, however many machines come up meanwhile
// and cannot join: each is stopped, the log explains why the next one is awaited, and the one that can join gets the
// command.
func TestNoAPI(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		for n := range 8 {
			time.Sleep(10*time.Minute + time.Second)
			if err := b.check(); err != nil || len(b.fake.stopped) != n+1 || len(b.woke) != n+1 {
				t.Fatalf("%v; stopped %v, woke %v", err, b.fake.stopped, b.woke)
			}
			var log bytes.Buffer
			_, err := b.For(sandboxtest.Task(1, 2, n+2), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: &log, Status: p.Status})
			if !errors.As(err, &p) || !strings.Contains(log.String(), "did not start within") {
				t.Fatalf("it does not wait: %v; its log is %q", err, &log)
			}
			time.Sleep(time.Minute)
			if err := b.check(); err != nil || len(b.fake.runners) != n+2 {
				t.Fatalf("%v; %d machines", err, len(b.fake.runners))
			}
		}
		if o := b.poll(b.fake.runners[8], sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
			t.Errorf("the API is there again: %+v", o)
		}
		if list, err := b.memory.Runners(t.Context(), 0); err != nil || len(list) != 1 {
			t.Errorf("left: %+v, %v", list, err)
		}
	})
}

// TestNobodyWaits proves that a machine that could not be launched is given up if no command waits for it.
func TestNobodyWaits(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.refuse = fmt.Errorf("%w: RESOURCE:ENI", sandbox.ErrBusy)
		p := b.submit(2)
		b.done = true
		if err := b.stop(2, p); err != nil {
			t.Fatal(err)
		}
		b.done = false
		b.Prepare(t.Context(), sandboxtest.Task(1, 3, 1), operators.Sandbox{})
		time.Sleep(time.Minute)
		if err := b.check(); err != nil || b.fake.launches != 2 {
			t.Errorf("%v; %d launches", err, b.fake.launches)
		}
		if left, err := b.memory.Runners(t.Context(), 0); err != nil || len(left) != 0 {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

// TestStopped checks what happens if a machine ends before its first request: another is tried or, if none would fare
// better, the commands fail with the reason.
func TestStopped(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		if err := b.Stopped(t.Context(), b.fake.runners[0].Name(), "no room", sandbox.Lost); err != nil || len(b.woke) != 1 {
			t.Fatalf("%v, woke %v", err, b.woke)
		}
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || len(b.fake.runners) != 2 {
			t.Errorf("another one: %v, %d", err, len(b.fake.runners))
		}
		if err := b.Stopped(t.Context(), b.fake.runners[1].Name(), "no such image", sandbox.Final); err != nil {
			t.Fatal(err)
		}
		if exit, err := b.again(2, 3, p); err != nil || exit.Why != "no such image" {
			t.Errorf("got %+v, %v", exit, err)
		}
		if err := b.Stopped(t.Context(), b.fake.runners[1].Name(), "again", sandbox.Final); err != nil {
			t.Errorf("told twice: %v", err)
		}
	})
}

// TestKilled proves that a kill ends waiting and running commands, with their machine.
func TestKilled(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 1})
		b.done = true
		if err := b.stop(2, p); err != nil || len(b.fake.stopped) != 1 {
			t.Fatalf("%v, stopped %v", err, b.fake.stopped)
		}
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("its end counts: %v", err)
		}
		if err := b.stop(2, p); err != nil {
			t.Errorf("stopped twice: %v", err)
		}
	})
}

// TestTimeOver proves that a command whose task has timed out is ended without ending the machine, which has commands
// of other tasks; and that its task waits until the machine has ended it, but not forever for a silent machine.
func TestTimeOver(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		r, late, other := b.two()
		began, stopped := time.Now(), make(chan error)
		stop := func(task int64, p *operators.Pending) { stopped <- b.stop(task, p) }
		go stop(2, late)
		time.Sleep(5 * time.Second)
		if o := b.poll(r, sandbox.Beat{Running: []string{"2.0", "3.0"}}); len(o.Kill) != 1 || o.Kill[0] != "2.0" || o.Leave {
			t.Errorf("it is told %+v", o)
		}
		time.Sleep(time.Second)
		select {
		case err := <-stopped:
			t.Errorf("its task did not wait for its end: %v", err)
		default:
		}
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{Code: 143}); err != nil {
			t.Errorf("none of its processes runs any more: %v", err)
		}
		if err := <-stopped; err != nil || time.Since(began) > 8*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if len(b.fake.stopped) != 0 {
			t.Errorf("stopped %v", b.fake.stopped)
		}
		began = time.Now()
		go stop(3, other)
		if err := <-stopped; err != nil || time.Since(began) < 20*time.Second || time.Since(began) > 22*time.Second {
			t.Errorf("of a machine that says nothing: %v after %v", err, time.Since(began))
		}
		waits := b.submit(4)
		began = time.Now()
		go stop(4, waits)
		if err := <-stopped; err != nil || time.Since(began) != 0 || len(b.fake.stopped) != 0 {
			t.Errorf("one that no machine has: %v after %v, stopped %v", err, time.Since(began), b.fake.stopped)
		}
	})
}

// TestKilledOneAfterTheOther proves that a machine is stopped with the last command of a killed attempt, and not while
// it has a command that runs after the kill, such as that of `_cancel`.
func TestKilledOneAfterTheOther(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		r, first, second := b.two()
		b.done = true
		began, stopped := time.Now(), make(chan error, 2)
		stop := func(task int64, p *operators.Pending) { stopped <- b.stop(task, p) }
		go stop(2, first)
		synctest.Wait()
		if len(b.fake.stopped) != 0 {
			t.Fatalf("stopped while it has another one: %v", b.fake.stopped)
		}
		cancel := b.submit(4)
		if o := b.poll(r, sandbox.Beat{Free: 1, Running: []string{"3.0"}}); len(o.Commands) != 1 || o.Commands[0].Key != "4.0" {
			t.Fatalf("what runs after the kill: %+v", o)
		}
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{Code: 143}); err != nil {
			t.Error(err)
		}
		go stop(3, second)
		synctest.Wait()
		if len(b.fake.stopped) != 0 {
			t.Fatalf("stopped while it has what runs after the kill: %v", b.fake.stopped)
		}
		if err := b.Finish(t.Context(), r.Token(), "3.0", sandbox.Result{Code: 143}); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-stopped; err != nil || time.Since(began) > 5*time.Second { // of which the third command was watched for three
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		began = time.Now()
		go stop(4, cancel)
		if err := <-stopped; err != nil || len(b.fake.stopped) != 1 || time.Since(began) > time.Second {
			t.Errorf("the last one: %v after %v, stopped %v", err, time.Since(began), b.fake.stopped)
		}
	})
}

// TestEndedAtFirst proves that a run that is cut off while it waits for its command to end soon ends the command if the
// task must end, because no later run will know about it. Otherwise, the next run continues with the command.
func TestEndedAtFirst(t *testing.T) {
	t.Parallel()
	for _, why := range []error{operators.ErrEnded, nil} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.submit(2)
			r := b.fake.runners[0]
			b.poll(r, sandbox.Beat{Free: 4})
			b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{})
			ctx, end := context.WithCancelCause(t.Context())
			ended := make(chan error)
			go func() {
				_, err := b.For(sandboxtest.Task(1, 3, 1), "a").Run(ctx, operators.Command{Args: []string{"sh"}, Stdout: io.Discard})
				ended <- err
			}()
			time.Sleep(time.Second)
			if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
				t.Fatalf("it is told %+v", o)
			}
			end(why)
			synctest.Wait()
			o := b.poll(r, sandbox.Beat{Free: 3, Running: []string{"3.0"}})
			if why != nil {
				if len(o.Kill) != 1 {
					t.Errorf("the machine is told %+v", o)
				}
				if err := b.Finish(t.Context(), r.Token(), "3.0", sandbox.Result{Code: 143}); err != nil {
					t.Error(err)
				}
			} else if len(o.Kill) != 0 {
				t.Errorf("the machine is told %+v", o)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) || len(b.fake.stopped) != 0 {
				t.Errorf("%v, stopped %v", err, b.fake.stopped)
			}
		})
	}
}

// TestPatience proves that a task waits briefly for a command that a machine can take at once, and then needs no wake.
func TestPatience(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{})
		b.woke = nil
		go func() {
			time.Sleep(time.Second)
			b.poll(r, sandbox.Beat{Free: 4})
			b.Finish(t.Context(), r.Token(), "3.0", sandbox.Result{Code: 5})
		}()
		exit, err := b.For(sandboxtest.Task(1, 3, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard})
		if err != nil || exit.Code != 5 || len(b.woke) != 0 {
			t.Errorf("got %+v, %v; woke %v", exit, err, b.woke)
		}
	})
}

// TestCrowded proves that commands that have waited for a long time get another machine.
func TestCrowded(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 10 {
			b.submit(int64(i + 2))
		}
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		for range 3 {
			time.Sleep(20 * time.Second)
			b.poll(r, sandbox.Beat{Free: 0, Running: []string{"2.0", "3.0", "4.0", "5.0"}})
			if err := b.check(); err != nil {
				t.Fatal(err)
			}
		}
		if b.fake.launches != 2 {
			t.Errorf("%d machines", b.fake.launches)
		}
	})
}

// stale always lists the commands that waited at the first call, as for machines that poll concurrently.
type stale struct {
	sandbox.Work
	first []sandbox.Command
	lost  int // claims that failed
}

func (s *stale) Waiting(ctx context.Context, attempt int64, class string, n int) ([]sandbox.Command, error) {
	if s.first == nil {
		list, err := s.Work.Waiting(ctx, attempt, class, 1000)
		if err != nil {
			return nil, err
		}
		s.first = list
	}
	return s.first[:min(n, len(s.first))], nil
}

func (s *stale) Claim(ctx context.Context, attempt int64, key, runner string) (sandbox.Command, error) {
	c, err := s.Work.Claim(ctx, attempt, key, runner)
	if errors.Is(err, host.ErrConflict) {
		s.lost++
	}
	return c, err
}

// TestSideBySide proves that machines that poll at the same time do not try to claim the same commands, and that all of
// them find the last commands.
func TestSideBySide(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 50 {
			b.submit(int64(i + 2))
		}
		s := &stale{Work: b.memory}
		b.Service.Work = s
		for _, r := range b.fake.runners {
			if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 4 {
				t.Errorf("machine %d got %d commands", r.Slot, len(o.Commands))
			}
		}
		if len(b.fake.runners) < 3 || s.lost > 0 {
			t.Errorf("%d machines, %d claims in vain", len(b.fake.runners), s.lost)
		}
		last := b.fake.runners[len(b.fake.runners)-1]
		total := 4 * len(b.fake.runners)
		for range 50 {
			s.first = nil
			total += len(b.poll(last, sandbox.Beat{Free: 4}).Commands)
		}
		if total != 50 {
			t.Errorf("%d commands were claimed", total)
		}
	})
}

// TestSealed proves that no row contains secrets, that the claim returns them unchanged, and that a missing secret ends
// the command with a reason.
func TestSealed(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.secrets = map[string]string{"long": "hunter2hunter2", "part": "hunter2", "short": "s", "empty": ""}
		all := func(c *operators.Command) {
			c.Args = []string{"sh", "hunter2hunter2 hunter2 sss\x02\x03"}
			c.Env = []string{"A=hunter2"}
			c.Files = map[string][]byte{"f": []byte("hunter2hunter2hunter2 is s")}
			c.Secrets = map[string]string{"long": "hunter2hunter2", "part": "hunter2", "short": "s", "empty": ""}
		}
		b.submit(2, all)
		c, err := b.memory.Claim(t.Context(), 1, "2.0", b.fake.runners[0].Name())
		if err != nil || bytes.Contains(c.Spec, []byte("hunter2")) {
			t.Errorf("the row: %s, %v", c.Spec, err)
		}
		b.submit(3, all)
		o := b.poll(b.fake.runners[0], sandbox.Beat{Free: 1})
		if len(o.Commands) != 1 {
			t.Fatalf("%+v", o)
		}
		if s := o.Commands[0].Spec; s.Args[1] != "hunter2hunter2 hunter2 sss\x02\x03" || s.Env[0] != "A=hunter2" || string(s.Files["f"]) != "hunter2hunter2hunter2 is s" || len(s.Secrets) != 0 {
			t.Errorf("it came as %+v", s)
		}
		p := b.submit(4, all)
		delete(b.secrets, "part")
		b.poll(b.fake.runners[0], sandbox.Beat{Free: 1})
		if exit, err := b.again(4, 2, p); err != nil || !strings.Contains(exit.Why, "part was deleted") {
			t.Errorf("without the secret: %+v, %v", exit, err)
		}
	})
}

// TestCutOff proves that if a process is cut off while it ends a runner, the next one finds everything that it left.
func TestCutOff(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 1})
		if _, err := b.memory.Fence(t.Context(), r.Name(), "because"); err != nil {
			t.Fatal(err)
		}
		if err := b.check(); err != nil || len(b.woke) != 0 || len(b.fake.stopped) != 1 {
			t.Errorf("the check: %v, woke %v, stopped %v", err, b.woke, b.fake.stopped)
		}
		b.fake.ends(r, "it was asked to")
		if err := b.check(); err != nil || len(b.woke) != 1 {
			t.Errorf("the check when it has ended: %v, woke %v", err, b.woke)
		}
		if _, err := b.memory.Runner(t.Context(), r.Name()); !errors.Is(err, host.ErrNotFound) {
			t.Errorf("its row is left: %v", err)
		}
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || len(b.fake.runners) != 2 {
			t.Errorf("it does not run again: %v", err)
		}
	})
}

// listed is a store whose list of all runners is outdated.
type listed struct {
	*sandboxtest.Memory
	before []sandbox.Runner
}

func (l listed) Runners(ctx context.Context, attempt int64) ([]sandbox.Runner, error) {
	if attempt == 0 {
		return l.before, nil
	}
	return l.Memory.Runners(ctx, attempt)
}

// TestOldList proves that a sweep over all machines that continues with an old list removes no machine that has come up
// since.
func TestOldList(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.refuse = sandbox.ErrBusy
		b.submit(2)
		time.Sleep(6 * time.Second)
		before, err := b.memory.Runners(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		b.fake.refuse = nil
		if err := b.check(); err != nil || len(b.fake.runners) != 1 {
			t.Fatalf("%v, %d machines", err, len(b.fake.runners))
		}
		r := b.fake.runners[0]
		time.Sleep(20 * time.Second)
		if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
			t.Fatalf("orders: %+v", o)
		}
		b.Runners = listed{b.memory, before}
		if err := b.check(); err != nil {
			t.Error(err)
		}
		if o, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{Running: []string{"2.0"}}); err != nil || len(o.Kill) != 0 {
			t.Errorf("a machine at work is told %+v, %v", o, err)
		}
	})
}

// TestLaunchedUnnoted proves that a machine that has come up stays although its launch was not recorded, and that a
// second machine of the same runner is refused.
func TestLaunchedUnnoted(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		if err := b.memory.Launched(t.Context(), r.Name(), "", time.Now()); err != nil { // as if it was cut off
			t.Fatal(err)
		}
		if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
			t.Fatalf("orders: %+v", o)
		}
		b.submit(3)
		b.fake.refuse = errors.New("no such image")
		time.Sleep(6 * time.Second)
		if err := b.check(); err != nil {
			t.Error(err)
		}
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || b.fake.launches != 2 {
			t.Errorf("its command: %v; %d launches", err, b.fake.launches)
		}
		if o, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{Free: 3, Running: []string{"2.0"}}); err != nil || len(o.Commands) != 1 {
			t.Errorf("a machine at work is told %+v, %v", o, err)
		}
	})
}

// TestRowGone proves that a command whose runner's row is gone runs elsewhere only when the machine has ended, and not
// while that cannot be queried.
func TestRowGone(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
			t.Fatalf("orders: %+v", o)
		}
		if err := b.memory.Remove(t.Context(), r.Name(), -1); err != nil {
			t.Fatal(err)
		}
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || len(b.fake.runners) != 1 {
			t.Errorf("while its machine runs: %v, %d machines", err, len(b.fake.runners))
		}
		b.Launcher = away{b.fake}
		if _, err := b.again(2, 3, p); !errors.As(err, &p) || p.After > time.Minute || len(b.fake.runners) != 1 {
			t.Errorf("while nobody can be asked: %v, %d machines", err, len(b.fake.runners))
		}
		b.Launcher = b.fake
		b.fake.ends(r, "it has left")
		if _, err := b.again(2, 4, p); !errors.As(err, &p) || len(b.fake.runners) != 2 {
			t.Errorf("when its machine has ended: %v, %d machines", err, len(b.fake.runners))
		}
	})
}

// away is a launcher that cannot report which machines have ended.
type away struct{ *fake }

func (away) Ended(context.Context, []sandbox.Runner) (map[string]string, error) {
	return nil, errors.New("ECS is away")
}

// TestAnswerLost proves that commands are handed over again if the response to their claim was lost, and that a machine
// does not leave while such a claim may still arrive.
func TestAnswerLost(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		b.submit(3)
		r := b.fake.runners[0]
		if o := b.poll(r, sandbox.Beat{Free: 2}); len(o.Commands) != 2 {
			t.Fatalf("%+v", o)
		}
		o := b.poll(r, sandbox.Beat{Free: 1, Running: []string{"2.0"}, Lost: true})
		if len(o.Commands) != 1 || o.Commands[0].Key != "3.0" {
			t.Errorf("handed over again: %+v", o)
		}
		if o := b.poll(r, sandbox.Beat{Free: 0, Running: []string{"2.0", "3.0"}}); len(o.Commands)+len(o.Kill) != 0 {
			t.Errorf("then: %+v", o)
		}
		for _, key := range []string{"2.0", "3.0"} {
			if err := b.Finish(t.Context(), r.Token(), key, sandbox.Result{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, lost := range []bool{true, false} {
			if o := b.poll(r, sandbox.Beat{Free: 2, Idle: 61_000, Lost: lost}); o.Leave == lost {
				t.Errorf("an answer was lost lately: %v: %+v", lost, o)
			}
		}
	})
}

// TestLogLost proves that a command whose log could not be stored keeps its result, and that the log of its task
// reports what is missing.
func TestLogLost(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{LogLost: "the store refuses it: 403"}); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		exit, err := b.For(sandboxtest.Task(1, 2, 2), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: &log, Status: p.Status})
		if err != nil || exit.Code != 0 || exit.Why != "" || log.String() != "zerodag: the end of this command's log is missing: the store refuses it: 403\n" {
			t.Errorf("got %+v, %v; its log is %q", exit, err, &log)
		}
	})
}

// TestOutage proves that a task waits while the store is unavailable, and continues with the command that it had
// requested.
func TestOutage(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.fake.refuse = host.ErrUnavailable
		p := b.submit(2)
		b.fake.refuse = nil
		time.Sleep(p.After)
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || len(b.fake.runners) != 1 {
			t.Fatalf("%v, %d machines", err, len(b.fake.runners))
		}
		if o := b.poll(b.fake.runners[0], sandbox.Beat{Free: 4}); len(o.Commands) != 1 || o.Commands[0].Key != "2.0" {
			t.Errorf("%+v", o)
		}
	})
}
