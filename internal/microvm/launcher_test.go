package microvm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/integration/microvmfake"
	"zerodag/internal/host"
	"zerodag/internal/microvm"
	"zerodag/internal/sandbox"
	"zerodag/operators"
)

func launcher(t *testing.T, change ...func(*microvm.Options)) (*microvm.Launcher, *microvmfake.Fake) {
	f := microvmfake.New(t)
	o := microvm.Options{Image: microvmfake.Image, URL: "https://api.example"}
	for _, c := range change {
		c(&o)
	}
	return microvm.New(f.Config(), o), f
}

func runner(slot int) sandbox.Runner {
	of := sandbox.Class{Image: "i", CPU: 1024, Memory: 2048, On: operators.OnMicrovm}
	return sandbox.Runner{Attempt: 5, Class: of.Key(), Slot: slot, ID: "abcdefghijklmnop", Of: of, Launched: time.Now()}
}

// launch starts a runner's machine.
func launch(t *testing.T, l *microvm.Launcher, r sandbox.Runner) sandbox.Runner {
	t.Helper()
	id, err := l.Launch(t.Context(), r, "ticket")
	if err != nil {
		t.Fatal(err)
	}
	r.Task = id
	return r
}

// TestLaunch proves that a runner has one machine, however often it is launched, and that the machine has no role, no
// inbound connections, no suspension and no service log, and ends after eight hours.
func TestLaunch(t *testing.T) {
	t.Parallel()
	l, f := launcher(t)
	first := launch(t, l, runner(0))
	if again := launch(t, l, runner(0)); again.Task != first.Task {
		t.Errorf("launched again: %s instead of %s", again.Task, first.Task)
	}
	if other := launch(t, l, runner(1)); other.Task == first.Task {
		t.Errorf("another runner has the same machine: %s", other.Task)
	}
	list := f.Machines()
	if len(list) != 2 {
		t.Fatalf("%d machines", len(list))
	}
	in := list[0].Request
	delete(in, "clientToken")
	got, _ := json.Marshal(in)
	want := `{"egressNetworkConnectors":["arn:aws:lambda:eu-west-1:aws:network-connector:aws-network-connector:INTERNET_EGRESS"],"imageIdentifier":"` + microvmfake.Image +
		`","ingressNetworkConnectors":["arn:aws:lambda:eu-west-1:aws:network-connector:aws-network-connector:NO_INGRESS"],"logging":{"disabled":{}},"maximumDurationInSeconds":28800,` +
		`"runHookPayload":"{\"zerodag\":{\"url\":\"https://api.example\",\"ticket\":\"ticket\",\"slots\":4}}"}`
	if string(got) != want {
		t.Errorf("it is started with\n%s, want\n%s", got, want)
	}
}

// TestConnector proves that a stage may select a network connector for its machines.
func TestConnector(t *testing.T) {
	t.Parallel()
	const own = "arn:aws:lambda:eu-west-1:123456789012:network-connector:vpc"
	l, f := launcher(t, func(o *microvm.Options) { o.Connector = own })
	launch(t, l, runner(0))
	if got := fmt.Sprint(f.Machines()[0].Request["egressNetworkConnectors"]); got != "["+own+"]" {
		t.Errorf("it reaches the world by %s", got)
	}
}

// TestLostAnswer proves that a launch whose response is lost does not start a second machine, neither within the call
// nor when it is requested again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	l, f := launcher(t)
	f.Fail(microvmfake.Fault{Operation: "RunMicrovm", Times: 1, Done: true})
	first := launch(t, l, runner(0))
	if n := f.Calls("RunMicrovm"); n != 2 || len(f.Machines()) != 1 || f.Machines()[0].ID != first.Task {
		t.Errorf("%d calls started %+v", n, f.Machines())
	}
	f.Fail(microvmfake.Fault{Operation: "RunMicrovm", Times: 3, Done: true})
	if _, err := l.Launch(t.Context(), runner(1), "ticket"); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("no answer at all: %v", err)
	}
	if again := launch(t, l, runner(1)); len(f.Machines()) != 2 || again.Task != f.Machines()[1].ID {
		t.Errorf("asked for again: %s of %+v", again.Task, f.Machines())
	}
}

