package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// Bounds of one entry and of the log between two snapshots (invariants.md 4.6, 4.7), and
// of what one message decides before it lets others have the attempt.
const (
	entryTasks    = 400
	snapshotFloor = 16 << 10
	turnEntries   = 25
	turnTime      = 2 * time.Second
)

// errDoesNotApply is said of a state that may be old.
var errDoesNotApply = errors.New("the event does not apply")

// plan says what a message makes happen to an attempt in some state. false means that it
// does not apply to that state, which may be old.
type plan func(s *engine.State) ([]engine.Event, bool)

// act is what one delivery of a message, or of several, does to an attempt. It lasts over
// several tries.
type act struct {
	guards  []string
	plan    plan
	begins  bool         // it is what begins the attempt
	sla     bool         // the time of `sla:` has come
	early   []engine.Run // to be woken later
	crashed bool         // the server crashed while an earlier delivery was at it
	applied bool         // an entry with what was planned is in the log
	doubt   Entry        // with what was planned, that may be in the log; its number and nonce
}

// acting plans the same events for every state.
func acting(guard string, happened ...engine.Event) *act {
	return &act{guards: []string{guard}, plan: func(*engine.State) ([]engine.Event, bool) { return happened, true }}
}

// apply lets the engine step for its messages, then carries out what they owe; all tasks
// that are to be run are sent.
func (h *Host) apply(ctx context.Context, l *live, a *act) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := h.decide(ctx, l, a); err != nil {
		return err
	}
	if err := h.announceStep(ctx, l, a); err != nil {
		return err
	}
	for _, guard := range a.guards {
		if _, err := h.perform(ctx, l, duty{guard: guard}, &sending{}); err != nil {
			return err
		}
	}
	return h.putOff(ctx, l, "", a.early)
}

// decide steps, settles and appends, until nothing is left that needs no I/O or the
// message's turn is over. "Does not apply" is believed only of a state that was read after
// the event arrived. The lock is held.
func (h *Host) decide(ctx context.Context, l *live, a *act) error {
	sound := false
	defer func() {
		if !sound {
			l.state = nil // it may be ahead of the log, also after a panic
		}
	}()
	if a.doubt.Nonce != "" {
		l.state = nil // whether the entry is there is to be seen
	}
	for read := false; ; {
		if l.state == nil {
			if err := h.load(ctx, l, a); err != nil {
				return err
			}
			read = true
		}
		err := h.advance(ctx, l, a, read)
		switch {
		case err == nil:
			sound = true
			return nil
		case errors.Is(err, errDoesNotApply), errors.Is(err, ErrConflict):
			l.state = nil // whoever was first has made another state
		default:
			return err
		}
	}
}

// turn collects what is changed until it is appended.
type turn struct {
	happened []events.Event
	changes  []engine.Change
	planned  bool // what the message planned is among them
	inline   int
	end      time.Time // when others have waited long enough
}

func (t *turn) step(l *live, e engine.Event, now time.Time) engine.Refusal {
	changes, why := l.state.Step(e, now)
	if why == "" {
		t.happened = append(t.happened, events.Of(e))
		t.changes = append(t.changes, changes...)
	}
	return why
}

func (h *Host) advance(ctx context.Context, l *live, a *act, read bool) error {
	now := h.clock(l)
	t := turn{end: h.Now().Add(turnTime)}
	if err := t.begin(l, a, now, read); err != nil {
		return err
	}
	if l.state.Canceled() {
		l.halt()
	}
	for entries := 1; ; {
		more := false
		for _, guard := range a.guards {
			again, err := h.settle(ctx, l, a, guard, &t, now)
			if err != nil {
				return err
			}
			more = more || again
		}
		late := !h.Now().Before(t.end)
		if more && t.inline < entryTasks && !late {
			continue
		}
		last := !more || late || entries == turnEntries
		if err := h.append(ctx, l, a, &t, now, last); err != nil || last {
			return err
		}
		entries++
		now = h.clock(l)
	}
}

