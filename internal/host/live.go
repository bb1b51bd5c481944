package host

import (
	"context"
	"fmt"
	"sync"
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

	holders int // guarded by the cache
}

// cache holds the attempts that somebody works on, and lately worked on.
type cache struct {
	mu          sync.Mutex
	lives       map[int64]*live
	idle        []int64 // held by nobody, the oldest first
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
		l = &live{id: id, stops: map[engine.Run]context.CancelFunc{}, watchers: map[chan struct{}]bool{}}
		c.lives[id] = l
	}
	l.holders++
	return l
}

func (h *Host) drop(l *live) {
	c := &h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.holders--; l.holders > 0 {
		return
	}
	if l.row.Done { // nobody holds it, so nobody writes this; readers take the archive
		delete(c.lives, l.id)
		return
	}
	c.idle = append(c.idle, l.id)
	for len(c.idle) > maxIdle {
		if old := c.lives[c.idle[0]]; old != nil && old.holders == 0 {
			delete(c.lives, old.id)
		}
		c.idle = c.idle[1:]
	}
}

// load reads the attempt from its log. The lock is held.
func (h *Host) load(ctx context.Context, l *live) error {
	row, err := h.Attempts.Attempt(ctx, AnySite, l.id)
	if err != nil {
		return fmt.Errorf("load attempt %d: %w", l.id, err)
	}
	d, err := h.definition(ctx, row.Site, row.Workflow.ID)
	if err != nil {
		return fmt.Errorf("load workflow of attempt %d: %w", l.id, err)
	}
	stored, err := h.Log.Load(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load log of attempt %d: %w", l.id, err)
	}
	state, err := h.replay(d.compiled, stored)
	if err != nil {
		return fmt.Errorf("replay log of attempt %d: %w", l.id, err)
	}
	l.row, l.workflow, l.state = row, d.workflow, state
	l.seq, l.snapshot, l.since, l.at = stored.At, len(stored.Snapshot), 0, row.CreatedAt
	for _, e := range stored.Entries {
		l.seq, l.at = e.Seq, e.At
		l.since += len(e.Changes)
	}
	return nil
}

// replay leads to the state that a stored part of a log describes.
func (h *Host) replay(def *engine.Definition, stored Stored) (*engine.State, error) {
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
	if ok {
		return d, nil
	}
	w, err := h.Workflows.Workflow(ctx, site, id)
	if err != nil {
		return definition{}, err
	}
	compiled, err := engine.Define(dig.Workflow{Name: w.Name, Zone: w.Zone, Config: w.Config})
	if err != nil {
		return definition{}, err
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