// TestRefused checks the outcome of a launch for each error from the service: it is retried later, the service counts
// as unavailable, or the user gets a remedy.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		fault     microvmfake.Fault
		is        error
		user      string
		mostCalls int
	}{
		{microvmfake.Fault{Code: "ThrottlingException", Times: 3}, sandbox.ErrBusy, "", 3},
		{microvmfake.Fault{Code: "ServiceQuotaExceededException", Times: 1}, sandbox.ErrBusy, "", 1},
		{microvmfake.Fault{Code: "InsufficientCapacityException", Times: 3}, sandbox.ErrBusy, "", 3},
		{microvmfake.Fault{Code: "ConflictException", Times: 1}, sandbox.ErrBusy, "", 1},
		{microvmfake.Fault{Code: "InternalServerException", Times: 3}, host.ErrUnavailable, "", 3},
		{microvmfake.Fault{Times: 3}, host.ErrUnavailable, "", 3},
		{microvmfake.Fault{Status: 502, Times: 3}, host.ErrUnavailable, "", 3},
		{microvmfake.Fault{Code: "ResourceNotFoundException", Times: 1}, nil, "deploy the stage again", 1},
		{microvmfake.Fault{Code: "ValidationException", Times: 1}, nil, "cannot start a MicroVM", 1},
		{microvmfake.Fault{Status: 404, Times: 1}, nil, "Lambda MicroVMs may be unavailable in this region", 1},
	} {
		t.Run(fmt.Sprint(x.fault.Code, x.fault.Status), func(t *testing.T) {
			t.Parallel()
			l, f := launcher(t)
			f.Fail(x.fault)
			_, err := l.Launch(t.Context(), runner(0), "ticket")
			var mistake *param.ConfigError
			switch {
			case x.is != nil && !errors.Is(err, x.is), x.is == nil && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), x.user)):
				t.Errorf("got %v", err)
			case f.Calls("RunMicrovm") > x.mostCalls:
				t.Errorf("%d calls", f.Calls("RunMicrovm"))
			case len(f.Machines()) != 0:
				t.Errorf("started: %+v", f.Machines())
			}
		})
	}
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		l, f := launcher(t)
		f.Fail(microvmfake.Fault{Code: "AccessDeniedException", Times: 1})
		if _, err := l.Launch(t.Context(), runner(0), "ticket"); err == nil || errors.Is(err, sandbox.ErrBusy) || errors.Is(err, host.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a passing fault", func(t *testing.T) {
		t.Parallel()
		l, f := launcher(t)
		f.Fail(microvmfake.Fault{Code: "ThrottlingException", Times: 2})
		launch(t, l, runner(0))
	})
	t.Run("a key that was changed", func(t *testing.T) {
		t.Parallel()
		l, _ := launcher(t)
		launch(t, l, runner(0))
		if _, err := l.Launch(t.Context(), runner(0), "a ticket of another key"); !errors.Is(err, sandbox.ErrBusy) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a long address", func(t *testing.T) {
		t.Parallel()
		l, f := launcher(t, func(o *microvm.Options) { o.URL = "https://" + strings.Repeat("x", 4096) })
		if _, err := l.Launch(t.Context(), runner(0), "ticket"); err == nil || f.Calls("RunMicrovm") != 0 {
			t.Errorf("got %v after %d calls", err, f.Calls("RunMicrovm"))
		}
	})
}

// TestStop proves that stopping a machine may be requested repeatedly, even if the response is lost, and for a missing
// machine.
func TestStop(t *testing.T) {
	t.Parallel()
	l, f := launcher(t)
	r, gone, unnoted := launch(t, l, runner(0)), launch(t, l, runner(1)), runner(2)
	f.Set(gone.Task, "", "")
	f.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 1, Done: true})
	for range 2 {
		for _, r := range []sandbox.Runner{r, gone, unnoted} {
			if err := l.Stop(t.Context(), r, "because"); err != nil {
				t.Errorf("stop of %d: %v", r.Slot, err)
			}
		}
	}
	if m := f.Machines(); len(m) != 1 || m[0].State != "TERMINATED" {
		t.Errorf("%+v", m)
	}
	f.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 1, Code: "ConflictException"})
	if err := l.Stop(t.Context(), r, "because"); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("while it changes its state: %v", err)
	}
}

