package operatortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/enginetest/recovery"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Trial runs a pipeline of package recovery: it implements `work>` and `make>`, and records what they saw.
type Trial struct {
	*recovery.Pipeline
	Main *param.Map // the pipeline's main file

	mu      sync.Mutex
	attempt int
	counts  map[string]int
	works   int
	runs    []string
	kill    func(*operators.Task, int) bool
}

// NewTrial returns a trial of a pipeline.
func NewTrial(p *recovery.Pipeline) *Trial { return &Trial{Pipeline: p, Main: p.Config()} }

// Next begins an attempt; attempts are numbered from 0. kill, unless nil, is called at each run of a command, with the
// run's number. If the attempt is killed during this run, kill does so and returns true; the run then waits for its
// end. Pipelines are not killed in a Handler.
func (x *Trial) Next(attempt int, kill func(t *operators.Task, run int) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.attempt, x.counts, x.works, x.runs, x.kill = attempt, map[string]int{}, 0, nil, kill
}

// Handler reports whether a task is part of a handler, such as `_error` or `_check`.
func Handler(t *operators.Task) bool {
	return strings.Contains(strings.ReplaceAll(t.TaskName, "^sub", ""), "^")
}

// Runs lists this attempt's command runs with the parameters that each saw, sorted.
func (x *Trial) Runs() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(slices.Values(x.runs))
}

// Add adds the commands of pipelines to a registry; of returns the trial to which a task belongs.
func Add(r operators.Registry, of func(*operators.Task) *Trial) {
	for _, name := range []string{"work", "make"} {
		r[name] = operators.Operator{Name: name, Retries: true, Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			return of(t).run(ctx, t)
		}}
	}
}

func (x *Trial) run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	x.mu.Lock()
	x.counts[t.TaskName]++
	x.works++
	attempt, n, work, kill := x.attempt, x.counts[t.TaskName], x.works, x.kill
	x.runs = append(x.runs, fmt.Sprintf("%s#%d %s", t.TaskName, n, recovery.Shown(t.Params.All())))
	x.mu.Unlock()
	if kill != nil && kill(t, work) {
		<-ctx.Done()
		return operators.Result{}, ctx.Err()
	}
	if x.Fails(attempt, t.TaskName, n) {
		return operators.Result{}, operators.Failf("no")
	}
	stores, reset := recovery.Stores(texts(t.Params, "keys"), texts(t.Params, "resets"), attempt, t.TaskName, n)
	return operators.Result{Store: stores, ResetStore: reset, Subtasks: t.Params.All().Map("subtasks")}, nil
}

func texts(p *operators.Params, key string) (list []string) {
	v, _ := p.Get(key)
	values, _ := v.([]param.Value)
	for _, s := range values {
		list = append(list, s.(string))
	}
	return list
}

// Called gives call> the files of the trial.
func (x *Trial) Called() operators.Files { return called{files: x.Files} }

type called struct {
	operators.Files
	files map[string]*param.Map
}

// Load implements operators.Files.
func (f called) Load(name string) (*param.Map, error) {
	return dig.Callee(func(name string) ([]byte, error) {
		if config, there := f.files[name]; there {
			return dig.FormatYAML(config), nil
		}
		return nil, dig.ErrNotFound
	}, name)
}

// Text returns the trial's files as text.
func (x *Trial) Text() string {
	text := fmt.Sprintf("-- main.dig --\n%s", dig.FormatYAML(x.Main))
	for i := range len(x.Files) {
		name := fmt.Sprintf("f%d.dig", i)
		text += fmt.Sprintf("-- %s --\n%s", name, dig.FormatYAML(x.Files[name]))
	}
	return text
}
