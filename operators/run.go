package operators

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// Evaluator evaluates `${...}` as expr.Evaluator does, for any number of goroutines at a
// time. What is not the task's fault is a *Later; the end of ctx ends an evaluation.
type Evaluator interface {
	Eval(ctx context.Context, all, vars *param.Map, s expr.Scope) (*param.Map, error)
	Template(ctx context.Context, text string, vars *param.Map, s expr.Scope) (string, error)
}

// Job is one run of one task, as a host hands it over.
type Job struct {
	Task            // Params, Local and Template are filled in by Run
	Own  *param.Map // the task's own config, unevaluated
	Env  *param.Map // variables that groups around it give to its command, below its own `_env`
	// EnvFiles are what groups around it say of files with variables, unevaluated; its own ones come after them.
	EnvFiles []param.Value
	Vars     *param.Map // what it sees of others, unevaluated (engine.State.ParamsOf)
	Scope    expr.Scope
	Cancel   bool   // the attempt was killed: clean up, do not run
	Priority string // the nearest `_priority`, where it is computed; "" where it is not
	// Prepare: the run only finds out what the gate keys of the task come to, which may be a group.
	Prepare bool
	Ends    bool            // of such a run: it finds out what `outputs` of the file come to, after all tasks
	Timeout *engine.Timeout // how long the run may take; nil for any time
	warned  bool            // people were told that the run is slow
	Away    int             // how often this run was postponed, see Resume
	Vault   SecretStore     // all secrets of the project; `_secrets` is applied here

	// EvalStored evaluates what operators stored as the original does: again before each task,
	// secrets included. Else it is data.
	EvalStored bool

	// Before, unless nil, is called with the evaluated parameters before the operator; it
	// says whether the operator is to be run at all (`--dry-run`, `--show-params`).
	Before func(evaluated *param.Map) bool
}

// Outcome is how a run ended: exactly one of the first four is set.
type Outcome struct {
	Result   *Result
	Prepared *Prepared // of a run that was to prepare the task
	Later    *Later
	Error    *param.Map // {message, stacktrace?}

	LogIncomplete bool // some text of its log could not be stored; the host sets it
}