// TestEnded proves that a machine counts as ended only if the service reports that or does not know the machine, that a
// failed query does not hide other machines, and that many machines are read in pages.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4, 30} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l, f := launcher(t)
			f.PageSize = 7
			var list []sandbox.Runner
			for i := range n {
				list = append(list, launch(t, l, runner(i)))
			}
			f.Set(list[0].Task, "TERMINATED", "the run hook failed")
			f.Set(list[1].Task, "TERMINATING", "")
			f.Set(list[2].Task, "", "")
			over, err := l.Ended(t.Context(), list)
			if err != nil || len(over) != 2 || !strings.HasPrefix(over[list[0].Name()], "the machine has ended: the") || over[list[2].Name()] != "its machine no longer exists" {
				t.Errorf("over: %v, %v", over, err)
			}
			f.Fail(microvmfake.Fault{Operation: "GetMicrovm", Times: 3, Code: "ThrottlingException"})
			if over, err = l.Ended(t.Context(), list); !errors.Is(err, host.ErrUnavailable) || len(over) != 1 {
				t.Errorf("while one cannot be asked for: %v, %v", over, err)
			}
		})
	}
	l, f := launcher(t)
	f.Fail(microvmfake.Fault{Operation: "ListMicrovms", Times: 3, Code: "InternalServerException"})
	if over, err := l.Ended(t.Context(), []sandbox.Runner{runner(0)}); !errors.Is(err, host.ErrUnavailable) || len(over) != 0 {
		t.Errorf("while nothing can be listed: %v, %v", over, err)
	}
}

// TestUnnoted proves that a runner whose machine has no known id is not given up on while a machine that may be its own
// is running, and is given up on if there is or can be no such machine.
func TestUnnoted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l, f := launcher(t, func(o *microvm.Options) { o.Now = func() time.Time { return now } })
	noted, unnoted := launch(t, l, runner(0)), launch(t, l, runner(1))
	own := unnoted.Task
	unnoted.Task = ""
	for what, x := range map[string]struct {
		state string
		at    time.Time
		over  bool
	}{"it may live": {"RUNNING", now, false}, "it has ended": {"TERMINATED", now, true}, "none lives that long": {"RUNNING", now.Add(-9 * time.Hour), true}} {
		f.Set(own, x.state, "")
		unnoted.Launched = x.at
		over, err := l.Ended(t.Context(), []sandbox.Runner{noted, unnoted})
		if err != nil || (over[unnoted.Name()] != "") != x.over || over[noted.Name()] != "" {
			t.Errorf("%s: %v, %v", what, over, err)
		}
	}
}

// TestSweep proves that machines that belong to no runner are ended once they are so old that their launch must have
// been recorded, whatever page they are on, but that none are ended while a runner's machine is unknown.
func TestSweep(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l, f := launcher(t, func(o *microvm.Options) { o.Now = func() time.Time { return now } })
	f.PageSize = 2
	f.Now = func() time.Time { return now.Add(-11 * time.Minute) }
	var list []sandbox.Runner
	for i := range 6 {
		list = append(list, launch(t, l, runner(i)))
	}
	f.Now = func() time.Time { return now.Add(-9 * time.Minute) }
	young := launch(t, l, runner(6))
	states := func() (living []string) {
		for _, m := range f.Machines() {
			if m.State != "TERMINATED" {
				living = append(living, m.ID)
			}
		}
		return living
	}
	if err := l.Sweep(t.Context(), []sandbox.Runner{list[0], runner(9)}); err != nil || len(states()) != 7 {
		t.Errorf("while a machine is not known: %v live, %v", states(), err)
	}
	f.Fail(microvmfake.Fault{Operation: "TerminateMicrovm", Times: 3, Code: "ThrottlingException"})
	if err := l.Sweep(t.Context(), list[:2]); err == nil || len(states()) != 4 {
		t.Errorf("while one cannot be ended: %v live, %v", states(), err)
	}
	if err := l.Sweep(t.Context(), list[:2]); err != nil || strings.Join(states(), " ") != list[0].Task+" "+list[1].Task+" "+young.Task {
		t.Errorf("%v live, %v", states(), err)
	}
	f.Fail(microvmfake.Fault{Operation: "ListMicrovms", Times: 3, Code: "InternalServerException"})
	if err := l.Sweep(t.Context(), nil); err == nil || len(states()) != 3 {
		t.Errorf("while nothing can be listed: %v live, %v", states(), err)
	}
}

// TestCutOff proves that a call ends when its caller's context does.
func TestCutOff(t *testing.T) {
	t.Parallel()
	l, f := launcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.Run = func(microvmfake.Machine) { cancel() }
	if _, err := l.Launch(ctx, runner(0), "ticket"); !errors.Is(err, context.Canceled) || f.Calls("RunMicrovm") != 1 {
		t.Errorf("got %v after %d calls", err, f.Calls("RunMicrovm"))
	}
}
