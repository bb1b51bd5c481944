package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/operators"
)

// try runs the operator and converts its own failure to a retry while `_retry` allows one.
func (j *Job) try(ctx context.Context, e Evaluator, op operators.Operator) (operators.Result, error) {
	if !op.Retries {
		return j.once(ctx, e, op)
	}
	policy, err := j.retries()
	if err != nil {
		return operators.Result{}, err
	}
	result, err := j.once(ctx, e, op)
	var later *operators.Later
	if _, missing := operators.MissingKey(err); err == nil || errors.As(err, &later) || missing || operators.IsAway(err) || ctx.Err() != nil {
		return result, err
	}
	return operators.Result{}, j.again(policy, err)
}

// retries returns the task's `_retry`.
func (j *Job) retries() (engine.RetryPolicy, error) {
	value, ok := j.Params.Get("_retry")
	if !ok {
		return engine.RetryPolicy{}, nil
	}
	return engine.ParseRetry(value, j.Level)
}

// again returns the failure, or a request for another try if `_retry` allows one after such a failure.
func (j *Job) again(policy engine.RetryPolicy, failure error) error {
	next, wait, ok := policy.Next(j.State.Without(repeatKey), j.IdempotencyKey())
	if ok && policy.Repeats(objectOf(failure)) {
		return &operators.Later{After: wait, State: next, Err: failure, Retry: true}
	}
	return failure
}

// once runs the operator, takes the captured values of its command, and applies `_repeat`.
func (j *Job) once(ctx context.Context, e Evaluator, op operators.Operator) (operators.Result, error) {
	result, err := op.Run(ctx, &j.Task)
	if err == nil {
		err = j.captures.store(&result)
	}
	return j.repeat(ctx, e, result, err)
}

// clean ends, after a kill, work that earlier runs left behind.
func (j *Job) clean(ctx context.Context, op operators.Operator) error {
	if err := j.end(ctx, op); err != nil {
		return fmt.Errorf("%w after the kill", err)
	}
	return j.canceled()
}

// end ends work that earlier runs of the task left running elsewhere.
func (j *Job) end(ctx context.Context, op operators.Operator) error {
	if err := j.StopCommand(ctx); err != nil {
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
	return operators.Failf("Got a cancel-requested: attempt_id=%d, task_id=%d", j.AttemptID, j.TaskID)
}

// find returns the operator with the given name: listed operators take precedence over the project's.
func find(r operators.Registry, t *operators.Task, name string) (operators.Operator, error) {
	if o, ok := r[name]; ok && name != operators.AnyOther {
		return o, nil
	}
	if other, ok := r[operators.AnyOther]; ok {
		if o, found, err := other.Find(t, name); found || err != nil {
			return o, err
		}
	}
	return operators.Operator{}, param.Errorf("Unknown task type: %s", name)
}

// LeavesNothing reports whether the runs of a killed task cannot have left anything behind, judging by its text: a
// kill must not wait for its expressions.
func LeavesNothing(r operators.Registry, j *Job) bool {
	name, _, err := operatorOf(j.Own)
	op, builtIn := r[name]
	return err == nil && builtIn && op.Clean == nil && j.State.Len() == 0
}

// reportUnused logs keys of the task that its operator never read.
func (j *Job) reportUnused(operatorKey string) {
	for _, k := range j.Own.Without(append(j.steering(), "_export")...).Keys() {
		if k == operatorKey || k == "_type" || j.Params.Used(k) || strings.HasPrefix(k, "_") {
			continue
		}
		j.Log.Line(operators.Error, "OperatorManager", fmt.Sprintf("Parameter '%s' is not used at task %s.", k, j.TaskName))
		if near := param.Suggest(k, j.Params.UsedKeys()); len(near) > 0 {
			j.Log.Line(operators.Error, "OperatorManager", "  > Did you mean ["+strings.Join(near, ", ")+"]?")
		}
	}
}
