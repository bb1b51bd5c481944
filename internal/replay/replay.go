// Package replay restores attempts from stored data: the state of a running attempt from its log, of an ended attempt
// from its archive, and of any moment from the history.
//
// Delivery and catalogue use it. It must never write anything, nor decide what happens next.
package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Reader reads attempts. It caches compiled definitions and is safe for concurrent use.
type Reader struct {
	Log       host.Log
	Attempts  host.Attempts
	Workflows host.Workflows
	// Defaults holds parameters that the parameters of attempts override; it may be nil.
	Defaults *param.Map

	mu          sync.Mutex
	definitions map[int64]Definition
}

// maxDefinitions limits the number of cached definitions.
const maxDefinitions = 1000

// Definition is a workflow and its compiled form.
type Definition struct {
	Workflow host.Workflow
	Compiled *engine.Definition
}

// Loaded is an attempt as its log describes it.
type Loaded struct {
	Row      host.Attempt
	Workflow host.Workflow
	State    *engine.State
	Seq      int64     // the number of the last entry
	Nonce    string    // the nonce of the last entry, if the store has it
	At       time.Time // the time of the last entry, if the state shows it
	Snapshot int       // the size of the last snapshot in bytes
	Since    int       // the size of the entries after it in bytes
	Stored   host.Stored
}

// Load reads an unfinished attempt. host.ErrGone means that nothing is left of the attempt or that it was given up;
// host.ErrNoDefinition means that its workflow cannot be used.
func (r *Reader) Load(ctx context.Context, id int64) (Loaded, error) {
	row, err := r.Attempts.Attempt(ctx, host.AnySite, id)
	if err != nil {
		return Loaded{}, fmt.Errorf("load attempt %d: %w", id, orGone(err))
	}
	d, err := r.Definition(ctx, row.Site, row.Workflow.ID)
	if err != nil {
		return Loaded{}, fmt.Errorf("load workflow of attempt %d: %w", id, err)
	}
	stored, err := r.Log.Load(ctx, id)
	if err != nil {
		return Loaded{}, fmt.Errorf("load log of attempt %d: %w", id, orGone(err))
	}
	state, err := r.replay(d.Compiled, stored)
	if err != nil {
		return Loaded{}, fmt.Errorf("replay log of attempt %d: %w", id, err)
	}
	if row.Done && !state.Ended() {
		return Loaded{}, fmt.Errorf("load attempt %d: it was abandoned: %w", id, host.ErrGone)
	}
	l := Loaded{Row: row, Workflow: d.Workflow, State: state, Seq: stored.At, Nonce: stored.Nonce, Snapshot: len(stored.Snapshot), At: lastChange(state, row.CreatedAt), Stored: stored}
	for _, e := range stored.Entries {
		l.Seq, l.Nonce = e.Seq, e.Nonce
		if e.At.After(l.At) {
			l.At = e.At
		}
		l.Since += len(e.Changes)
	}
	return l, nil
}

// lastChange returns when a state last changed: a snapshot does not contain the time at which it was taken, and time
// must not go back in a log, no matter what the processes' clocks show.
func lastChange(s *engine.State, created time.Time) time.Time {
	last := created
	for _, t := range s.Tasks() {
		if t.UpdatedAt.After(last) {
			last = t.UpdatedAt
		}
	}
	return last
}

// Holds reports whether an entry with this number and nonce is in an attempt's log, from which Load has read stored.
func (r *Reader) Holds(ctx context.Context, id int64, stored host.Stored, entry host.Entry) (bool, error) {
	if entry.Seq <= stored.At { // it was not read: the snapshot holds it
		var err error
		if stored, err = r.Log.History(ctx, id, entry.Seq, 1); err != nil {
			return false, fmt.Errorf("read entry %d of attempt %d: %w", entry.Seq, id, orGone(err))
		}
	}
	for _, e := range stored.Entries {
		if e.Nonce == entry.Nonce {
			return true, nil
		}
	}
	return false, nil
}

// orGone turns the error of a store that has no data about an attempt into host.ErrGone.
func orGone(err error) error {
	if errors.Is(err, host.ErrNotFound) {
		return fmt.Errorf("%w: %w", host.ErrGone, err)
	}
	return err
}

// replay returns the state that a stored part of a log describes. A log that does not describe an attempt is a defect
// and causes an error.
func (r *Reader) replay(def *engine.Definition, stored host.Stored) (_ *engine.State, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", host.ErrPanic, p)
		}
	}()
	state := engine.New(def, r.Defaults)
	if stored.Snapshot != nil {
		var err error
		if state, err = engine.DecodeState(def, r.Defaults, stored.Snapshot); err != nil {
			return nil, err
		}
	}
	for _, e := range stored.Entries {
		changes, err := engine.DecodeChanges(e.Changes)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		state.Apply(changes...)
	}
	return state, nil
}

// Definition returns a compiled workflow, which never changes and is therefore cached.
func (r *Reader) Definition(ctx context.Context, site, id int64) (Definition, error) {
	r.mu.Lock()
	d, ok := r.definitions[id]
	r.mu.Unlock()
	if ok && (site == host.AnySite || site == d.Workflow.Site) {
		return d, nil
	}
	w, err := r.Workflows.Workflow(ctx, site, id)
	if errors.Is(err, host.ErrNotFound) {
		return Definition{}, fmt.Errorf("%w: %w", host.ErrNoDefinition, err)
	}
	if err != nil {
		return Definition{}, err
	}
	compiled, err := engine.Define(dig.Workflow{Name: w.Name, Zone: w.Zone, Config: w.Config})
	if err != nil {
		return Definition{}, &unusable{err}
	}
	d = Definition{w, compiled}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.definitions == nil || len(r.definitions) >= maxDefinitions {
		r.definitions = map[int64]Definition{}
	}
	r.definitions[id] = d
	return d, nil
}

// unusable explains to the author of a definition why it cannot be compiled.
type unusable struct{ error }

func (u *unusable) Unwrap() []error { return []error{u.error, host.ErrNoDefinition} }
