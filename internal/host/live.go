package host

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
)

// live is one attempt in memory. Its lock is held for a step and for whatever reads the
// state. state is nil when it must be loaded: a cached one is right only as long as
// appends succeed.
type live struct {
	id int64

	mu       sync.Mutex
	row      Attempt
	workflow Workflow
	state    *engine.State
	seq      int64     // of the last entry
	at       time.Time // of the last entry
	snapshot int       // bytes of the last snapshot
	since    int       // bytes of entries after it
	stops    map[engine.Run]context.CancelFunc
	watchers map[chan struct{}]bool
	logged   map[engine.Run]bool // runs within a step whose log was kept, and whose result not yet
	claimed  map[string]int      // by guard, which delivery of the message was the last to claim its tasks

	over atomic.Bool // the row says that it is done
	// careful: the server crashed while something of the attempt was under way. No task is run
	// within a step any more: each has a message of its own, which tells when it was under way.
	careful atomic.Bool

	// Guarded by the cache.
	holders int
	idle    *list.Element // its place among those that nobody holds
}

// cache holds the attempts that somebody works on, and lately worked on.
type cache struct {
	mu          sync.Mutex
	lives       map[int64]*live
	idle        list.List      // of *live that nobody holds, the one used last at the end
	panics      map[string]int // by id of the message
	definitions map[int64]definition
}

type definition struct {
	workflow Workflow
	compiled *engine.Definition
}

// The most that is kept beyond what is in use.
const (
	maxIdle        = 200
	maxDefinitions = 1000
)

// hold returns the attempt's live copy; whoever holds it lets it go with drop.
func (h *Host) hold(id int64) *live {
	c := &h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lives[id]
	if l == nil {
		l = &live{id: id, stops: map[engine.Run]context.CancelFunc{}, watchers: map[chan struct{}]bool{}, logged: map[engine.Run]bool{}, claimed: map[string]int{}}
		c.lives[id] = l
	}
	if l.idle != nil {
		c.idle.Remove(l.idle)
		l.idle = nil
	}
	l.holders++
	return l
}

// drop lets a live copy go. One that is over is not kept: nothing more comes for it.
func (h *Host) drop(l *live) {
	c := &h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.holders--; l.holders > 0 {
		return
	}
	if l.over.Load() {
		delete(c.lives, l.id)
		return
	}
	l.idle = c.idle.PushBack(l)
	if c.idle.Len() > maxIdle {
		oldest := c.idle.Remove(c.idle.Front()).(*live)
		delete(c.lives, oldest.id)
	}
}

// forget makes the next step read the attempt.
func (h *Host) forget(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = nil
}

// load reads the attempt from its log, and looks there for the entry that an act is in
// doubt of; a is nil when there is none. The lock is held.
func (h *Host) load(ctx context.Context, l *live, a *act) error {
	row, err := h.Attempts.Attempt(ctx, AnySite, l.id)
	if err != nil {
		return fmt.Errorf("load attempt %d: %w", l.id, orGone(err))
	}
	d, err := h.definition(ctx, row.Site, row.Workflow.ID)
	if err != nil {
		return fmt.Errorf("load workflow of attempt %d: %w", l.id, err)
	}
	stored, err := h.Log.Load(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load log of attempt %d: %w", l.id, orGone(err))
	}
	state, err := h.replay(d.compiled, stored)
	if err != nil {
		return fmt.Errorf("replay log of attempt %d: %w", l.id, err)
	}
	if row.Done && !state.Ended() {
		return fmt.Errorf("load attempt %d: it was given up: %w", l.id, errGone)
	}
	if err := h.settleDoubt(ctx, l, stored, a); err != nil {
		return err
	}
	l.row, l.workflow, l.state = row, d.workflow, state
	l.seq, l.snapshot, l.since, l.at = stored.At, len(stored.Snapshot), 0, lastChange(state, row.CreatedAt)
	for _, e := range stored.Entries {
		l.seq = e.Seq
		if e.At.After(l.at) {
			l.at = e.At
		}
		l.since += len(e.Changes)
	}
	return nil
}

// lastChange is when a state was changed last: a snapshot does not say when it was made,
// and time must not go back in a log, whatever the clocks of processes say.
func lastChange(s *engine.State, created time.Time) time.Time {
	last := created
	for _, t := range s.Tasks() {
		if t.UpdatedAt.After(last) {
			last = t.UpdatedAt
		}
	}
	return last
}

// settleDoubt finds out whether the entry that an act is in doubt of is in the log.
func (h *Host) settleDoubt(ctx context.Context, l *live, stored Stored, a *act) error {
	if a == nil || a.doubt.Nonce == "" {
		return nil
	}
	if a.doubt.Seq <= stored.At { // it was not read: the snapshot holds it
		var err error
		if stored, err = h.Log.History(ctx, l.id, a.doubt.Seq, 1); err != nil {
			return fmt.Errorf("read entry %d of attempt %d: %w", a.doubt.Seq, l.id, orGone(err))
		}
	}
	for _, e := range stored.Entries {
		a.applied = a.applied || e.Nonce == a.doubt.Nonce
	}
	a.doubt = Entry{}
	return nil
}

// orGone marks the error of a store that has nothing of an attempt.
func orGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// replay leads to the state that a stored part of a log describes. A log that fits no
// attempt is a defect, and an error.
func (h *Host) replay(def *engine.Definition, stored Stored) (_ *engine.State, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	state := engine.New(def, h.Defaults)
	if stored.Snapshot != nil {
		var err error
		if state, err = engine.DecodeState(def, h.Defaults, stored.Snapshot); err != nil {
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

// definition returns a compiled workflow; it never changes, so it is kept.
func (h *Host) definition(ctx context.Context, site, id int64) (definition, error) {
	c := &h.cache
	c.mu.Lock()
	d, ok := c.definitions[id]
	c.mu.Unlock()
	if ok && (site == AnySite || site == d.workflow.Site) {
		return d, nil
	}
	w, err := h.Workflows.Workflow(ctx, site, id)
	if errors.Is(err, ErrNotFound) {
		return definition{}, fmt.Errorf("%w: %w", errNoDefinition, err)
	}
	if err != nil {
		return definition{}, err
	}
	compiled, err := engine.Define(dig.Workflow{Name: w.Name, Zone: w.Zone, Config: w.Config})
	if err != nil {
		return definition{}, &unusable{err}
	}
	d = definition{w, compiled}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.definitions) >= maxDefinitions {
		clear(c.definitions)
	}
	c.definitions[id] = d
	return d, nil
}

// unusable is why a definition cannot be compiled, in the words for its author.
type unusable struct{ error }

func (u *unusable) Unwrap() []error { return []error{u.error, errNoDefinition} }

// tell wakes those who watch the attempt. The lock is held.
func (l *live) tell() {
	for w := range l.watchers {
		select {
		case w <- struct{}{}:
		default: // it has yet to look at the change before
		}
	}
}

// halt ends all runs of the attempt in this process. The lock is held.
func (l *live) halt() {
	for _, stop := range l.stops {
		stop()
	}
}
