package sandbox_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// vms returns a bench whose commands run in MicroVMs, and their launcher, which also sweeps.
func vms(t *testing.T) (*bench, *sweeping) {
	b := newBench(t)
	on := &sweeping{fake: b.fake}
	b.Launcher = sandbox.Places{"": &fake{over: map[string]string{}}, operators.OnMicrovm: on}
	b.Microvm = sandbox.Class{Image: "microvm", CPU: 1024, Memory: 2048, Disk: 8, On: operators.OnMicrovm}
	return b, on
}

type sweeping struct {
	*fake
	swept [][]string
}

func (s *sweeping) Sweep(_ context.Context, runners []sandbox.Runner) error {
	var names []string
	for _, r := range runners {
		names = append(names, r.Name())
	}
	s.swept = append(s.swept, names)
	return nil
}

// start runs a command for the first time, in a MicroVM.
func (b *bench) start(task int64, box operators.Sandbox) error {
	b.t.Helper()
	_, err := b.Microvms(sandboxtest.Task(1, task, 1), "a").Run(b.t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard, Sandbox: box})
	return err
}

// joins makes a machine join, and returns its pass.
func (b *bench) joins(m machine, id string) string {
	b.t.Helper()
	out, err := b.Join(b.t.Context(), m.ticket, sandbox.Joining{Secret: strings.Repeat("A", 26), Machine: id})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Pass
}

// TestMicrovmRefuses proves that a task gets an error about features that MicroVMs lack, before anything is launched.
func TestMicrovmRefuses(t *testing.T) {
	t.Parallel()
	b, on := vms(t)
	for want, box := range map[string]operators.Sandbox{
		"docker: the executor microvm runs only the image of the stage": {Docker: param.New("image", "x")},
		"sandbox: timeout may be at most 6h30m0s":                       {Time: 7 * time.Hour},
		"sandbox: cpu, memory cannot be set":                            {CPU: 2, Memory: 1 << 30},
		"sandbox: disk, role, spot cannot be set":                       {Disk: 1, Role: "r", Spot: true},
		"use a machine instead (sandbox: {executor: ":                   {CPU: 1},
	} {
		var mistake *param.ConfigError
		if err := b.start(2, box); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	b.Launcher = sandbox.Places{"": b.fake}
	if err := b.start(2, operators.Sandbox{}); err == nil || !strings.Contains(err.Error(), "deploy with -c microvms=allowed") {
		t.Errorf("in a deployment without them: %v", err)
	}
	if on.launches != 0 {
		t.Errorf("%d were launched", on.launches)
	}
}

// TestMicrovmLife checks the life of a machine: it is launched in its place, its command has a time limit, it leaves
// after ten seconds without a command, it is then terminated at once and again by each check until it has ended, and
// afterwards its row is gone.
func TestMicrovmLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, on := vms(t)
		var p *operators.Pending
		if err := b.start(2, operators.Sandbox{}); !errors.As(err, &p) || len(on.runners) != 1 {
			t.Fatalf("%v, launched %+v", err, on.runners)
		}
		m := on.runners[0]
		pass := b.joins(m, "")
		o, err := b.Poll(t.Context(), pass, sandbox.Beat{Free: 4})
		if err != nil || len(o.Commands) != 1 || o.Commands[0].Spec.Limits.Seconds != int64(sandbox.MicrovmTime/time.Second) {
			t.Fatalf("orders %+v, %v", o, err)
		}
		if err := b.Finish(t.Context(), pass, o.Commands[0].Key, sandbox.Result{}); err != nil {
			t.Fatal(err)
		}
		if o, err = b.Poll(t.Context(), pass, sandbox.Beat{Free: 4, Idle: 9_000}); err != nil || o.Leave {
			t.Errorf("after nine seconds: %+v, %v", o, err)
		}
		if o, err = b.Poll(t.Context(), pass, sandbox.Beat{Free: 4, Idle: 10_000}); err != nil || !o.Leave || !slices.Equal(on.stopped, []string{m.Name()}) {
			t.Errorf("after ten seconds: %+v, %v, stopped %v", o, err, on.stopped)
		}
		if n, err := b.Check(t.Context()); n != 1 || err != nil || len(on.stopped) != 2 {
			t.Errorf("a look: %d runners, stopped %v, %v", n, on.stopped, err)
		}
		on.ends(m, "it has ended")
		if _, err := b.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if n, err := b.Check(t.Context()); n != 0 || err != nil {
			t.Errorf("when it has ended there are %d, %v", n, err)
		}
		if len(on.swept) != 3 || !slices.Equal(on.swept[0], []string{m.Name()}) || on.swept[2] != nil {
			t.Errorf("swept beside %v", on.swept)
		}
	})
}

