package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest/draw"
	"zerodag/engine/enginetest/recovery"
	"zerodag/engine/param"
	"zerodag/engine/resume"
	"zerodag/internal/catalogue"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
	"zerodag/operators/all"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// report is an attempt's outcome, for comparison.
type report struct {
	Runs    []string
	Notices int
	Outcome string
}

func reportOf(x *operatortest.Trial, notices int, s *engine.State) report {
	r := report{Runs: x.Runs(), Notices: notices, Outcome: "error"}
	switch {
	case s.Canceled():
		r.Outcome = "canceled"
	case s.Succeeded():
		r.Outcome = "success"
	}
	return r
}

func expected(r *recovery.Prediction) report {
	return report{Runs: r.Runs, Notices: r.Notices, Outcome: r.Outcome}
}

// direct runs attempts of pipelines with the engine and the operators alone, one run after the other.
type direct struct {
	*operatortest.Trial
	notices   int
	registry  operators.Registry
	evaluator run.Evaluator
	def       *engine.Definition
}

func newDirect(x *operatortest.Trial, e run.Evaluator) (*direct, error) {
	w, err := dig.Define("main", x.Main)
	if err != nil {
		return nil, err
	}
	d := &direct{Trial: x, evaluator: e, registry: all.Registry()}
	operatortest.Add(d.registry, func(*operators.Task) *operatortest.Trial { return x })
	d.registry["notify"] = operators.Operator{Name: "notify", Run: func(context.Context, *operators.Task) (operators.Result, error) {
		d.notices++
		return operators.Result{}, nil
	}}
	d.def, err = engine.Define(w)
	return d, err
}

