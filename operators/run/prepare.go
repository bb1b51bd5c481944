package run

import (
	"context"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Prepared holds the evaluated keys of a task that matter before it starts.
type Prepared struct {
	keys.Prepared
	Exports *param.Map // exports of `params` to the tasks below; nil for none
	Outputs *param.Map // the evaluated `outputs`; nil for other runs
}

// prepare evaluates the keys of a task that matter before it starts. The task may be a group, whose other keys are not
// evaluated.
func (j *Job) prepare(ctx context.Context, e Evaluator) (*Prepared, error) {
	if j.Cancel {
		return nil, j.canceled()
	}
	vars := j.seen()
	if j.Ends {
		return j.outputs(ctx, e, vars)
	}
	prepared, called := &Prepared{}, false
	for _, k := range keys.All() {
		if k.Prepare == nil {
			continue
		}
		if k.SeesParams && !called {
			exports, err := j.called(ctx, e, vars)
			if err != nil {
				return nil, err
			}
			prepared.Exports, vars, called = exports, param.Merge(vars, exports), true
		}
		value, there, err := j.gate(ctx, e, vars, k.Name)
		if err == nil && there {
			err = k.Prepare(value, &prepared.Prepared)
		}
		if err != nil {
			return nil, err
		}
		if prepared.Skip != "" {
			return &Prepared{Prepared: keys.Prepared{Skip: prepared.Skip}}, nil
		}
	}
	return prepared, j.prioritize(ctx, e, vars, prepared.Pools)
}

// prioritize sets the task's priority in its pools, unless they have their own, if the priority is an expression.
func (j *Job) prioritize(ctx context.Context, e Evaluator, vars *param.Map, pools []keys.Pool) error {
	if j.Priority == "" || !slices.ContainsFunc(pools, func(p keys.Pool) bool { return !p.Given }) {
		return nil
	}
	const key = "_priority"
	v, err := j.evalKey(ctx, e, vars, key, j.Priority)
	if err != nil {
		return err
	}
	word, _ := v.(string)
	priority, known := keys.ParsePriority(word)
	if !known {
		return param.Errorf("'%s' cannot be %s: %s", key, param.Text(v), keys.PriorityForm)
	}
	for i := range pools {
		if p := &pools[i]; !p.Given {
			p.Priority, p.Given = priority, true
		}
	}
	return nil
}

// called checks the parameters that a file run by call> sees against its `params`; it returns nil if the file has none.
func (j *Job) called(ctx context.Context, e Evaluator, vars *param.Map) (*param.Map, error) {
	if !j.Own.Has("params") || j.TaskID == int64(engine.Root) || keys.OperatorOf(j.Own) != "" {
		return nil, nil
	}
	seen, err := e.Eval(ctx, vars, vars, j.Scope)
	if err != nil {
		return nil, err
	}
	declared, given := keys.ReadParams(j.Own), param.New()
	declared.Closed = false // it sees everything that the caller sees
	for _, p := range declared.List {
		if v, there := seen.Get(p.Name); there {
			given.Set(p.Name, v)
		}
	}
	filled, faults := declared.Fill(given, false)
	if len(faults) > 0 {
		return nil, param.Errorf("params of the called file: %s", strings.Join(faults, "; "))
	}
	return filled, nil
}

// outputs evaluates the file's `outputs`.
func (j *Job) outputs(ctx context.Context, e Evaluator, vars *param.Map) (*Prepared, error) {
	list, written := keys.ReadOutputs(j.Own), param.New()
	for _, o := range list {
		written.Set(o.Name, o.Value)
	}
	seen, err := e.Eval(ctx, vars, vars, j.Scope)
	if err != nil {
		return nil, err
	}
	values, err := e.Eval(ctx, written, seen, j.Scope)
	if err != nil {
		return nil, err
	}
	outputs, err := keys.OutputsOf(list, values)
	if err != nil {
		return nil, err
	}
	return &Prepared{Outputs: param.DataMap(outputs)}, nil
}

// gate evaluates one key of the task, and reports whether it exists.
func (j *Job) gate(ctx context.Context, e Evaluator, vars *param.Map, key string) (param.Value, bool, error) {
	written, there := j.Own.Get(key)
	if !there {
		return nil, false, nil
	}
	value, err := j.evalKey(ctx, e, vars, key, written)
	return value, true, err
}

// evalKey evaluates one key's text separately.
func (j *Job) evalKey(ctx context.Context, e Evaluator, vars *param.Map, key string, written param.Value) (param.Value, error) {
	all, err := e.Eval(ctx, param.Merge(vars, param.New(key, written)), vars, j.Scope)
	if err != nil {
		return nil, err
	}
	value, _ := all.Get(key)
	return value, nil
}

// seen returns the parameters that the task's expressions may name, without its own keys.
func (j *Job) seen() *param.Map {
	vars := param.Merge(j.Vars.Without(j.steering()...), param.DataMap(j.variables()))
	if j.Level > 0 && !vars.Has("failed") { // so that `${!!failed.load}` is not an error before +load has failed
		vars = param.Merge(vars, param.New("failed", param.New()))
	}
	return vars
}

// branches returns the tasks of `switch>`, which are evaluated when they run; nil for all others, for which such keys
// are parameters.
func branches(own *param.Map) *param.Map {
	if keys.OperatorOf(own) != "switch" {
		return nil
	}
	out := param.New()
	for _, key := range keys.BranchKeys() {
		if v, ok := own.Get(key); ok {
			out.Set(key, v)
		}
	}
	return out
}

// steering returns the keys that control how a task is run and are not parameters of it.
func (j *Job) steering() []string {
	names := []string{"_check", "_error"}
	if j.Level > 0 {
		names = append(names, keys.Added(keys.AtTask)...)
	}
	return names
}
