// Package run is the runtime of operators: it evaluates the parameters of a task, runs its operator with all that the
// language says about it (secrets, retries, time limits, repetition, values taken from commands), and turns whatever
// happens into one Outcome.
//
// Hosts call it, whatever they are: servers, functions and `zerodag run`. Authors of operators never import it: what
// they need is in package operators.
package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Evaluator evaluates `${...}` as expr.Evaluator does, for any number of goroutines at a
// time. What is not the task's fault is a *Later; the end of ctx ends an evaluation.
type Evaluator interface {
	Eval(ctx context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error)
	Template(ctx context.Context, text string, vars *param.Map, s expr.Scope) (string, error)
}

// Job is one run of one task, as a host hands it over.
type Job struct {
	operators.Task            // Params, Local and Template are filled in by Run
	Own            *param.Map // the task's own config, unevaluated
	Env            *param.Map // variables that groups around it give to its command, below its own `_env`
	// EnvFiles are what groups around it say of files with variables, unevaluated; its own ones come after them.
	EnvFiles []param.Value
	Vars     *param.Map // what it sees of others, unevaluated (engine.State.ParamsOf)
	Scope    expr.Scope
	Cancel   bool   // the attempt was killed: clean up, do not run
	Priority string // the nearest `_priority`, where it is computed; "" where it is not
	// Prepare: the run only finds out what the gate keys of the task come to, which may be a group.
	Prepare bool
	Ends    bool           // of such a run: it finds out what `outputs` of the file come to, after all tasks
	Timeout *claim.Timeout // how long the run may take; nil for any time
	Away    int            // how often this run was postponed, see Resume
	Vault   SecretStore    // all secrets of the project; `_secrets` is applied here

	// EvalStored evaluates what operators stored as the original does: again before each task,
	// secrets included. Else it is data.
	EvalStored bool

	// Before, unless nil, is called with the evaluated parameters before the operator; it
	// says whether the operator is to be run at all (`--dry-run`, `--show-params`).
	Before func(evaluated *param.Map) bool

	all      *param.Map // the evaluated parameters
	captures *captures  // what the command is to leave; nil: its file does not ask for anything
	warned   bool       // people were told that the run is slow
}

// Outcome is how a run ended: exactly one of the first four is set.
type Outcome struct {
	Result   *operators.Result
	Prepared *Prepared // of a run that was to prepare the task
	Later    *operators.Later
	Error    *param.Map // {message, stacktrace?}

	LogIncomplete bool // some text of its log could not be stored; the host sets it
}

// Run evaluates the parameters of a task, finds its operator and runs it. It logs what
// the original logs, and a panic of an operator fails the task only.
func Run(ctx context.Context, r operators.Registry, e Evaluator, j *Job) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			j.Log.Line(operators.Error, "OperatorManager", fmt.Sprintf("Task failed with unexpected error: %v\n%s", p, debug.Stack()))
			out = Outcome{Error: param.DataMap(engine.ErrorObject(fmt.Errorf("%v", p)))}
		}
	}()
	before := j.State
	var result operators.Result
	var prepared *Prepared
	var err error
	if j.Prepare {
		prepared, err = j.prepare(ctx, e)
	} else {
		result, err = j.run(ctx, r, e)
	}
	switch {
	case err == nil && j.Prepare:
		return Outcome{Prepared: prepared}
	case err == nil:
		j.MarkData(&result)
		return Outcome{Result: &result}
	}
	if later := j.postponed(err, before); later != nil {
		j.Log.Line(operators.Warn, "OperatorManager", "Task waits for the deployment and is run again: "+err.Error())
		j.bound(later)
		return Outcome{Later: later}
	}
	var later *operators.Later
	if errors.As(err, &later) {
		if later.Err != nil {
			j.Log.Line(operators.Error, "OperatorManager", "Task failed, retrying: "+later.Err.Error())
		}
		if !later.Retry {
			j.bound(later)
		}
		return Outcome{Later: later}
	}
	if errors.Is(ctx.Err(), context.Canceled) && !j.Cancel && j.State.Len() > 0 {
		// A kill cut the run off, and what earlier ones started elsewhere goes on: the engine has a
		// killed task that asks for another run cleaned up.
		return Outcome{Later: &operators.Later{State: j.State}}
	}
	failure := report(j, err)
	if line := j.captures.line(); line != "" {
		failure = param.Merge(failure, param.New(engine.OutputKey, line))
	}
	if !j.EvalStored {
		failure = param.DataMap(failure)
	}
	return Outcome{Error: failure}
}

func (j *Job) run(ctx context.Context, r operators.Registry, e Evaluator) (operators.Result, error) {
	if j.Cancel && LeavesNothing(r, j) {
		return operators.Result{}, j.canceled()
	}
	if err := j.evaluate(ctx, e); err != nil {
		return operators.Result{}, err
	}
	name, key := j.announce(j.all)
	if name == "" {
		return operators.Result{}, nil // `_export` only, say: nothing to do is success
	}
	if j.Before != nil && !j.Before(j.all) {
		return operators.Result{}, nil
	}
	op, err := find(r, &j.Task, name)
	if err != nil {
		return operators.Result{}, err
	}
	mounts, err := operators.ReadOr(j.Params, "_secrets", param.AsMap, nil)
	if err != nil {
		return operators.Result{}, err
	}
	j.Secrets = mounted{store: j.Vault, mounts: mounts, given: map[string]string{}}
	if j.Cancel {
		return operators.Result{}, j.clean(ctx, op)
	}
	if j.captures, err = j.capturesOf(); err != nil {
		return operators.Result{}, err
	}
	if j.captures != nil {
		j.Commands = capturing{j.Commands, j.captures}
	}
	result, err := j.inTime(ctx, e, op)
	if err == nil {
		j.reportUnused(key)
	}
	return result, err
}

// MarkData says of what an operator stores and exports that it is data. Sub-tasks are code, but
// for what loops export to them, which they mark themselves.
func (j *Job) MarkData(r *operators.Result) {
	if j.EvalStored {
		r.Subtasks = param.CodeMap(r.Subtasks)
		return
	}
	r.Store, r.Export = param.DataMap(r.Store), param.DataMap(r.Export)
}

// announce logs the first line of a run, and seldom again while a task polls. A run that only
// looks after the command of an earlier one says nothing: that one has said it.
func (j *Job) announce(all *param.Map) (name, key string) {
	log := j.Log.Line
	if j.HasCommand() {
		log = func(operators.Level, string, string) {}
	}
	level := operators.Debug
	old := !j.StartedAt.IsZero() && j.Now.After(j.StartedAt.Add(30*time.Minute)) && j.RetryCount%10 == 0
	if j.RetryCount == 0 || old {
		level = operators.Info
	}
	for _, k := range all.Keys() {
		if strings.HasSuffix(k, ">") {
			key = k
			break
		}
	}
	name, err := operators.NewParams(all).StringOr("_type", "")
	switch {
	case err != nil || name == "":
		return "", "" // evaluate looked at it: there is none
	case key == name+">":
		command, _ := all.Get("_command")
		log(level, "OperatorManager", key+": "+commandText(command))
	default:
		key = "_type"
		log(level, "OperatorManager", "type: "+name)
	}
	return name, key
}

func commandText(v param.Value) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	return param.Text(v)
}
