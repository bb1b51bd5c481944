package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// Bounds of one entry and of the log between two snapshots (DESIGN sections 1 and 2).
const (
	entryTasks    = 200
	snapshotFloor = 16 << 10
)

// errDoesNotApply is said of a state that may be old.
var errDoesNotApply = errors.New("the event does not apply")

// apply lets the engine step for one message, then carries out what the message owes. Of
// tasks that are to be run at once it returns up to keep, for the caller to run; when
// there are more, they are all sent.
func (h *Host) apply(ctx context.Context, l *live, guard string, keep int, happened ...engine.Event) ([]engine.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := h.decide(ctx, l, guard, happened); err != nil {
		return nil, err
	}
	return h.perform(ctx, l, guard, keep)
}

// decide steps, settles and appends, until nothing is left that needs no I/O. "Does not
// apply" is believed only of a state that was read after the event arrived. The lock is
// held.
func (h *Host) decide(ctx context.Context, l *live, guard string, happened []engine.Event) error {
	read := false
	for {
		if l.state == nil {
			if err := h.load(ctx, l); err != nil {
				return err
			}
			read = true
		}
		err := h.advance(ctx, l, guard, happened, read)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errDoesNotApply), errors.Is(err, ErrConflict):
			l.state = nil // whoever was first has made another state
		default:
			l.state = nil // it may be ahead of the log
			return err
		}
	}
}

// turn collects what one message changes until it is appended.
type turn struct {
	happened []events.Event
	changes  []engine.Change
	inline   int
}

func (t *turn) step(l *live, e engine.Event, now time.Time) engine.Refusal {
	changes, why := l.state.Step(e, now)
	if why == "" {
		t.happened = append(t.happened, events.Of(e))
		t.changes = append(t.changes, changes...)
	}
	return why
}

