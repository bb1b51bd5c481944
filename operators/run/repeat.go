package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/operators"
)

// repeatKey is the state param that counts how many times a task with `_repeat` was run again; it contains a separate
// state, in which engine.RetryPolicy counts.
const repeatKey = "repeat"

// repeat requests another run of a task with `_repeat` that is not done. The run is a new try, without the state of the
// previous one. Errors are left to `_retry`, except exit codes that `exit_code` lists.
func (j *Job) repeat(ctx context.Context, e Evaluator, result operators.Result, err error) (operators.Result, error) {
	written, there := j.Own.Get("_repeat")
	var later *operators.Later
	if j.Level == 0 || !there || errors.As(err, &later) || operators.IsAway(err) || ctx.Err() != nil {
		return result, err
	}
	r, wrong := keys.ParseRepeat(written)
	if wrong != nil {
		return operators.Result{}, wrong
	}
	policy, wrong := engine.ParseRetry(r.Policy, j.Level)
	if wrong != nil {
		return operators.Result{}, wrong
	}
	policy.Limit-- // it counts all runs
	done, wrong := j.isDone(ctx, e, r, result, err)
	if wrong != nil {
		return operators.Result{}, wrong
	}
	if done {
		if err != nil { // the command has ended as expected
			err = j.captures.store(&result)
		}
		return result, err
	}
	next, wait, more := policy.Next(j.State.Map(repeatKey), j.IdempotencyKey())
	switch {
	case more:
		return operators.Result{}, &operators.Later{After: wait, State: param.Merge(engine.RetryState(j.State), param.New(repeatKey, next)), Retry: true}
	case r.Succeed:
		return result, nil
	}
	times := fmt.Sprintf("%d times", policy.Limit+1)
	if policy.Limit == 0 {
		times = "once"
	}
	return operators.Result{}, operators.Failf("The task was run %s, but the condition of _repeat never became true", times)
}

// isDone reports whether a task whose run ended like this does not have to run again.
func (j *Job) isDone(ctx context.Context, e Evaluator, r keys.Repeat, result operators.Result, err error) (bool, error) {
	if r.ExitCodes != nil {
		if !j.captures.ran {
			return false, cmp.Or(err, param.Errorf("_repeat has exit_code, but this operator runs no command"))
		}
		return slices.Contains(r.ExitCodes, int64(j.captures.code)), nil
	}
	if err != nil {
		return false, err
	}
	key, written := "_repeat.until", r.Until
	if written == nil {
		key, written = "_repeat.while", r.While
	}
	vars := param.Merge(j.seen(), param.DataMap(result.Store))
	all, err := e.Eval(ctx, param.Merge(vars, param.New("_repeat", written)), vars, j.Scope)
	if err != nil {
		return false, err
	}
	value, _ := all.Get("_repeat")
	on, err := param.AsCondition(key, value)
	return on == (r.Until != nil), err
}
