package sql

import (
	"context"
	"errors"
	"fmt"

	"zerodag/engine/param"
	"zerodag/operators"
)

// What the state of a task that writes has.
const (
	QueryKey   = "queryId"
	WaitKey    = "pollInterval"  // seconds until the next look, the next time
	unknownKey = "commitUnknown" // the connection was lost while the server committed
)

// Why it is not known yet what came of a query.
var (
	ErrLocked  = errors.New("another run of this task executes the query")
	ErrUnknown = errors.New("the connection was lost while the server committed: the status table knows what came of it")
)

// Identified says whether the task has the id of its query; Later asks for another run, at
// once, that has it: it must be kept before it is used.
func (k Kind) Identified(t *operators.Task) (id string, err error) {
	if t.State.Has(QueryKey) {
		return operators.NewParams(t.State).String(QueryKey)
	}
	next := t.State.Clone()
	next.Set(QueryKey, operators.Derived(k.Name, t.IdempotencyKey(), t.SessionUUID))
	return "", &operators.Later{State: next}
}

// Write does what changes the database; Later says that another run has to look. What do
// begins it must either make last together with the knowledge that it is done, or not at
// all; ErrLocked and ErrUnknown are for it to say.
func (s *Server) Write(ctx context.Context, t *operators.Task, do func(ctx context.Context, s *Session, id string) error) error {
	id, err := s.kind.Identified(t)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return Unreached(ctx, t, err)
	}
	defer c.Close()
	return Ended(t, do(ctx, c, id))
}

// Unreached is the end of a run of a task that writes, and that did not reach its server.
func Unreached(ctx context.Context, t *operators.Task, err error) error {
	if ctx.Err() == nil && t.State.Has(unknownKey) {
		return again(t.State, err) // it may be done: saying that it failed would be a guess
	}
	return err
}

// Ended is the end of a run of a task that writes: what came of it, or Later where that is not known.
func Ended(t *operators.Task, err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return again(t.State, nil)
	case errors.Is(err, ErrUnknown):
		next := t.State.Clone()
		next.Set(unknownKey, true)
		return again(next, err)
	}
	return err
}

// Commit ends a transaction whose work must not be done again.
func (s *Session) Commit(ctx context.Context) error {
	err := s.Script(ctx, "commit updated status row", "COMMIT")
	if err != nil && ctx.Err() == nil && Code(err) == "" { // no answer of the server's
		return fmt.Errorf("%w (%v)", ErrUnknown, err) //nolint:errorlint // what is unknown must not be taken for what was refused
	}
	return err
}

// again asks for another run after 1, 2, 4 ... seconds.
func again(state *param.Map, why error) error {
	const longest = 1200
	wait, err := operators.NewParams(state).IntOr(WaitKey, 1)
	if err != nil {
		return err
	}
	next := state.Clone()
	next.Set(WaitKey, min(2*wait, longest))
	return &operators.Later{After: seconds(wait), State: next, Err: why}
}