// begin feeds what the message planned, unless that is in the log already.
func (t *turn) begin(l *live, a *act, now time.Time, read bool) error {
	if a.applied {
		return nil
	}
	happened, applies := a.plan(l.state)
	for _, e := range happened {
		if t.step(l, e, now) == "" {
			t.planned = true
		}
	}
	if !read && (!applies || !t.planned && len(happened) > 0) {
		return errDoesNotApply
	}
	return nil
}

// clock is the time of the next entry: it never goes back within a log.
func (h *Host) clock(l *live) time.Time {
	if now := h.Now().UTC(); now.After(l.at) {
		return now
	}
	return l.at
}

// settle runs what the message owes and needs no I/O, and feeds the results to the
// engine. It says whether there may be more.
func (h *Host) settle(ctx context.Context, l *live, a *act, guard string, t *turn, now time.Time) (bool, error) {
	more := false
	for _, e := range l.state.Outstanding(guard) {
		switch e := e.(type) {
		case engine.Continue:
			t.step(l, engine.GoOn{By: engine.By{Guard: guard}}, now)
			t.inline = entryTasks // a portion is an entry
			more = true
		case engine.Dispatch:
			task := l.state.Task(e.Task)
			if !e.At.IsZero() || !Inline(h.Registry, task) {
				continue // one that waits has a message of its own
			}
			if l.careful.Load() && h.maxCrashes() > 0 {
				h.blame(l, a, e.Run, t, now)
				continue // perform sends it
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			j := h.job(l, e.Run, now)
			j.silent = l.logged[e.Run]
			outcome, err := h.execute(ctx, j)
			if err != nil {
				return false, err
			}
			l.logged[e.Run] = true
			t.step(l, Result(engine.By{Guard: guard}, e.Run, outcome), now)
			t.inline++
			more = true
			if t.inline >= entryTasks || !h.Now().Before(t.end) {
				return true, nil
			}
		}
	}
	return more, nil
}

// blame counts a crash for a task that may have been under way at it, within a step of
// which nothing was kept.
func (h *Host) blame(l *live, a *act, run engine.Run, t *turn, now time.Time) {
	task := l.state.Task(run.Task)
	if !a.crashed || a.applied || task.Crashes > 0 {
		return
	}
	t.step(l, engine.Lost{By: engine.By{Guard: task.Guard}, Run: run, Blameless: true, Crashes: h.maxCrashes()}, now)
}

// maxCrashes is at how many crashes in a row a task may be under way; 0 is no limit.
func (h *Host) maxCrashes() int { return max(0, h.Limits.Crashes) }

// append writes what the turn changed as the next entry.
func (h *Host) append(ctx context.Context, l *live, a *act, t *turn, now time.Time, last bool) error {
	if len(t.changes) == 0 {
		return nil
	}
	text, err := engine.EncodeChanges(t.changes)
	if err != nil {
		return err
	}
	e := Entry{Seq: l.seq + 1, Nonce: rand.Text(), At: now, Events: events.EncodeList(t.happened), Changes: text}
	if since := l.since + len(text); since > snapshotFloor && since > l.snapshot && last && !l.state.Ended() {
		if e.Snapshot, err = engine.EncodeState(l.state); err != nil {
			return err
		}
	}
	if err := h.Log.Append(ctx, l.id, e); err != nil {
		if t.planned && !errors.Is(err, ErrConflict) {
			a.doubt = Entry{Seq: e.Seq, Nonce: e.Nonce}
		}
		return fmt.Errorf("append entry %d of attempt %d: %w", e.Seq, l.id, err)
	}
	a.applied = a.applied || t.planned
	l.seq, l.at = e.Seq, now
	clear(l.logged)
	l.since += len(text)
	if e.Snapshot != nil {
		l.snapshot, l.since = len(e.Snapshot), 0
	}
	*t = turn{end: t.end}
	l.tell()
	return nil
}