// run runs an attempt. It is killed during run killAt of a command; when the run after run forkAt begins, or at the
// end, the state is given to fork.
func (d *direct) run(carried []engine.Carried, number, killAt, forkAt int, fork func(*engine.State)) (*engine.State, error) {
	d.notices = 0
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := engine.New(d.def, nil)
	var runs []engine.Run
	steps := 0
	var step func(e func(engine.By) engine.Event)
	step = func(e func(engine.By) engine.Event) {
		steps++
		guard := strconv.Itoa(steps)
		if _, why := s.Step(e(engine.By{Guard: guard}), now); why != "" {
			return
		}
		for _, effect := range s.Outstanding(guard) {
			switch x := effect.(type) {
			case engine.Dispatch:
				runs = append(runs, x.Run)
			case engine.Timer:
				step(func(by engine.By) engine.Event { return engine.Due{By: by, Run: x.Run} })
			case engine.Continue:
				step(func(by engine.By) engine.Event { return engine.GoOn{By: by} })
			}
		}
	}
	var cut func()
	d.Next(number, func(t *operators.Task, run int) bool {
		if fork != nil && run == forkAt+1 {
			fork(s)
			fork = nil
		}
		if killAt == 0 || run < killAt || s.Canceled() || operatortest.Handler(t) {
			return false
		}
		step(func(by engine.By) engine.Event { return engine.Kill{By: by} })
		cut()
		return true
	})
	step(func(by engine.By) engine.Event { return engine.Start{By: by, Params: param.New(), Carried: carried} })
	for n := 0; !s.Ended(); n++ {
		if len(runs) == 0 || n > 10_000 {
			return nil, errors.New("the attempt does not end")
		}
		next := runs[0]
		runs = runs[1:]
		t := s.Task(next.Task)
		if t.Dispatch != next.Dispatch || t.State.Done() {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		cut = cancel
		out := run.Run(ctx, d.registry, d.evaluator, &run.Job{
			Task: operators.Task{Identity: operators.Identity{TaskName: t.Name, TaskID: int64(t.ID), Zone: "UTC", SessionTime: now}, State: t.Progress.Params, Now: now, Level: t.Level,
				TaskLimit: engine.DefaultLimit, Log: quiet{}, Files: d.Called()},
			Own: t.Config, Vars: s.ParamsOf(t.ID), Cancel: t.Cancel, Prepare: t.Preparing, Ends: t.Ends, Timeout: t.Timeout,
		})
		cancel()
		step(func(by engine.By) engine.Event { return execution.Result(by, next, out) })
	}
	if fork != nil { // no such run began
		fork(s)
	}
	return s, nil
}

type quiet struct{ operators.Log }

func (quiet) Write(p []byte) (int, error)          { return len(p), nil }
func (quiet) Line(operators.Level, string, string) {}
func (quiet) Echo(string)                          {}

// TestRecovery runs random pipelines that fail or are killed, and resumes them in all possible ways: the parameters
// that each task sees, the handlers that run and the notices must match the prediction from a walk through the file.
// ZERODAG_RECOVERY sets how many pipelines to run, and ZERODAG_RECOVERY_SEED which one to begin with.
func TestRecovery(t *testing.T) {
	t.Parallel()
	cases, first := number(t, "ZERODAG_RECOVERY", 5500), number(t, "ZERODAG_RECOVERY_SEED", 1)
	var attempts, failures atomic.Int64
	modes := sync.Map{}
	var workers sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			e := evaluator.InProcess(nil)
			for {
				seed := int(next.Add(1)) - 1 + first
				if seed >= first+cases || failures.Load() > 3 {
					return
				}
				n, used, err := recover1(seed, e)
				attempts.Add(int64(n))
				for _, m := range used {
					counter, _ := modes.LoadOrStore(m, &atomic.Int64{})
					counter.(*atomic.Int64).Add(1)
				}
				if err != nil {
					failures.Add(1)
					t.Errorf("%v\nagain: ZERODAG_RECOVERY=1 ZERODAG_RECOVERY_SEED=%d go test -run 'TestRecovery$' ./internal/node", err, seed)
				}
			}
		})
	}
	workers.Wait()
	for _, m := range []string{"failed", "from", "only", "until", "done", "fork", "killed"} {
		counter, there := modes.Load(m)
		if !there && cases > 500 && failures.Load() == 0 {
			t.Errorf("no attempt was %s", m)
			continue
		}
		if there {
			t.Logf("%s: %d attempts", m, counter.(*atomic.Int64).Load())
		}
	}
	t.Logf("%d attempts of %d pipelines", attempts.Load(), cases)
}