func (h *Host) advance(ctx context.Context, l *live, guard string, happened []engine.Event, read bool) error {
	var t turn
	now := h.clock(l)
	refused := 0
	for _, e := range happened {
		if t.step(l, e, now) != "" {
			refused++
		}
	}
	if !read && refused > 0 && refused == len(happened) {
		return errDoesNotApply
	}
	if l.state.Canceled() {
		l.halt()
	}
	for {
		more, err := h.settle(ctx, l, guard, &t, now)
		if err != nil {
			return err
		}
		if more && t.inline < entryTasks {
			continue
		}
		if err := h.append(ctx, l, &t, now); err != nil {
			return err
		}
		if !more {
			return nil
		}
		now = h.clock(l)
	}
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
func (h *Host) settle(ctx context.Context, l *live, guard string, t *turn, now time.Time) (bool, error) {
	more := false
	for _, e := range l.state.Outstanding(guard) {
		switch e := e.(type) {
		case engine.Continue:
			t.step(l, engine.GoOn{By: engine.By{Guard: guard}}, now)
			t.inline = entryTasks // a portion is an entry
			more = true
		case engine.Dispatch:
			task := l.state.Task(e.Task)
			if !e.At.IsZero() && e.At.After(now) || !h.isInline(task) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			outcome := h.execute(ctx, l, h.job(l, e.Run, now))
			t.step(l, result(engine.By{Guard: guard}, e.Run, outcome), now)
			t.inline++
			more = true
			if t.inline >= entryTasks {
				return true, nil
			}
		}
	}
	return more, nil
}

// append writes what the turn changed as the next entry.
func (h *Host) append(ctx context.Context, l *live, t *turn, now time.Time) error {
	if len(t.changes) == 0 {
		return nil
	}
	text, err := engine.EncodeChanges(t.changes)
	if err != nil {
		return err
	}
	e := Entry{Seq: l.seq + 1, Nonce: rand.Text(), At: now, Events: events.EncodeList(t.happened), Changes: text}
	if since := l.since + len(text); since > snapshotFloor && since > l.snapshot && !l.state.Ended() {
		if e.Snapshot, err = engine.EncodeState(l.state); err != nil {
			return err
		}
	}
	if err := h.Log.Append(ctx, l.id, e); err != nil {
		return fmt.Errorf("append entry %d of attempt %d: %w", e.Seq, l.id, err)
	}
	l.seq, l.at = e.Seq, now
	l.since += len(text)
	if e.Snapshot != nil {
		l.snapshot, l.since = len(e.Snapshot), 0
	}
	*t = turn{}
	l.tell()
	return nil
}

// perform carries out what the message owes after its entry is in the log. The lock is
// held.
func (h *Host) perform(ctx context.Context, l *live, guard string, keep int) ([]engine.Run, error) {
	var now []engine.Run
	var messages []Message
	ended := false
	for _, e := range l.state.Outstanding(guard) {
		switch e := e.(type) {
		case engine.Dispatch:
			if e.At.After(l.at) {
				messages = append(messages, l.message(runID(e.Run), events.Task{Runs: []engine.Run{e.Run}}, e.At))
			} else {
				now = append(now, e.Run)
			}
		case engine.Timer:
			then := events.Event{Kind: events.Due, Run: &e.Run}
			messages = append(messages, l.message("t"+runID(e.Run), events.Task{Then: &then}, e.At))
		case engine.SLATimer:
			messages = append(messages, l.message("sla", events.Task{Then: &events.Event{Kind: events.SLADue}}, e.At))
		case engine.End:
			ended = true
		}
	}
	if len(now) > keep {
		messages = append(messages, h.packs(l, now)...)
		now = nil
	}
	if len(messages) > 0 {
		if err := h.Tasks.Send(ctx, messages...); err != nil {
			return nil, fmt.Errorf("send tasks of attempt %d: %w", l.id, err)
		}
	}
	if ended {
		return nil, h.finish(ctx, l)
	}
	return now, nil
}

// packs puts tasks into messages.
func (h *Host) packs(l *live, runs []engine.Run) []Message {
	var list []Message
	for len(runs) > 0 {
		n := min(len(runs), h.Limits.Pack)
		list = append(list, l.message(runID(runs[0]), events.Task{Runs: runs[:n]}, time.Time{}))
		runs = runs[n:]
	}
	return list
}

func (l *live) message(id string, t events.Task, due time.Time) Message {
	return Message{ID: messageID(l.id, id), Body: events.EncodeTask(t), Due: due}
}

func runID(r engine.Run) string {
	return strconv.Itoa(int(r.Task)) + "." + strconv.Itoa(r.Dispatch)
}

// messageID makes the id of a message: the attempt, and the guard that it is there.
func messageID(attempt int64, guard string) string {
	return strconv.FormatInt(attempt, 10) + "/" + guard
}

func parseMessageID(id string) (attempt int64, guard string, err error) {
	number, guard, found := strings.Cut(id, "/")
	attempt, err = strconv.ParseInt(number, 10, 64)
	if err != nil || !found {
		return 0, "", fmt.Errorf("message %q names no attempt", id)
	}
	return attempt, guard, nil
}

// finish is the end of an attempt: its archive, and what waited for it. Repeated it
// changes nothing.
func (h *Host) finish(ctx context.Context, l *live) error {
	text, err := engine.EncodeState(l.state)
	if err != nil {
		return err
	}
	end := End{At: l.state.EndedAt(), Success: l.state.Succeeded(), Canceled: l.state.Canceled(), Archive: text}
	if err := h.Attempts.Finish(ctx, l.id, end); err != nil {
		return fmt.Errorf("finish attempt %d: %w", l.id, err)
	}
	if !l.row.Done {
		h.stats.ended(end.Success)
	}
	l.row.Done, l.row.Success, l.row.Canceled, l.row.FinishedAt = true, end.Success, end.Canceled, end.At
	l.tell()
	return h.startWaiting(ctx, l.row.SessionID)
}
