package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/claim"
	"zerodag/operators"
)

// inTime runs a try that ends when its time has run out, together with everything that it left running elsewhere.
// `_retry` may retry it, regardless of the operator; when the time for all tries has run out, nothing is retried.
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
		case ctx.Err() != nil: // the task was stopped just after: the engine decides, but the log shows what came first
			return operators.Result{}, j.late(kind)
		case polls:
			j.State = later.State // it names what the run has started elsewhere
		}
	}
	if err := j.end(ctx, op); err != nil {
		return operators.Result{}, fmt.Errorf("%w after the task timed out", err)
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

// late returns the failure of a task that timed out.
func (j *Job) late(kind claim.TimeoutKind) *operators.Failure {
	text, _ := j.Timeout.Error(kind).Get("message")
	return &operators.Failure{Message: fmt.Sprint(text), Properties: j.Timeout.Error(kind).Without("message")}
}

// longestNotice is how long a finished run waits for its slow warning to be delivered.
const longestNotice = 30 * time.Second

// tellSlow sends the warning when the try has taken as long as `warn`, unless the returned function is called first;
// that function waits for a warning in progress.
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
		if err := j.Notifier.NotifySlow(ctx, text, &j.Task); err != nil {
			j.Log.Line(operators.Error, "OperatorManager", "The notification could not be sent: "+err.Error())
		}
	})
	return func() {
		if !timer.Stop() {
			<-told
			j.warned = true
		}
	}
}

// bound adds the try's remaining time to a request for another run.
func (j *Job) bound(l *operators.Later) {
	l.Until, _ = j.Timeout.Deadline(j.Now)
	l.SlowAt, l.Warned = j.Timeout.SlowAt(j.Now), j.warned
}

// graceful gives commands time to end.
type graceful struct {
	operators.Commands
	grace time.Duration
}

// Run implements Commands.
func (g graceful) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	c.Grace = g.grace
	return g.Commands.Run(ctx, c)
}
