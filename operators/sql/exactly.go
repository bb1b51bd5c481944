package sql

import (
	"context"
	"errors"
	"fmt"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Keys in the state of a task that writes.
const (
	QueryKey   = "queryId"
	WaitKey    = "pollInterval"  // seconds until the next poll
	unknownKey = "commitUnknown" // the connection was lost while the server committed
)

// Reasons why a query's outcome is not known yet.
var (
	ErrLocked  = errors.New("another run of this task is executing the query")
	ErrUnknown = errors.New("the connection was lost during the commit: the status table records the outcome")
)

// Identified returns the id of the task's query. If there is none, it returns a Later that immediately requests another
// run with an id: the id must be stored before it is used.
func (k Kind) Identified(t *operators.Task) (id string, err error) {
	if t.State.Has(QueryKey) {
		return operators.NewParams(t.State).String(QueryKey)
	}
	next := t.State.Clone()
	next.Set(QueryKey, operators.Derived(k.Name, t.IdempotencyKey(), t.SessionUUID))
	return "", &operators.Later{State: next}
}

// Write makes changes in the database; Later means that another run must check the outcome. Work that do begins must
// become permanent together with the record that it is done, or not at all; do returns ErrLocked and ErrUnknown.
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

// Unreached ends a run of a task that writes but did not reach its server.
func Unreached(ctx context.Context, t *operators.Task, err error) error {
	if ctx.Err() == nil && t.State.Has(unknownKey) {
		return again(t.State, err) // it may be done: reporting a failure would be a guess
	}
	return err
}

// Ended ends a run of a task that writes: it returns the outcome, or Later if that is unknown.
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

// Commit ends a transaction whose work must not be repeated.
func (s *Session) Commit(ctx context.Context) error {
	err := s.Script(ctx, "commit updated status row", "COMMIT")
	if err != nil && ctx.Err() == nil && Code(err) == "" { // no response from the server
		return fmt.Errorf("%w (%v)", ErrUnknown, err) //nolint:errorlint // an unknown outcome must not be taken for a refusal
	}
	return err
}

// again requests another run after 1, 2, 4 ... seconds.
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
