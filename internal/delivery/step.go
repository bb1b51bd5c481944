package delivery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/execution"
	"zerodag/internal/host"
)

// Limits on one entry and on the log between two snapshots (invariants.md 4.6, 4.7), and on the work that one message
// decides before others get the attempt.
const (
	entryTasks    = 400
	snapshotFloor = 16 << 10
	alonePart     = 64 << 10 // of a log without a snapshot, if a single process runs a chain
	turnEntries   = 25
	turnTime      = 2 * time.Second
)

// apply lets the engine step for the messages of a proposal and then carries out what they owe; all tasks that are
// ready to run are sent.
func (w *Worker) apply(ctx context.Context, a *attempt, p *proposal) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := w.decide(ctx, a, p); err != nil {
		return err
	}
	if err := w.announce(ctx, a, p); err != nil {
		return err
	}
	for _, guard := range p.guards {
		if _, err := w.perform(ctx, a, holder{guard: guard}, &outbox{}); err != nil {
			return err
		}
	}
	return w.postpone(ctx, a, "", p.early)
}

// decide steps, runs inline tasks and appends until only I/O is left or the message's turn has ended. Only if the state
// was read after the event arrived does it accept that the event does not apply. The lock is held.
func (w *Worker) decide(ctx context.Context, a *attempt, p *proposal) error {
	sound := false
	defer func() {
		if !sound {
			a.state = nil // it may be ahead of the log, also after a panic
		}
	}()
	if p.doubt.Nonce != "" {
		a.state = nil // only reading the log shows whether it contains the entry
	}
	for read := false; ; {
		if a.state == nil {
			asked := w.Now()
			stored, err := a.load(ctx)
			if err == nil {
				err = p.resolveDoubt(ctx, a, stored)
			}
			if err != nil {
				return err
			}
			a.known, read = asked, true
		}
		err := w.advance(ctx, a, p, read)
		switch {
		case err == nil:
			sound = true
			return nil
		case errors.Is(err, errDoesNotApply), errors.Is(err, host.ErrConflict):
			a.state = nil // another process was faster and created a different state
		default:
			return err
		}
	}
}

// draft is the next entry of a log: it collects changes until they are appended.
type draft struct {
	happened []events.Event  // events for readers of the history
	changes  []engine.Change // changes that loading applies
	planned  bool            // the events that the message proposed are included
	results  bool            // results of runs are included, whose logs must be stored first
	inline   int             // how many tasks ran within it
	end      time.Time       // when other messages have waited long enough for the attempt
}

func (t *draft) step(a *attempt, e engine.Event, now time.Time) engine.Refusal {
	changes, why := a.state.Step(e, now)
	if why == "" {
		switch e.(type) {
		case engine.Succeeded, engine.Errored:
			t.results = true
		}
		t.happened = append(t.happened, events.Of(e))
		t.changes = append(t.changes, changes...)
	}
	return why
}

// advance writes entries for a proposal and its consequences. The lock is held.
func (w *Worker) advance(ctx context.Context, a *attempt, p *proposal, read bool) error {
	now := a.clock(w.Now().UTC())
	t := draft{end: w.Now().Add(turnTime)}
	if err := t.begin(a, p, now, read); err != nil {
		return err
	}
	if a.state.Canceled() && !a.state.Spares() {
		a.halt()
	}
	for entries := 1; ; {
		more := false
		for _, guard := range p.guards {
			again, err := w.runInline(ctx, a, p, guard, &t, now)
			if err != nil {
				return err
			}
			more = more || again
		}
		late := !w.Now().Before(t.end)
		if more && t.inline < entryTasks && !late {
			continue
		}
		last := !more || late || entries == turnEntries
		if err := w.append(ctx, a, p, &t, now, last); err != nil || last {
			return err
		}
		entries++
		now = a.clock(w.Now().UTC())
	}
}

// begin passes the proposed events to the engine unless they are already in the log.
func (t *draft) begin(a *attempt, p *proposal, now time.Time, read bool) error {
	if p.applied {
		return nil
	}
	happened, applies := p.plan(a.state)
	for _, e := range happened {
		if t.step(a, e, now) == "" {
			t.planned = true
		}
	}
	if !read && (!applies || !t.planned && len(happened) > 0) {
		return errDoesNotApply
	}
	return nil
}

