package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/claim"
	"zerodag/operators"
)

// inTime is a try that ends when the time of the task is over, with all that it left running elsewhere. `_retry` may
// repeat it, whatever the operator; when the time for all tries is over nothing is repeated.
func (j *Job) inTime(ctx context.Context, e Evaluator, op operators.Operator) (operators.Result, error) {
	defer j.tellSlow(ctx)()
	end, kind := j.Timeout.Deadline(j.Now)
	if end.IsZero() {
		return j.try(ctx, e, op)
	}
	if left := end.Sub(j.Now); left > 0 {
		j.Commands = graceful{j.Commands, j.Timeout.Grace}
		within, stop := context.WithTimeoutCause(ctx, left, operators.ErrTime)
		defer stop()
		result, err := j.try(within, e, op)
		var later *operators.Later
		polls := errors.As(err, &later) && !later.Retry
		switch {
		case err == nil || !errors.Is(context.Cause(within), operators.ErrTime) || polls && ctx.Err() != nil:
			return result, err
		case ctx.Err() != nil: // the task was ended just after: the engine goes on from there, but the log says what came first
			return operators.Result{}, j.late(kind)
		case polls:
			j.State = later.State // which names what the run has started elsewhere
		}
	}
	if err := j.end(ctx, op); err != nil {
		return operators.Result{}, fmt.Errorf("%w after the time of the task was over", err)
	}
	failure := j.late(kind)
	if kind == claim.ByTotal {
		return operators.Result{}, failure
	}
	policy, err := j.retries()
	if err != nil {
		return operators.Result{}, err
	}
	return operators.Result{}, j.again(policy, failure)
}

// late is the failure of a task whose time is over.
func (j *Job) late(kind claim.TimeoutKind) *operators.Failure {
	text, _ := j.Timeout.Error(kind).Get("message")
	return &operators.Failure{Message: fmt.Sprint(text), Properties: j.Timeout.Error(kind).Without("message")}
}

// longestNotice is how long a run that is over waits until people were told that it was slow.
const longestNotice = 30 * time.Second

// tellSlow tells people when the try has taken as long as `warn` says, unless the returned function, which waits for what
// is being told, is called before.
func (j *Job) tellSlow(ctx context.Context) (stop func()) {
	at := j.Timeout.SlowAt(j.Now)
	if at.IsZero() || j.Cancel || j.Notifier == nil {
		return func() {}
	}
	told := make(chan struct{})
	timer := time.AfterFunc(max(0, at.Sub(j.Now)), func() {
		defer close(told)
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), longestNotice)
		defer stop()
		text := j.Timeout.Slow(j.TaskName)
		j.Log.Line(operators.Warn, "OperatorManager", text)
		if err := j.Notifier.Notify(ctx, text, &j.Task); err != nil {
			j.Log.Line(operators.Error, "OperatorManager", "Nobody could be told: "+err.Error())
		}
	})
	return func() {
		if !timer.Stop() {
			<-told
			j.warned = true
		}
	}
}

// bound says in a run that asks for another one what is left of the try's time.
func (j *Job) bound(l *operators.Later) {
	l.Until, _ = j.Timeout.Deadline(j.Now)
	l.SlowAt, l.Warned = j.Timeout.SlowAt(j.Now), j.warned
}

// graceful gives commands their time to end.
type graceful struct {
	operators.Commands
	grace time.Duration
}

// Run implements Commands.
func (g graceful) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	c.Grace = g.grace
	return g.Commands.Run(ctx, c)
}
