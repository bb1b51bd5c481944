package aws

import (
	"context"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Backoff returns how long to wait before a poll: twice as long each time, from shortest to longest; n counts the polls
// from 0.
func Backoff(n int64, shortest, longest time.Duration) time.Duration {
	if n >= 30 || shortest<<n > longest {
		return longest
	}
	return shortest << n
}

// jobKey is the state param of a job that runs elsewhere. `_retry` removes it, so that the next try starts a new job.
const jobKey = "commandStatus"

// Job returns what a task has stored about the job that it started elsewhere.
func Job(t *operators.Task) *operators.Params { return operators.NewParams(t.State.Map(jobKey)) }

// Started reports whether an earlier run has started the job.
func Started(t *operators.Task) bool { return t.State.Map(jobKey).Len() > 0 }

// Again requests another run that has job in its state.
func Again(t *operators.Task, after time.Duration, job *param.Map) error {
	next := t.State.Clone()
	next.Set(jobKey, job)
	return &operators.Later{After: after, State: next}
}

// Opened completes an operator whose runs and cleanup begin by opening the task's account, client and parameters.
func Opened[W any](o operators.Operator, open func(context.Context, *Account, *operators.Task) (W, error),
	run func(W, context.Context) (operators.Result, error), stop func(W, context.Context) error) operators.Operator {
	account := &Account{}
	o.Run = func(ctx context.Context, t *operators.Task) (operators.Result, error) {
		w, err := open(ctx, account, t)
		if err != nil {
			return operators.Result{}, err
		}
		return run(w, ctx)
	}
	o.Clean = func(ctx context.Context, t *operators.Task) error {
		w, err := open(ctx, account, t)
		if err != nil {
			return err
		}
		return stop(w, ctx)
	}
	return o
}

// Name returns a name that identifies the job of this task: it is the same for every run of one try, however often it
// is delivered, and different for each try of `_retry`.
func Name(t *operators.Task) string {
	try, _ := operators.NewParams(t.State).IntOr("retry_count", 0) // the engine's: always a number
	return operators.Derived(t.IdempotencyKey(), t.SessionUUID, t.ProjectName, try)
}