// runInline runs owed tasks that need no I/O, and passes the results to the engine. It reports whether there may be
// more.
func (w *Worker) runInline(ctx context.Context, a *attempt, p *proposal, guard string, t *draft, now time.Time) (bool, error) {
	more := false
	for _, e := range a.state.Outstanding(guard) {
		switch e := e.(type) {
		case engine.Continue:
			t.step(a, engine.GoOn{By: engine.By{Guard: guard}}, now)
			t.inline = entryTasks // a portion is an entry
			more = true
		case engine.Dispatch:
			task := a.state.Task(e.Task)
			if !e.At.IsZero() || !execution.Inline(w.Registry, task) {
				continue // a waiting task has a separate message
			}
			if a.careful.Load() && w.Limits.MaxCrashes() > 0 {
				continue // perform sends it: the message of a run shows whether the run has begun
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			j := w.job(a, e.Run, now)
			j.silent = a.logged[e.Run]
			outcome, err := w.execute(ctx, j)
			if err != nil {
				return false, err
			}
			a.logged[e.Run] = true
			t.step(a, execution.Result(engine.By{Guard: guard}, e.Run, outcome), now)
			t.inline++
			more = true
			if t.inline >= entryTasks || !w.Now().Before(t.end) {
				return true, nil
			}
		}
	}
	return more, nil
}

// settlesLogs is implemented by logs that keep text in memory while their store is unavailable.
type settlesLogs interface {
	// Settle stores the text of an attempt's ended runs. It returns an error if some text cannot be stored: the results of
	// those runs must then wait. After a while it returns the names of their tasks instead, because results are more
	// important than logs.
	Settle(attempt int64) (unstored []string, err error)
}

// append writes the draft as the next entry. Everything in the entry happens at that moment, and nothing before. If the
// append gets no response, the proposal records the doubt.
func (w *Worker) append(ctx context.Context, a *attempt, p *proposal, t *draft, now time.Time, last bool) error {
	if len(t.changes) == 0 {
		return nil
	}
	if logs, keeps := w.Logs.(settlesLogs); keeps && t.results {
		unstored, err := logs.Settle(a.id)
		if err != nil {
			return fmt.Errorf("store logs of attempt %d before its results: %w: %w", a.id, host.ErrUnavailable, err)
		}
		t.changes = append(t.changes, a.state.CutLogs(unstored)...)
	}
	text, err := engine.EncodeChanges(t.changes)
	if err != nil {
		return err
	}
	e := host.Entry{Seq: a.seq + 1, Nonce: rand.Text(), At: now, Events: events.EncodeList(t.happened), Changes: text, Basis: host.Basis{After: a.nonce, Receipt: p.receipt}}
	if last && a.snapshotDue(p, a.since+len(text)) {
		if e.Snapshot, err = engine.EncodeState(a.state); err != nil {
			return err
		}
	}
	if err := w.Log.Append(ctx, a.id, e); err != nil {
		if t.planned && !errors.Is(err, host.ErrConflict) && !errors.Is(err, host.ErrLeaseLost) {
			p.doubt = host.Entry{Seq: e.Seq, Nonce: e.Nonce}
		}
		return fmt.Errorf("append entry %d of attempt %d: %w", e.Seq, a.id, err)
	}
	p.applied = p.applied || t.planned
	a.seq, a.nonce, a.at, a.known = e.Seq, e.Nonce, now, w.Now()
	clear(a.logged)
	a.haltFlagged() // only now: if the entry had not been stored, an interrupted run would count as failed
	a.since += len(text)
	if e.Snapshot != nil {
		a.snapshot, a.since, a.read = len(e.Snapshot), 0, 0
	}
	*t = draft{end: t.end}
	a.notify()
	return nil
}

// snapshotDue reports whether an entry needs a snapshot, given how many bytes would follow the last one. A snapshot
// saves reads, and costs as much as several entries. The process that runs a chain reads nothing while no other process
// works on the attempt, so it waits longer. The lock is held.
func (a *attempt) snapshotDue(p *proposal, since int) bool {
	switch {
	case a.state.Ended() || since <= snapshotFloor || since <= a.snapshot:
		return false
	case since > alonePart || a.read > snapshotFloor:
		return true
	}
	return !p.goesOn(a.state)
}
