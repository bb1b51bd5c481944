package localrun

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest/draw"
	"zerodag/engine/enginetest/recovery"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/local"
	"zerodag/operators"
	"zerodag/operators/all"
	"zerodag/operators/operatortest"
	oprun "zerodag/operators/run"
)

// TestRunRecovery runs random pipelines that fail or are interrupted, and runs them again as `zerodag run`, `--rerun`
// and `--start` do: the parameters that each task sees, the handlers that run, and the notices must be those that a
// walk through the file predicts.
func TestRunRecovery(t *testing.T) {
	t.Parallel()
	const cases, parts = 600, 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			e := evaluator.InProcess(nil)
			for seed := part; seed < cases; seed += parts {
				if err := runAgain(t, seed, e); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type unheard struct{}

func (unheard) Write(p []byte) (int, error)          { return len(p), nil }
func (unheard) Line(operators.Level, string, string) {}
func (unheard) Echo(string)                          {}

type toldCounter struct{ n int }

func (c *toldCounter) NotifySlow(ctx context.Context, text string, t *operators.Task) error {
	return c.Notify(ctx, text, t)
}

func (c *toldCounter) Notify(context.Context, string, *operators.Task) error {
	c.n++
	return nil
}

type runReport struct {
	Runs    []string
	Notices int
	Outcome string
}

func runAgain(t *testing.T, seed int, e oprun.Evaluator) error {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(seed), 11))
	choose := draw.Choose(func(_ string, n int) int { return random.IntN(n) })
	gated, parallel := choose("gated", 2) == 0, choose("side by side", 2) == 0
	x := operatortest.NewTrial(recovery.Draw(choose, gated, parallel))
	files := map[string]string{"main.dig": string(dig.FormatYAML(x.Main))}
	for name, config := range x.Files {
		files[name] = string(dig.FormatYAML(config))
	}
	workflows, err := dig.Load(func(name string) ([]byte, error) {
		if text, there := files[name]; there {
			return []byte(text), nil
		}
		return nil, dig.ErrNotFound
	}, slices.Sorted(maps.Keys(files)))
	if err != nil {
		return fmt.Errorf("seed %d: %w\n%s", seed, err, x.Text())
	}
	dir, history, saved := t.TempDir(), "", recovery.Saved{}
	for number := range 5 {
		g := recovery.Given{Number: number, Local: saved}
		r := &run{Options: &Options{}}
		written := x.Written()
		switch choose("option", 6) {
		case 0:
			r.Rerun = true
			g.Local = recovery.Saved{}
		case 1:
			if len(written) > 1 {
				r.Start = written[1+choose("start", len(written)-1)]
				g.Local = saved.From(x.Pipeline, r.Start)
			}
		}
		if !parallel && choose("kill", 4) == 0 {
			g.KillAt = 1 + choose("at", 8)
		}
		history += fmt.Sprintf("run %d: rerun %v start %s killed during run %d\n", number, r.Rerun, r.Start, g.KillAt)
		walked := x.Follow(g)
		saved = walked.Saved
		ctx, cancel := context.WithCancel(t.Context())
		x.Next(number, func(t *operators.Task, run int) bool {
			if g.KillAt == 0 || run < g.KillAt || ctx.Err() != nil || operatortest.Handler(t) {
				return false
			}
			cancel()
			return true
		})
		told := &toldCounter{}
		state, err := r.trial(ctx, x, workflows, filepath.Join(dir, "status"), e, told)
		cancel()
		if err != nil {
			return fmt.Errorf("seed %d: %w\n%s%s", seed, err, history, x.Text())
		}
		got := runReport{x.Runs(), told.n, "error"}
		switch {
		case state.Canceled():
			got.Outcome = "canceled"
		case state.Succeeded():
			got.Outcome = "success"
		}
		if diff := cmp.Diff(runReport{walked.Runs, walked.Notices, walked.Outcome}, got); diff != "" {
			return fmt.Errorf("seed %d, run %d differs (-walk +program):\n%s\n%s%s", seed, number, diff, history, x.Text())
		}
	}
	return os.RemoveAll(dir)
}

// trial is one run of a pipeline, with the state saved in a folder.
func (r *run) trial(ctx context.Context, x *operatortest.Trial, workflows []dig.Workflow, dir string, e oprun.Evaluator, told operators.Notifier) (*engine.State, error) {
	main := workflows[slices.IndexFunc(workflows, func(w dig.Workflow) bool { return w.Name == "main" })]
	def, err := engine.Define(main)
	if err != nil {
		return nil, err
	}
	if r.plan, err = r.planOf(def.Nodes); err != nil {
		return nil, err
	}
	session := time.Unix(0, 0).UTC()
	r.status = newStatusFolder(dir, session)
	r.plan.use(r.status, def.Nodes)
	registry := all.Registry()
	operatortest.Add(registry, func(*operators.Task) *operatortest.Trial { return x })
	h := local.New(local.Options{
		Runtime: host.Runtime{Registry: registry, Evaluator: e, Workspace: func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
			return host.Workspace{Files: x.Called(), Leave: func() {}}, nil
		}},
		Notifier: told, Project: local.Project{ID: 1, Name: "default"}, Workflows: workflows, Now: time.Now,
		Log:    func(operators.Identity) operators.Log { return unheard{} },
		Before: func(j *oprun.Job) *operators.Result { return r.plan.instead(j.TaskName) },
		Changed: func(s *engine.State, changes []engine.Change) {
			for _, c := range changes {
				if t, ok := c.(engine.TaskChanged); ok && t.Progress.State == engine.Success {
					r.plan.save(s, s.Task(t.Task))
				}
			}
		},
	})
	a, err := h.Run(ctx, local.Request{Workflow: "main", SessionTime: session, Params: param.New()})
	if err != nil {
		return nil, err
	}
	return a.State, r.status.close()
}
