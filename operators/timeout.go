package operators

import (
	"context"
	"errors"
	"time"
)

// ErrTime is why a run is cut off whose time is over.
var ErrTime = errors.New("the time of the task is over")

// ErrEnded is why a run is cut off whose task is to end: it was killed, or its group failed fast or took too long.
var ErrEnded = errors.New("the task was ended")

// Ended reports of the context of a run that is over whether its task is to end, by a kill or since its time is over: what the run
// has started elsewhere ends with it. Else the run alone was cut off, and another one goes on with that.
func Ended(ctx context.Context) bool {
	why := context.Cause(ctx)
	return errors.Is(why, ErrEnded) || errors.Is(why, ErrTime)
}

// GraceFor is how long the command has between the request to end and the force, once ctx is over: its own grace if its
// time is over, else the usual one of the executor.
func (c Command) GraceFor(ctx context.Context, usual time.Duration) time.Duration {
	if errors.Is(context.Cause(ctx), ErrTime) {
		return c.Grace
	}
	return usual
}
