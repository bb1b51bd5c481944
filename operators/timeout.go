package operators

import (
	"context"
	"errors"
	"time"
)

// ErrTime is the cause when a run is cut off because its time has run out.
var ErrTime = errors.New("the task timed out")

// ErrEnded is the cause when a run is cut off because its task must end: it was killed, or its group failed fast or
// timed out.
var ErrEnded = errors.New("the task was stopped")

// Ended reports, for the context of a finished run, whether its task must end, because of a kill or a timeout. In that
// case, work that the run has started elsewhere also ends. Otherwise only the run was cut off, and another run
// continues that work.
func Ended(ctx context.Context) bool {
	why := context.Cause(ctx)
	return errors.Is(why, ErrEnded) || errors.Is(why, ErrTime)
}

// GraceFor returns how long the command has between the request to end and the kill, once ctx has ended: its own grace
// after a timeout, otherwise the executor's default.
func (c Command) GraceFor(ctx context.Context, usual time.Duration) time.Duration {
	if errors.Is(context.Cause(ctx), ErrTime) {
		return c.Grace
	}
	return usual
}
