package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"zerodag/engine"
	"zerodag/engine/param"
)

// View shows the tasks of an attempt, finished or not, to f, which must keep nothing of
// it. An attempt that waits (backfill), or that never could start, has no tasks: f gets
// nil.
func (h *Host) View(ctx context.Context, a Attempt, f func(*engine.State)) error {
	if a.Waits != 0 {
		f(nil)
		return nil
	}
	if a.Done {
		return h.viewArchive(ctx, a, f)
	}
	l := h.hold(a.ID)
	defer h.drop(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || h.Ticked { // others go on with it, in processes of their own
		err := h.load(ctx, l, nil)
		if errors.Is(err, errGone) { // it ended since its row was read
			return h.viewArchive(ctx, a, f)
		}
		if err != nil {
			return err
		}
	}
	f(l.state)
	return nil
}

func (h *Host) viewArchive(ctx context.Context, a Attempt, f func(*engine.State)) error {
	text, err := h.Attempts.Archive(ctx, a.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("read archive of attempt %d: %w", a.ID, err)
	}
	if len(text) == 0 {
		f(nil)
		return nil
	}
	d, err := h.definition(ctx, a.Site, a.Workflow.ID)
	if err != nil {
		return fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	state, err := engine.DecodeState(d.compiled, h.Defaults, text)
	if err != nil {
		return fmt.Errorf("read archive of attempt %d: %w", a.ID, err)
	}
	f(state)
	return nil
}

// Watch returns a channel that receives after each step of the attempt and is closed when
// it is over or ctx ends.
func (h *Host) Watch(ctx context.Context, a Attempt) <-chan struct{} {
	steps, out := make(chan struct{}, 1), make(chan struct{})
	l := h.hold(a.ID)
	l.mu.Lock()
	l.watchers[steps] = true
	l.mu.Unlock()
	over := a.Done || l.over.Load()
	if !over { // it may have ended between the caller's look and now
		row, err := h.Attempts.Attempt(ctx, AnySite, a.ID)
		over = err == nil && row.Done
	}
	go func() {
		defer close(out)
		defer h.drop(l)
		for !over {
			select {
			case <-steps:
				over = l.over.Load()
				select {
				case out <- struct{}{}:
				case <-ctx.Done():
					over = true
				}
			case <-ctx.Done():
				over = true
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, steps)
	}()
	return out
}

// History lists entries of the attempt's log from sequence number first, up to n.
func (h *Host) History(ctx context.Context, a Attempt, first int64, n int) ([]Entry, error) {
	stored, err := h.Log.History(ctx, a.ID, first, n)
	if errors.Is(err, ErrNotFound) {
		return nil, &Error{Code: Missing, Message: "The history of attempt id=" + strconv.FormatInt(a.ID, 10) + " is not kept any more"}
	}
	var list []Entry
	for _, e := range stored.Entries {
		if e.Seq >= first && len(list) < n {
			list = append(list, e)
		}
	}
	return list, err
}

// ViewAt shows the attempt as it was after entry seq.
func (h *Host) ViewAt(ctx context.Context, a Attempt, seq int64, f func(*engine.State)) error {
	d, err := h.definition(ctx, a.Site, a.Workflow.ID)
	if err != nil {
		return fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	stored, err := h.upTo(ctx, a.ID, seq)
	if errors.Is(err, ErrNotFound) || err == nil && !ends(stored, seq) {
		return &Error{Code: Missing, Message: fmt.Sprintf("Attempt id=%d has no entry %d in its history", a.ID, seq)}
	}
	if err != nil {
		return fmt.Errorf("read history of attempt %d: %w", a.ID, err)
	}
	state, err := h.replay(d.compiled, stored)
	if err != nil {
		return err
	}
	f(state)
	return nil
}

// upTo reads entry seq of a log with all that leads to it: the newest snapshot before it
// and the entries between.
func (h *Host) upTo(ctx context.Context, attempt, seq int64) (Stored, error) {
	stored, err := h.Log.History(ctx, attempt, seq, 1)
	if err != nil || stored.At+1 >= seq {
		return stored, err
	}
	return h.Log.History(ctx, attempt, stored.At+1, int(seq-stored.At))
}

func ends(s Stored, seq int64) bool {
	if n := len(s.Entries); n > 0 {
		return s.Entries[n-1].Seq == seq
	}
	return s.Snapshot != nil && s.At == seq
}

// ForkRequest asks for a fork of an attempt.
type ForkRequest struct {
	Seq       int64  // entry of the log
	RetryName string // required
	Params    *param.Map
	Outside   bool // as in StartRequest
}

// Fork starts a new attempt of the same session and definition that takes over what was
// success after an entry. Without parameters it has those of the attempt.
func (h *Host) Fork(ctx context.Context, a Attempt, r ForkRequest) (Attempt, error) {
	if r.RetryName == "" {
		return Attempt{}, invalidf("retryAttemptName is required")
	}
	var carried []engine.Carried
	err := h.ViewAt(ctx, a, r.Seq, func(s *engine.State) { carried = s.CarryDone() })
	if err != nil {
		return Attempt{}, err
	}
	q := StartRequest{Site: a.Site, Workflow: a.Workflow.ID, SessionTime: a.SessionTime, RetryName: r.RetryName,
		Params: r.Params, Outside: r.Outside, carried: carried}
	if r.Params == nil {
		q.Params, q.Outside = a.Params, false // they were looked at when the attempt started
	}
	return h.Start(ctx, q)
}
