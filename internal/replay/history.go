package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Archive returns the final state of an attempt that has ended, or nil if it never had tasks.
func (r *Reader) Archive(ctx context.Context, a host.Attempt) (*engine.State, error) {
	text, err := r.Attempts.Archive(ctx, a.ID)
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		return nil, fmt.Errorf("read archive of attempt %d: %w", a.ID, err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	d, err := r.Definition(ctx, a.Site, a.Workflow.ID)
	if err != nil {
		return nil, fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	state, err := engine.DecodeState(d.Compiled, r.Defaults, text)
	if err != nil {
		return nil, fmt.Errorf("read archive of attempt %d: %w", a.ID, err)
	}
	return state, nil
}

// History lists entries of the attempt's log from sequence number first, up to n. An *Error with the code Missing means
// that the log has expired.
func (r *Reader) History(ctx context.Context, a host.Attempt, first int64, n int) ([]host.Entry, error) {
	stored, err := r.Log.History(ctx, a.ID, first, n)
	if errors.Is(err, host.ErrNotFound) {
		return nil, historyGone(a)
	}
	var list []host.Entry
	for _, e := range stored.Entries {
		if e.Seq >= first && len(list) < n {
			list = append(list, e)
		}
	}
	return list, err
}

func historyGone(a host.Attempt) error {
	if a.Imported {
		return &host.Error{Code: host.Missing, Message: "Attempt id=" + strconv.FormatInt(a.ID, 10) + " ran on another server, and its history was not imported"}
	}
	return &host.Error{Code: host.Missing, Message: "The history of attempt id=" + strconv.FormatInt(a.ID, 10) + " is no longer stored"}
}

// At returns the attempt's state after entry seq. An *Error with the code Missing means that there is no such entry.
func (r *Reader) At(ctx context.Context, a host.Attempt, seq int64) (*engine.State, error) {
	d, err := r.Definition(ctx, a.Site, a.Workflow.ID)
	if err != nil {
		return nil, fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	if a.Imported {
		return nil, historyGone(a)
	}
	stored, err := r.upTo(ctx, a.ID, seq)
	if errors.Is(err, host.ErrNotFound) || err == nil && !endsWith(stored, seq) {
		return nil, &host.Error{Code: host.Missing, Message: fmt.Sprintf("The history of attempt id=%d has no entry %d", a.ID, seq)}
	}
	if err != nil {
		return nil, fmt.Errorf("read history of attempt %d: %w", a.ID, err)
	}
	return r.replay(d.Compiled, stored)
}

// upTo reads entry seq of a log with everything needed to restore it: the newest snapshot before it and the entries in
// between.
func (r *Reader) upTo(ctx context.Context, attempt, seq int64) (host.Stored, error) {
	stored, err := r.Log.History(ctx, attempt, seq, 1)
	if err != nil || stored.At+1 >= seq {
		return stored, err
	}
	return r.Log.History(ctx, attempt, stored.At+1, int(seq-stored.At))
}

func endsWith(s host.Stored, seq int64) bool {
	if n := len(s.Entries); n > 0 {
		return s.Entries[n-1].Seq == seq
	}
	return s.Snapshot != nil && s.At == seq
}