// Run evaluates the parameters of a task, finds its operator and runs it. It logs what
// the original logs, and a panic of an operator fails the task only.
func (r Registry) Run(ctx context.Context, e Evaluator, j *Job) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			j.Log.Line(Error, "OperatorManager", fmt.Sprintf("Task failed with unexpected error: %v\n%s", p, debug.Stack()))
			out = Outcome{Error: param.DataMap(engine.ErrorObject(fmt.Errorf("%v", p)))}
		}
	}()
	before := j.State
	var result Result
	var prepared *Prepared
	var err error
	if j.Prepare {
		prepared, err = j.prepare(ctx, e)
	} else {
		result, err = r.run(ctx, e, j)
	}
	switch {
	case err == nil && j.Prepare:
		return Outcome{Prepared: prepared}
	case err == nil:
		j.MarkData(&result)
		return Outcome{Result: &result}
	}
	if later := j.postponed(err, before); later != nil {
		j.Log.Line(Warn, "OperatorManager", "Task waits for the deployment and is run again: "+err.Error())
		j.bound(later)
		return Outcome{Later: later}
	}
	var later *Later
	if errors.As(err, &later) {
		if later.Err != nil {
			j.Log.Line(Error, "OperatorManager", "Task failed, retrying: "+later.Err.Error())
		}
		if !later.Retry {
			j.bound(later)
		}
		return Outcome{Later: later}
	}
	if errors.Is(ctx.Err(), context.Canceled) && !j.Cancel && j.State.Len() > 0 {
		// A kill cut the run off, and what earlier ones started elsewhere goes on: the engine has a
		// killed task that asks for another run cleaned up.
		return Outcome{Later: &Later{State: j.State}}
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

// report logs a failure the way the original does and returns its error object.
func report(j *Job, err error) *param.Map {
	var plain *Failure
	var config *param.ConfigError
	switch {
	case errors.As(err, &plain) && j.Cancel:
		j.Log.Line(Warn, "OperatorManager", "Task "+j.TaskName+" is canceled.")
	case errors.As(err, &plain):
		j.Log.Line(Error, "OperatorManager", "Task "+j.TaskName+" failed.\n"+plain.Message+indentedTrace(plain.Trace))
	case errors.As(err, &config):
		j.Log.Line(Error, "OperatorManager", "Configuration error at task "+j.TaskName+": "+config.Message+" (config)")
	case errors.Is(err, context.Canceled):
		j.Log.Line(Warn, "OperatorManager", "Task "+j.TaskName+" is canceled.")
	default:
		j.Log.Line(Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
	}
	return objectOf(err)
}

// objectOf returns the error object of a failure.
func objectOf(err error) *param.Map {
	if plain := (*Failure)(nil); errors.As(err, &plain) {
		return plain.object()
	}
	object := engine.ErrorObject(err)
	var missing *missingSecret
	if errors.As(err, &missing) {
		object.Set(engine.SecretKey, missing.key)
	}
	return object
}

// indentedTrace is a traceback in the log, below the message. Views for people hide lines that begin with a tab.
func indentedTrace(trace string) string {
	if trace == "" {
		return ""
	}
	return "\n\tfrom " + strings.ReplaceAll(trace, "\n", "\n\tfrom ")
}

func (r Registry) run(ctx context.Context, e Evaluator, j *Job) (Result, error) {
	if j.Cancel && r.LeavesNothing(j) {
		return Result{}, j.canceled()
	}
	if err := j.evaluate(ctx, e); err != nil {
		return Result{}, err
	}
	all := j.Params.tree
	name, key := j.announce(all)
	if name == "" {
		return Result{}, nil // `_export` only, say: nothing to do is success
	}
	if j.Before != nil && !j.Before(all) {
		return Result{}, nil
	}
	op, err := r.find(&j.Task, name)
	if err != nil {
		return Result{}, err
	}
	mounts, err := ReadOr(j.Params, "_secrets", param.AsMap, nil)
	if err != nil {
		return Result{}, err
	}
	j.Secrets = mounted{store: j.Vault, mounts: mounts, given: map[string]string{}}
	if j.Cancel {
		return Result{}, j.clean(ctx, op)
	}
	if j.captures, err = j.capturesOf(); err != nil {
		return Result{}, err
	}
	result, err := j.inTime(ctx, e, op)
	if err == nil {
		j.reportUnused(key)
	}
	return result, err
}

// MarkData says of what an operator stores and exports that it is data. Sub-tasks are code, but
// for what loops export to them, which they mark themselves.
func (j *Job) MarkData(r *Result) {
	if j.EvalStored {
		r.Subtasks = param.CodeMap(r.Subtasks)
		return
	}
	r.Store, r.Export = param.DataMap(r.Store), param.DataMap(r.Export)
}

// evaluate fills in Params, Local and Template (language.md 1.7).
func (j *Job) evaluate(ctx context.Context, e Evaluator) error {
	vars := j.seen()
	own := j.Own.Without(append(j.steering(), "_export")...)
	if j.Env.Len() > 0 {
		own = param.Merge(own, param.New("_env", param.Merge(j.Env, own.Map("_env"))))
	}
	files := slices.Clone(j.EnvFiles)
	if j.Level > 0 {
		v, _ := j.Own.Get(envFilesKey)
		files = append(files, dig.ListOf(v)...)
	}
	if len(files) > 0 {
		own = param.Merge(own, param.New(envFilesKey, files))
	}
	bodies := branches(own)
	if bodies != nil {
		own = own.Without(bodies.Keys()...)
	}
	refs := j.refer(own)
	all, err := e.Eval(ctx, param.Merge(vars, own), vars, j.Scope)
	if err != nil {
		return err
	}
	if bodies != nil {
		all, own = param.Merge(all, bodies), param.Merge(own, bodies)
	}
	if len(files) > 0 {
		v, _ := all.Get(envFilesKey)
		if j.envFiles, err = dig.ParseEnvFiles(v); err != nil {
			return err
		}
		all, own = all.Without(envFilesKey), own.Without(envFilesKey)
	}
	if j.State == nil {
		j.State = param.New()
	}
	name, key, err := operatorOf(all)
	if err != nil {
		return err
	}
	if key != "" {
		command, _ := all.Get(key)
		all = all.Clone()
		all.Set("_type", name)
		if command != nil { // `op>:` without a value is no command
			all.Set("_command", command)
		}
	}
	marked := all // files see the parameters with their marks
	if refs != nil {
		all = refs.cleanMap(all)
	}
	local := param.New()
	for _, k := range own.Keys() {
		if v, ok := all.Get(k); ok && v != nil {
			local.Set(k, v)
		}
	}
	j.Local = local
	j.Params = NewParams(all)
	j.Template = func(text string) (string, error) {
		result, err := e.Template(ctx, text, marked, j.Scope)
		if refs != nil {
			result = refs.cleanText(result)
		}
		return result, err
	}
	return nil
}

// refer lets evaluation mark the references to secrets that are written; nil when what reads
// like one is one.
func (j *Job) refer(own *param.Map) *references {
	if j.EvalStored {
		return nil
	}
	j.references = newReferences()
	j.references.knowKeys(own)
	j.Scope.Mark = j.references.mark
	return j.references
}

// operatorOf finds the operator in evaluated parameters: `_type`, or else the first key
// that ends in ">", which is returned too.
func operatorOf(all *param.Map) (name, key string, err error) {
	if all.Has("_type") {
		name, err = NewParams(all).String("_type")
		return name, "", err
	}
	for _, k := range all.Keys() {
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1], k, nil
		}
	}
	return "", "", nil
}

