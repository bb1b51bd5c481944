package operators

import (
	"context"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// Prepared is what the gate keys of a task came to.
type Prepared struct {
	Skip  string     // why the task is not to be run; "" when it is
	Pools []dig.Pool // whose slots it needs

	Timeout *dig.Timeout // how long it may take; nil for any time
	Exports *param.Map   // what `params` give the tasks below; nil for nothing
	Outputs *param.Map   // what `outputs` came to; nil of a run that was for something else
}

// prepare evaluates the gate keys of a task, which may be a group: its other keys are not looked at.
func (j *Job) prepare(ctx context.Context, e Evaluator) (*Prepared, error) {
	if j.Cancel {
		return nil, j.canceled()
	}
	vars := j.seen()
	if j.Ends {
		return j.outputs(ctx, e, vars)
	}
	if value, there, err := j.gate(ctx, e, vars, "_if"); there {
		if err != nil {
			return nil, err
		}
		on, err := param.AsCondition("_if", value)
		if err != nil {
			return nil, err
		}
		if !on {
			return &Prepared{Skip: "_if is " + param.Text(value)}, nil
		}
	}
	prepared := &Prepared{}
	value, there, err := j.gate(ctx, e, vars, "_timeout")
	if err != nil {
		return nil, err
	}
	if there {
		t, err := dig.ParseTimeout(value)
		if err != nil {
			return nil, err
		}
		prepared.Timeout = &t
	}
	if prepared.Exports, err = j.called(ctx, e, vars); err != nil {
		return nil, err
	}
	value, there, err = j.gate(ctx, e, param.Merge(vars, prepared.Exports), "_pool")
	if err != nil {
		return nil, err
	}
	if there {
		if prepared.Pools, err = dig.ParsePools(value); err != nil {
			return nil, err
		}
		if err := j.prioritize(ctx, e, vars, prepared.Pools); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// prioritize says how important the task is in the lines of its pools, as far as these do not say it themselves, where that is computed.
func (j *Job) prioritize(ctx context.Context, e Evaluator, vars *param.Map, pools []dig.Pool) error {
	if j.Priority == "" || !slices.ContainsFunc(pools, func(p dig.Pool) bool { return !p.Given }) {
		return nil
	}
	const key = "_priority"
	v, err := j.evalKey(ctx, e, vars, key, j.Priority)
	if err != nil {
		return err
	}
	word, _ := v.(string)
	priority, known := dig.ParsePriority(word)
	if !known {
		return param.Errorf("'%s' cannot be %s: %s", key, param.Text(v), dig.PriorityForm)
	}
	for i := range pools {
		if p := &pools[i]; !p.Given {
			p.Priority, p.Given = priority, true
		}
	}
	return nil
}

// called holds what a file that call> runs sees against its `params`; nil when it has none.
func (j *Job) called(ctx context.Context, e Evaluator, vars *param.Map) (*param.Map, error) {
	if !j.Own.Has("params") || j.TaskID == int64(engine.Root) || dig.OperatorOf(j.Own) != "" {
		return nil, nil
	}
	seen, err := e.Eval(ctx, vars, vars, j.Scope)
	if err != nil {
		return nil, err
	}
	declared, given := dig.ReadParams(j.Own), param.New()
	declared.Closed = false // it sees all that the caller does
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

// outputs evaluates `outputs` of the file.
func (j *Job) outputs(ctx context.Context, e Evaluator, vars *param.Map) (*Prepared, error) {
	list, written := dig.ReadOutputs(j.Own), param.New()
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
	outputs, err := dig.OutputsOf(list, values)
	if err != nil {
		return nil, err
	}
	return &Prepared{Outputs: param.DataMap(outputs)}, nil
}

// gate evaluates one key of the task, and says whether it is there.
func (j *Job) gate(ctx context.Context, e Evaluator, vars *param.Map, key string) (param.Value, bool, error) {
	written, there := j.Own.Get(key)
	if !there {
		return nil, false, nil
	}
	value, err := j.evalKey(ctx, e, vars, key, written)
	return value, true, err
}

// evalKey evaluates what is written under a key, by itself.
func (j *Job) evalKey(ctx context.Context, e Evaluator, vars *param.Map, key string, written param.Value) (param.Value, error) {
	all, err := e.Eval(ctx, param.Merge(vars, param.New(key, written)), vars, j.Scope)
	if err != nil {
		return nil, err
	}
	value, _ := all.Get(key)
	return value, nil
}

// seen are the parameters that expressions of the task may name, without its own keys.
func (j *Job) seen() *param.Map {
	vars := param.Merge(j.Vars.Without(j.steering()...), param.DataMap(j.variables()))
	if j.Level > 0 && !vars.Has("failed") { // so that `${!!failed.load}` is no error before +load has failed
		vars = param.Merge(vars, param.New("failed", param.New()))
	}
	return vars
}

// branches are the tasks of `switch>`, which are evaluated when they run; nil for all others, of which such keys are
// parameters.
func branches(own *param.Map) *param.Map {
	if dig.OperatorOf(own) != "switch" {
		return nil
	}
	out := param.New()
	for _, key := range dig.BranchKeys() {
		if v, ok := own.Get(key); ok {
			out.Set(key, v)
		}
	}
	return out
}

// steering are the keys that say how a task is run and are no parameters of it.
func (j *Job) steering() []string {
	keys := []string{"_check", "_error"}
	if j.Level > 0 {
		keys = append(keys, dig.AddedKeys(dig.AtTask)...)
	}
	return keys
}
