package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Step is an entry of a history, and the tasks that it changed.
type Step struct {
	Seq     int64
	At      time.Time
	Made    []engine.TaskID // new tasks, ascending
	Changed []engine.TaskID // other tasks whose progress it replaced, each once, in the order of the entry
}

// Walk passes up to n entries after the entry numbered after to show, in order, each with the tasks as they were then.
// show must not keep the state and reports whether to continue. An *Error with the code Missing means that the history
// is no longer kept.
func (r *Reader) Walk(ctx context.Context, a host.Attempt, after int64, n int, show func(Step, *engine.State) bool) (err error) {
	d, err := r.Definition(ctx, a.Site, a.Workflow.ID)
	if err != nil {
		return fmt.Errorf("read workflow of attempt %d: %w", a.ID, err)
	}
	stored, err := r.after(ctx, a.ID, after, n)
	if errors.Is(err, host.ErrNotFound) {
		return historyGone(a)
	}
	if err != nil {
		return fmt.Errorf("read history of attempt %d: %w", a.ID, err)
	}
	first := 0 // the index of the first entry that is shown
	for first < len(stored.Entries) && stored.Entries[first].Seq <= after {
		first++
	}
	shown := stored.Entries[first:]
	stored.Entries = stored.Entries[:first]
	state, err := r.replay(d.Compiled, stored)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", host.ErrPanic, p)
		}
	}()
	w := walker{state: state}
	w.look(nil)
	for _, e := range shown[:min(n, len(shown))] {
		step, err := w.step(e)
		if err != nil {
			return err
		}
		if !show(step, state) {
			return nil
		}
	}
	return nil
}

// after reads up to n entries after the given one, with everything needed to restore them.
func (r *Reader) after(ctx context.Context, attempt, after int64, n int) (host.Stored, error) {
	stored, err := r.Log.History(ctx, attempt, after+1, n)
	if err != nil || stored.At >= after || len(stored.Entries) == 0 {
		return stored, err
	}
	return r.Log.History(ctx, attempt, stored.At+1, int(after-stored.At)+n)
}

// walker applies entries one after the other.
type walker struct {
	state *engine.State
	known map[engine.TaskID]bool
}

func (w *walker) step(e host.Entry) (Step, error) {
	changes, err := engine.DecodeChanges(e.Changes)
	if err != nil {
		return Step{}, fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	w.state.Apply(changes...)
	s := Step{Seq: e.Seq, At: e.At}
	seen := map[engine.TaskID]bool{}
	grown := false
	for _, c := range changes {
		switch c.(type) {
		case engine.AttemptStarted, engine.TasksAdded, engine.GroupRestarted:
			grown = true
		}
		for _, id := range w.state.Touched(c) {
			if w.known[id] && !seen[id] {
				seen[id] = true
				s.Changed = append(s.Changed, id)
			}
		}
	}
	if grown {
		w.look(&s)
	}
	return s, nil
}

// look records the existing tasks, and in s the new ones.
func (w *walker) look(s *Step) {
	if w.known == nil {
		w.known = map[engine.TaskID]bool{}
	}
	for _, t := range w.state.Tasks() {
		if w.known[t.ID] {
			continue
		}
		w.known[t.ID] = true
		if s != nil {
			s.Made = append(s.Made, t.ID)
		}
	}
}