// announce logs the first line of a run, and seldom again while a task polls. A run that only
// looks after the command of an earlier one says nothing: that one has said it.
func (j *Job) announce(all *param.Map) (name, key string) {
	log := j.Log.Line
	if j.hasCommand() {
		log = func(Level, string, string) {}
	}
	level := Debug
	old := !j.StartedAt.IsZero() && j.Now.After(j.StartedAt.Add(30*time.Minute)) && j.RetryCount%10 == 0
	if j.RetryCount == 0 || old {
		level = Info
	}
	for _, k := range all.Keys() {
		if strings.HasSuffix(k, ">") {
			key = k
			break
		}
	}
	name, err := NewParams(all).StringOr("_type", "")
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

// try runs the operator and turns its own failure into a retry while `_retry` allows.
func (j *Job) try(ctx context.Context, e Evaluator, op Operator) (Result, error) {
	if !op.Retries {
		return j.once(ctx, e, op)
	}
	policy, err := j.retries()
	if err != nil {
		return Result{}, err
	}
	result, err := j.once(ctx, e, op)
	var later *Later
	var missing *missingSecret
	if err == nil || errors.As(err, &later) || errors.As(err, &missing) || isAway(err) || ctx.Err() != nil {
		return result, err
	}
	return Result{}, j.again(policy, err)
}

// retries is `_retry` of the task.
func (j *Job) retries() (engine.RetryPolicy, error) {
	value, ok := j.Params.Get("_retry")
	if !ok {
		return engine.RetryPolicy{}, nil
	}
	return engine.ParseRetry(value, j.Level)
}

// again is a failure, or the request for another try where one is left that may come after such a failure.
func (j *Job) again(policy engine.RetryPolicy, failure error) error {
	next, wait, ok := policy.Next(j.State.Without(repeatKey), j.IdempotencyKey())
	if ok && policy.Repeats(objectOf(failure)) {
		return &Later{After: wait, State: next, Err: failure, Retry: true}
	}
	return failure
}

// once runs the operator, with what its command leaves, and says whether `_repeat` wants another run.
func (j *Job) once(ctx context.Context, e Evaluator, op Operator) (Result, error) {
	result, err := op.Run(ctx, &j.Task)
	if err == nil {
		err = j.captures.store(&result)
	}
	return j.repeat(ctx, e, result, err)
}

// clean ends what earlier runs left behind after a kill.
func (j *Job) clean(ctx context.Context, op Operator) error {
	if err := j.end(ctx, op); err != nil {
		return fmt.Errorf("%w after the kill", err)
	}
	return j.canceled()
}

// end ends what earlier runs of the task left running elsewhere.
func (j *Job) end(ctx context.Context, op Operator) error {
	if err := j.stopCommand(ctx); err != nil {
		return fmt.Errorf("stop the command: %w", err)
	}
	if op.Clean != nil {
		if err := op.Clean(ctx, &j.Task); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	return nil
}

func (j *Job) canceled() error {
	return Failf("Got a cancel-requested: attempt_id=%d, task_id=%d", j.AttemptID, j.TaskID)
}

// LeavesNothing says of a task that was killed whether its runs can have left nothing behind, as
// far as its text tells: a kill must not wait for its expressions.
func (r Registry) LeavesNothing(j *Job) bool {
	name, _, err := operatorOf(j.Own)
	op, builtIn := r[name]
	return err == nil && builtIn && op.Clean == nil && j.State.Len() == 0
}

// reportUnused names keys of the task that its operator never looked at.
func (j *Job) reportUnused(operatorKey string) {
	for _, k := range j.Own.Without(append(j.steering(), "_export")...).Keys() {
		if k == operatorKey || k == "_type" || j.Params.Used(k) || strings.HasPrefix(k, "_") {
			continue
		}
		j.Log.Line(Error, "OperatorManager", fmt.Sprintf("Parameter '%s' is not used at task %s.", k, j.TaskName))
		if near := param.Suggest(k, j.Params.UsedKeys()); len(near) > 0 {
			j.Log.Line(Error, "OperatorManager", "  > Did you mean ["+strings.Join(near, ", ")+"]?")
		}
	}
}
