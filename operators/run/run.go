// Package run is the runtime of operators: it evaluates the parameters of a task, runs its operator with the features
// of the language (secrets, retries, time limits, repetition, values taken from commands), and converts the result to
// one Outcome.
//
// All hosts call it: servers, functions and `zerodag run`. Authors of operators never import it: package operators has
// what they need.
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

// Evaluator evaluates `${...}` like expr.Evaluator; it is safe for concurrent use. Problems that are not the task's
// fault are returned as a *Later; the end of ctx ends an evaluation.
type Evaluator interface {
	Eval(ctx context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error)
	Template(ctx context.Context, text string, vars *param.Map, s expr.Scope) (string, error)
}

// Job is one run of one task, as passed by a host.
type Job struct {
	operators.Task            // Params, Local and Template are filled in by Run
	Own            *param.Map // the task's own config, unevaluated
	Env            *param.Map // variables that groups around it set for its command, below its own `_env`
	// EnvFiles are the variable files of groups around it, unevaluated; its own files come after them.
	EnvFiles []param.Value
	Vars     *param.Map // the parameters it sees from others, unevaluated (engine.State.ParamsOf)
	Scope    expr.Scope
	Cancel   bool   // the attempt was killed: clean up, do not run
	Priority string // the nearest `_priority` if it is an expression, otherwise ""
	// Prepare means that the run only evaluates the `zerodag: 1` keys of the task, which may be a group.
	Prepare bool
	Ends    bool           // for such a run: it evaluates `outputs` of the file, after all tasks
	Timeout *claim.Timeout // time limits of the run; nil for none
	Away    int            // how many times this run has been postponed, see Resume
	Vault   SecretStore    // all secrets of the project; `_secrets` is applied here

	// EvalStored evaluates values stored by operators as Digdag does: again before each task, secrets included.
	// Otherwise they are data.
	EvalStored bool

	// Before, unless nil, is called with the evaluated parameters before the operator; it reports whether the operator
	// should run at all (`--dry-run`, `--show-params`).
	Before func(evaluated *param.Map) bool

	all      *param.Map // the evaluated parameters
	captures *captures  // what to take from the command; nil if its file does not have this feature
	warned   bool       // users have been warned that the run is slow
}

// Outcome is how a run ended: exactly one of the first four fields is set.
type Outcome struct {
	Result   *operators.Result
	Prepared *Prepared // of a run that prepares the task
	Later    *operators.Later
	Error    *param.Map // {message, stacktrace?}

	LogIncomplete bool // some text of its log could not be stored; set by the host
}

// Run evaluates a task's parameters, finds its operator and runs it. It logs what Digdag logs, and a panic in an
// operator only fails the task.
func Run(ctx context.Context, r operators.Registry, e Evaluator, j *Job) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			j.Log.Line(operators.Error, "OperatorManager", fmt.Sprintf("Task failed with unexpected error: %v\n%s", p, debug.Stack()))
			out = Outcome{Error: param.DataMap(engine.ErrorObject(fmt.Errorf("%v", p)))}
		}
	}()
	ctx = WithSite(ctx, j.SiteID)
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
		j.Log.Line(operators.Warn, "OperatorManager", "Task waits for the deployment and runs again: "+err.Error())
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
		// A kill cut off the run, and work that earlier runs started elsewhere continues: if a killed task requests another
		// run, the engine cleans up after it.
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
		return operators.Result{}, nil // only `_export`, for example: nothing to do counts as success
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

// MarkData marks what an operator stores and exports as data. Subtasks are code, except for exports of loops, which
// loops mark themselves.
func (j *Job) MarkData(r *operators.Result) {
	if j.EvalStored {
		r.Subtasks = param.CodeMap(r.Subtasks)
		return
	}
	r.Store, r.Export = param.DataMap(r.Store), param.DataMap(r.Export)
}

// announce logs the first line of a run, and rarely again while a task polls. A run that only polls the command of an
// earlier run logs nothing, since the earlier run already has.
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
		return "", "" // evaluate has checked this: there is none
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