func number(t *testing.T, variable string, or int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return or
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// drawnBy returns a function whose choices depend on the seed.
func drawnBy(seed int) draw.Choose {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	return func(_ string, n int) int { return r.IntN(n) }
}

// last is the attempt from which the next one takes over.
type last struct {
	given   recovery.Given
	carried []engine.Carried
	walked  *recovery.Prediction
	state   *engine.State
}

// recover1 runs one pipeline: an attempt, and up to four more that each take over from the previous one.
func recover1(seed int, e run.Evaluator) (attempts int, used []string, err error) {
	choose := drawnBy(seed)
	gated, parallel := choose("gated", 2) == 0, choose("side by side", 2) == 0
	x := operatortest.NewTrial(recovery.Draw(choose, gated, parallel))
	d, err := newDirect(x, e)
	if err != nil {
		return 0, nil, fmt.Errorf("seed %d: %w\n%s", seed, err, x.Text())
	}
	var history strings.Builder
	wrong := func(err error) error {
		return fmt.Errorf("seed %d: %w\n%s%s", seed, err, history.String(), x.Text())
	}
	var before *last
	for number := range 5 {
		now := &last{given: recovery.Given{Number: number}}
		if before != nil {
			mode, there := chooseMode(choose, before.walked, parallel)
			if !there {
				break
			}
			now.given.Mode, now.given.Before = mode, before.walked
			fmt.Fprintf(&history, "attempt %d: %+v", number, mode)
			if mode.Base == "fork" {
				at := 1 + choose("after", before.walked.Works())
				fmt.Fprintf(&history, " after run %d", at)
				now.given.Before, now.carried, err = d.forked(before, at)
			} else {
				now.carried, err = carriedFor(d.def, before.state, mode)
			}
			if err != nil && mode.Base == "from" && strings.Contains(err.Error(), "non-successful") && !before.walked.Reaches(mode.Task) {
				break
			}
			if err != nil {
				return attempts, used, wrong(err)
			}
			used = append(used, namesOf(mode)...)
		}
		if !parallel && choose("kill", 4) == 0 {
			now.given.KillAt = 1 + choose("at", 8)
			fmt.Fprintf(&history, ", killed during run %d", now.given.KillAt)
		}
		history.WriteString("\n")
		now.walked = x.Follow(now.given)
		if now.walked.Outcome == "canceled" {
			used = append(used, "killed")
		}
		attempts++
		if now.state, err = d.run(now.carried, number, now.given.KillAt, 0, nil); err != nil {
			return attempts, used, wrong(err)
		}
		if diff := cmp.Diff(expected(now.walked), reportOf(x, d.notices, now.state)); diff != "" {
			return attempts, used, wrong(fmt.Errorf("attempt %d differs (-walk +program):\n%s", number, diff))
		}
		before = now
	}
	return attempts, used, nil
}

// chooseMode draws what the next attempt takes over, and returns false if nothing is left to do.
func chooseMode(choose draw.Choose, before *recovery.Prediction, parallel bool) (recovery.Mode, bool) {
	one := func(names []string) string { return names[choose("task", len(names))] }
	began, known := before.Names(true), before.Names(false)
	kinds := []string{"only", "until all"}
	if before.MayResume() {
		kinds = append(kinds, "failed", "failed", "failed", "until", "done")
	}
	if len(began) > 0 {
		kinds = append(kinds, "from")
	}
	if !parallel && before.Works() > 0 {
		kinds = append(kinds, "fork")
	}
	switch kind := kinds[choose("kind of retry", len(kinds))]; {
	case len(known) == 0:
		return recovery.Mode{}, false
	case kind == "only":
		return recovery.Mode{Base: "only", Task: one(known)}, true
	case kind == "until all":
		return recovery.Mode{Base: "all", Until: one(known)}, true
	case kind == "until":
		return recovery.Mode{Base: "failed", Until: one(known)}, true
	case kind == "done":
		return recovery.Mode{Base: "failed", Done: []string{one(known)}}, true
	case kind == "from":
		return recovery.Mode{Base: "from", Task: one(began)}, true
	default:
		return recovery.Mode{Base: kind}, true
	}
}

func namesOf(m recovery.Mode) []string {
	names := []string{m.Base}
	if m.Until != "" {
		names = append(names, "until")
	}
	if len(m.Done) > 0 {
		names = append(names, "done")
	}
	return names
}

func carriedFor(def *engine.Definition, s *engine.State, m recovery.Mode) (list []engine.Carried, err error) {
	switch m.Base {
	case "failed":
		list, err = resume.Failed(s)
	case "from":
		list, err = resume.Before(s, m.Task)
	}
	part := engine.Part{Until: m.Until, Done: m.Done}
	if m.Base == "only" {
		part.Only = m.Task
	}
	if err != nil || part.IsEmpty() {
		return list, err
	}
	return resume.OfPart(def, s, list, part, time.Unix(0, 0))
}

// forked runs an attempt once more up to a run of a command, and returns what a fork from there takes over, as
// predicted and as it happened.
func (d *direct) forked(of *last, at int) (walked *recovery.Prediction, carried []engine.Carried, err error) {
	g := of.given
	g.EndAt = at
	_, err = d.run(of.carried, g.Number, g.KillAt, at, func(s *engine.State) { carried = resume.Done(s) })
	return d.Follow(g), carried, err
}

// TestRecoveryOnServer is TestRecovery on a complete server, which also stores, queues and reads back everything.
func TestRecoveryOnServer(t *testing.T) {
	t.Parallel()
	cases, first := number(t, "ZERODAG_RECOVERY_SERVER", 800), number(t, "ZERODAG_RECOVERY_SEED", 1)
	const worlds = 4
	for part := range worlds {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				var x *operatortest.Trial
				p := w.serve(func(o *node.Options) {
					operatortest.Add(o.Registry, func(*operators.Task) *operatortest.Trial { return x })
					o.Workspace = func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
						return host.Workspace{Files: x.Called(), Leave: func() {}}, nil
					}
				})
				for seed := first + part; seed < first+cases; seed += worlds {
					choose := drawnBy(seed)
					gated, parallel := choose("gated", 2) == 0, choose("side by side", 2) == 0
					x = operatortest.NewTrial(recovery.Draw(choose, gated, parallel))
					if err := p.recover(x, choose, seed, parallel); err != nil {
						t.Fatalf("%v\nagain: ZERODAG_RECOVERY_SERVER=1 ZERODAG_RECOVERY_SEED=%d go test -run TestRecoveryOnServer ./internal/node", err, seed)
					}
				}
			})
		})
	}
}