// TestMicrovmAge proves that a machine that is an hour old accepts no more commands, because the platform would end it
// in the middle of one, that it leaves when its last command has ended, and that it does not prevent the launch of
// another machine.
func TestMicrovmAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, on := vms(t)
		b.start(2, operators.Sandbox{}) // pending
		pass := b.joins(on.runners[0], "")
		o, err := b.Poll(t.Context(), pass, sandbox.Beat{Free: 4})
		if err != nil || len(o.Commands) != 1 {
			t.Fatalf("orders %+v, %v", o, err)
		}
		time.Sleep(time.Hour + time.Second) // of the test's own clock
		first := o.Commands[0].Key
		if _, err = b.Poll(t.Context(), pass, sandbox.Beat{Free: 3, Running: []string{first}}); err != nil {
			t.Fatal(err)
		}
		b.start(3, operators.Sandbox{}) // pending
		if len(on.runners) != 2 {
			t.Errorf("%d machines", len(on.runners))
		}
		if o, err = b.Poll(t.Context(), pass, sandbox.Beat{Free: 3, Running: []string{first}}); err != nil || len(o.Commands) != 0 || len(o.Kill) != 0 {
			t.Errorf("with a command: %+v, %v", o, err)
		}
		if err := b.Finish(t.Context(), pass, first, sandbox.Result{}); err != nil {
			t.Fatal(err)
		}
		if o, err = b.Poll(t.Context(), pass, sandbox.Beat{Free: 4, Idle: 600}); err != nil || len(o.Commands) != 0 || !o.Leave {
			t.Errorf("without one: %+v, %v", o, err)
		}
		if o, err = b.Poll(t.Context(), b.joins(on.runners[1], ""), sandbox.Beat{Free: 4}); err != nil || len(o.Commands) != 1 {
			t.Errorf("the young one: %+v, %v", o, err)
		}
	})
}

// TestMicrovmTellsItsName proves that a machine whose launch got no response reports its name once, that other machines
// cannot, and that only valid names are accepted.
func TestMicrovmTellsItsName(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ on, told, want string }{
		{operators.OnMicrovm, "microvm-1", "microvm-1"}, {operators.OnMicrovm, "a b", ""}, {operators.OnMicrovm, "", ""}, {"", "microvm-1", ""},
	} {
		b, on := vms(t)
		of := b.Microvms
		if x.on == "" {
			b.Launcher, of = b.fake, b.For
		}
		on.unsaid = errors.New("the answer is lost")
		of(sandboxtest.Task(1, 2, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard}) // the launch fails
		if len(on.runners) != 1 {
			t.Fatalf("launched %+v", on.runners)
		}
		m := on.runners[0]
		if err := b.memory.AddRunner(t.Context(), m.Runner); err != nil { // the failed launch removed the row
			t.Fatal(err)
		}
		b.joins(m, x.told)
		b.joins(m, "another")
		r, err := b.memory.Runner(t.Context(), m.Name())
		want := x.want
		if want == "" && x.on != "" {
			want = "another" // reported again, because the first was not a valid name
		}
		if err != nil || r.Task != want {
			t.Errorf("%+v: it is called %q, %v", x, r.Task, err)
		}
	}
}

// TestMicrovmLost proves that a command is lost only when its machine has ended, and then runs again alone on another.
func TestMicrovmLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, on := vms(t)
		var p *operators.Pending
		if err := b.start(2, operators.Sandbox{}); !errors.As(err, &p) {
			t.Fatal(err)
		}
		m := on.runners[0]
		pass := b.joins(m, "")
		if o, err := b.Poll(t.Context(), pass, sandbox.Beat{Free: 4}); err != nil || len(o.Commands) != 1 {
			t.Fatalf("orders %+v, %v", o, err)
		}
		time.Sleep(time.Minute) // of the test's own clock: it is silent
		look := func() error {
			id := sandboxtest.Task(1, 2, 1)
			id.Dispatch, id.RetryCount = id.Dispatch+1, id.RetryCount+1
			_, err := b.Microvms(id, "a").Run(t.Context(), operators.Command{Args: []string{"sh"}, Stdout: io.Discard, Status: p.Status})
			return err
		}
		if _, err := b.Check(t.Context()); err != nil || len(on.stopped) != 0 {
			t.Errorf("silent: stopped %v, %v", on.stopped, err)
		}
		if err := look(); !errors.As(err, &p) || len(on.runners) != 1 {
			t.Errorf("while it lives: %v, %d machines", err, len(on.runners))
		}
		on.ends(m, "out of memory")
		if _, err := b.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := look(); !errors.As(err, &p) || len(on.runners) != 2 || on.runners[1].Of.Alone == "" {
			t.Errorf("when it has ended: %v, machines %+v", err, on.runners)
		}
	})
}

// TestPlaces proves that machines in a place that the deployment no longer has are reported, and do not prevent queries
// to the other places.
func TestPlaces(t *testing.T) {
	t.Parallel()
	there := &fake{over: map[string]string{}}
	p := sandbox.Places{"": there}
	here := sandbox.Runner{Attempt: 1, Class: "a", ID: "x"}
	gone := sandbox.Runner{Attempt: 1, Class: "b", ID: "y", Of: sandbox.Class{On: operators.OnMicrovm}}
	there.over[here.Name()], there.over[gone.Name()] = "over", "over"
	over, err := p.Ended(t.Context(), []sandbox.Runner{gone, here})
	if err == nil || !strings.Contains(err.Error(), "microvms: allowed") || len(over) != 1 || over[here.Name()] == "" {
		t.Errorf("over: %v, %v", over, err)
	}
	if err := p.Stop(t.Context(), gone, ""); err == nil || p.Stop(t.Context(), here, "") != nil || !slices.Equal(there.stopped, []string{here.Name()}) {
		t.Errorf("stop: %v, stopped %v", err, there.stopped)
	}
	if _, err := p.Launch(t.Context(), gone, ""); err == nil {
		t.Error("it was launched nowhere")
	}
	if err := p.Sweep(t.Context(), []sandbox.Runner{gone, here}); err != nil {
		t.Error(err)
	}
}
