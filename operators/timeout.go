package operators

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
)

// errTime is why a run is cut off whose time is over.
var errTime = errors.New("the time of the task is over")

// ErrEnded is why a run is cut off whose task is to end: it was killed, or its group failed fast or took too long.
var ErrEnded = errors.New("the task was ended")

// Ended says of a context of a run that is over whether its task is to end, by a kill or since its time is over: what the run
// has started elsewhere ends with it. Else the run alone was cut off, and another one goes on with that.
func Ended(ctx context.Context) bool {
	why := context.Cause(ctx)
	return errors.Is(why, ErrEnded) || errors.Is(why, errTime)
}

// inTime is a try that ends when the time of the task is over, with all that it left running elsewhere. `_retry` may
// repeat it, whatever the operator; when the time for all tries is over nothing is repeated.
func (j *Job) inTime(ctx context.Context, e Evaluator, op Operator) (Result, error) {
	defer j.tellSlow(ctx)()
	end, kind := j.Timeout.Deadline(j.Now)
	if end.IsZero() {
		return j.try(ctx, e, op)
	}
	if left := end.Sub(j.Now); left > 0 {
		j.Commands = graceful{j.Commands, j.Timeout.Grace}
		within, stop := context.WithTimeoutCause(ctx, left, errTime)
		defer stop()
		result, err := j.try(within, e, op)
		var later *Later
		polls := errors.As(err, &later) && !later.Retry
		switch {
		case err == nil || !errors.Is(context.Cause(within), errTime) || polls && ctx.Err() != nil:
			return result, err
		case ctx.Err() != nil: // the task was ended just after: the engine goes on from there, but the log says what came first
			return Result{}, j.late(kind)
		case polls:
			j.State = later.State // which names what the run has started elsewhere
		}
	}
	if err := j.end(ctx, op); err != nil {
		return Result{}, fmt.Errorf("%w after the time of the task was over", err)
	}
	failure := j.late(kind)
	if kind == engine.ByTotal {
		return Result{}, failure
	}
	policy, err := j.retries()
	if err != nil {
		return Result{}, err
	}
	return Result{}, j.again(policy, failure)
}

// late is the failure of a task whose time is over.
func (j *Job) late(kind engine.TimeoutKind) *Failure {
	text, _ := j.Timeout.Error(kind).Get("message")
	return &Failure{Message: fmt.Sprint(text), Properties: j.Timeout.Error(kind).Without("message")}
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
		j.Log.Line(Warn, "OperatorManager", text)
		if err := j.Notifier.Notify(ctx, text, &j.Task); err != nil {
			j.Log.Line(Error, "OperatorManager", "Nobody could be told: "+err.Error())
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
func (j *Job) bound(l *Later) {
	l.Until, _ = j.Timeout.Deadline(j.Now)
	l.SlowAt, l.Warned = j.Timeout.SlowAt(j.Now), j.warned
}

// GraceFor is how long the command has between the request to end and the force, once ctx is over: its own grace if its
// time is over, else the usual one of the executor.
func (c Command) GraceFor(ctx context.Context, usual time.Duration) time.Duration {
	if errors.Is(context.Cause(ctx), errTime) {
		return c.Grace
	}
	return usual
}

// graceful gives commands their time to end.
type graceful struct {
	Commands
	grace time.Duration
}

// Run implements Commands.
func (g graceful) Run(ctx context.Context, c Command) (Exit, error) {
	c.Grace = g.grace
	return g.Commands.Run(ctx, c)
}