// recover is like recover1, but runs the pipeline on a server.
func (p *process) recover(x *operatortest.Trial, choose draw.Choose, seed int, parallel bool) error {
	files := []string{"main.dig", string(dig.FormatYAML(x.Main))}
	for _, name := range slices.Sorted(maps.Keys(x.Files)) {
		files = append(files, name, string(dig.FormatYAML(x.Files[name])))
	}
	p.push(files...)
	history := ""
	var before *recovery.Prediction
	var a host.Attempt
	for number := range 4 {
		g := recovery.Given{Number: number, Before: before}
		if before != nil {
			var there bool
			if g.Mode, there = chooseMode(choose, before, parallel); !there || g.Mode.Base == "fork" {
				break
			}
		}
		if !parallel && choose("kill", 4) == 0 {
			g.KillAt = 1 + choose("at", 8)
		}
		history += fmt.Sprintf("attempt %d: %+v killed during run %d\n", number, g.Mode, g.KillAt)
		told, killed := len(p.w.told()), false
		x.Next(number, func(t *operators.Task, run int) bool {
			if killed || g.KillAt == 0 || run < g.KillAt || operatortest.Handler(t) {
				return false
			}
			killed = true
			go p.Kill(p.w.t.Context(), host.AnySite, t.AttemptID)
			return true
		})
		if before == nil {
			a = p.start(int64(seed))
		} else {
			again, err := p.Rerun(p.w.t.Context(), p.row(a), rerunOf(g.Mode, fmt.Sprint(number)))
			if err != nil && g.Mode.Base == "from" && strings.Contains(err.Error(), "non-successful") && !before.Reaches(g.Mode.Task) {
				break
			}
			if err != nil {
				return fmt.Errorf("seed %d: %w\n%s%s", seed, err, history, x.Text())
			}
			a = again
		}
		p.end(a)
		walked := x.Follow(g)
		var got report
		p.w.must(p.View(p.w.t.Context(), p.row(a), func(s *engine.State) { got = reportOf(x, len(p.w.told())-told, s) }))
		if diff := cmp.Diff(expected(walked), got); diff != "" {
			return fmt.Errorf("seed %d, attempt %d differs (-walk +program):\n%s\n%s%s", seed, number, diff, history, x.Text())
		}
		before = walked
	}
	return nil
}

func rerunOf(m recovery.Mode, name string) catalogue.RerunRequest {
	r := catalogue.RerunRequest{Mode: m.Base, RetryName: name, Part: engine.Part{Until: m.Until, Done: m.Done}}
	switch m.Base {
	case "from":
		r.From = m.Task
	case "only":
		r.Part.Only = m.Task
	}
	return r
}
