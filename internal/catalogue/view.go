package catalogue

import (
	"context"
	"errors"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/resume"
	"zerodag/internal/host"
	"zerodag/internal/replay"
	"zerodag/internal/vault"
)

// View passes an attempt's state, finished or not, to f, which must not keep references to it. An attempt that waits
// (backfill) or that could never start has no tasks: f gets nil.
func (c lifecycle) View(ctx context.Context, a host.Attempt, f func(*engine.State)) error {
	return c.ViewSince(ctx, a, func(s *engine.State, _ int64) { f(s) })
}

// ViewSince is like View, but also returns the number of the last entry of the history that the state includes: later
// entries are the later changes. It is 0 if nothing will change anymore.
func (c lifecycle) ViewSince(ctx context.Context, a host.Attempt, f func(s *engine.State, seq int64)) error {
	if a.AfterSession != 0 {
		f(nil, 0)
		return nil
	}
	if !a.Done {
		err := c.o.Live.View(ctx, a.ID, f)
		if !errors.Is(err, host.ErrGone) { // ErrGone: it ended since its row was read
			return err
		}
	}
	state, err := c.o.Reader.Archive(ctx, a)
	if err != nil {
		return err
	}
	f(state, 0)
	return nil
}

// Watch returns a channel that receives after each step of the attempt and is closed when the attempt or ctx ends.
func (c lifecycle) Watch(ctx context.Context, a host.Attempt) <-chan struct{} {
	return c.o.Live.Watch(ctx, a)
}

// History lists entries of the attempt's log from sequence number first, up to n.
func (c lifecycle) History(ctx context.Context, a host.Attempt, first int64, n int) ([]host.Entry, error) {
	return c.o.Reader.History(ctx, a, first, n)
}

// Changes shows up to n entries of the attempt's log after entry `after`, each with the tasks at that time; see
// replay.Reader.Walk.
func (c lifecycle) Changes(ctx context.Context, a host.Attempt, after int64, n int, f func(replay.Step, *engine.State) bool) error {
	return c.o.Reader.Walk(ctx, a, after, n, f)
}

// ViewAt shows the attempt as it was after entry seq.
func (c lifecycle) ViewAt(ctx context.Context, a host.Attempt, seq int64, f func(*engine.State)) error {
	state, err := c.o.Reader.At(ctx, a, seq)
	if err != nil {
		return err
	}
	f(state)
	return nil
}

// Masker returns a function that removes a project's secrets from an attempt's displayed parameters.
func (c lifecycle) Masker(ctx context.Context, a host.Attempt, s *engine.State) (func(*param.Map) *param.Map, error) {
	v, err := vault.Of(ctx, c.o.Secrets, a.Site, a.Project.ID, s != nil && s.HoldsSecrets())
	return v.MaskAll, err
}

// Outputs returns an attempt's outputs without secrets; nil if it has none.
func (c lifecycle) Outputs(ctx context.Context, a host.Attempt) (*param.Map, error) {
	if !a.HasOutputs {
		return nil, nil
	}
	state, err := c.o.Reader.Archive(ctx, a)
	if err != nil || state == nil {
		return nil, err
	}
	mask, err := c.Masker(ctx, a, state)
	if err != nil {
		return nil, err
	}
	return mask(state.Outputs()), nil
}

// ForkRequest describes the requested fork of an attempt.
type ForkRequest struct {
	Seq       int64  // entry of the log
	RetryName string // required
	Params    *param.Map
	Outside   bool // as in StartRequest
}

// Fork starts a new attempt of the same session and definition that takes over the tasks that had succeeded as of an
// entry. Without parameters it uses the attempt's parameters.
func (c lifecycle) Fork(ctx context.Context, a host.Attempt, r ForkRequest) (host.Attempt, error) {
	if r.RetryName == "" {
		return host.Attempt{}, host.Invalidf("retryAttemptName is required")
	}
	carried, priority, err := c.carriedAt(ctx, a, r.Seq)
	if err != nil {
		return host.Attempt{}, err
	}
	q := StartRequest{Site: a.Site, Workflow: a.Workflow.ID, SessionTime: a.SessionTime, RetryName: r.RetryName,
		Params: r.Params, Labels: a.Labels, Outside: r.Outside, carried: carried, priority: priority}
	if r.Params == nil {
		q.Params, q.Outside = a.Params, false // they were checked when the attempt started
	}
	return c.Start(ctx, q)
}

// carriedAt returns the results that an attempt forked after an entry takes over, and its priority.
func (c lifecycle) carriedAt(ctx context.Context, a host.Attempt, seq int64) ([]engine.Carried, int, error) {
	state, err := c.o.Reader.At(ctx, a, seq)
	if err != nil {
		return nil, 0, err
	}
	return resume.Done(state), state.Priority(), nil
}
