package aws

import (
	"context"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Backoff is how long to wait before a look: twice as long each time, from shortest to
// longest; n counts the looks from 0.
func Backoff(n int64, shortest, longest time.Duration) time.Duration {
	if n >= 30 || shortest<<n > longest {
		return longest
	}
	return shortest << n
}

// jobKey is the state param of a job that runs elsewhere. It is the one that `_retry`
// forgets, so that the next try starts a job of its own.
const jobKey = "commandStatus"

// Job is what a task remembers of the job that it started elsewhere.
func Job(t *operators.Task) *operators.Params { return operators.NewParams(t.State.Map(jobKey)) }

// Started says whether an earlier run started the job.
func Started(t *operators.Task) bool { return t.State.Map(jobKey).Len() > 0 }

// Again asks for another run that finds job in its state.
func Again(t *operators.Task, after time.Duration, job *param.Map) error {
	next := t.State.Clone()
	next.Set(jobKey, job)
	return &operators.Later{After: after, State: next}
}

// Opened completes an operator whose runs, and cleaning up, begin with finding out what the
// task is about: its account, client and parameters.
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

// Name identifies the job of this task: the same for every run of one try, however often it
// is delivered, and another for each try of `_retry`.
func Name(t *operators.Task) string {
	try, _ := operators.NewParams(t.State).IntOr("retry_count", 0) // the engine's: always a number
	return operators.Derived(t.IdempotencyKey(), t.SessionUUID, t.ProjectName, try)
}
