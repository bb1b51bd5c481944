package host

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// duty is what one delivery of a message does about what the message owes.
type duty struct {
	guard  string
	keep   int                 // tasks that it may run itself
	passed map[engine.Run]bool // what it has sent or runs; nil when there is no need to know
}

// perform carries out what the message owes after its entry is in the log. Of tasks that
// are to be run at once it returns up to keep, for the caller to run; when there are more
// they are all sent. The lock is held.
func (h *Host) perform(ctx context.Context, l *live, u duty) ([]engine.Run, error) {
	var now []engine.Run
	var messages []Message
	ended := false
	for _, e := range l.state.Outstanding(u.guard) {
		switch e := e.(type) {
		case engine.Dispatch:
			if !e.At.IsZero() {
				messages = append(messages, l.message(runID(e.Run), events.Task{Runs: []engine.Run{e.Run}}, e.At))
			} else if !u.passed[e.Run] {
				now = append(now, e.Run)
			}
		case engine.Timer:
			then := events.Event{Kind: events.Due, Run: &e.Run}
			messages = append(messages, l.message("t"+runID(e.Run), events.Task{Then: &then}, e.At))
		case engine.SLATimer:
			messages = append(messages, l.message("sla", events.Task{Then: &events.Event{Kind: events.SLADue}}, e.At))
		case engine.Continue:
			if err := h.goOn(ctx, l); err != nil {
				return nil, err
			}
		case engine.End:
			ended = true
		}
	}
	var packed []engine.Run
	if len(now) > u.keep {
		messages = append(messages, h.packs(l, now)...)
		packed, now = now, nil
	}
	if len(messages) > 0 {
		if err := h.Tasks.Send(ctx, messages...); err != nil {
			return nil, fmt.Errorf("send tasks of attempt %d: %w", l.id, err)
		}
	}
	if u.passed != nil {
		for _, r := range packed {
			u.passed[r] = true
		}
	}
	if ended {
		return nil, h.finish(ctx, l)
	}
	return now, nil
}

// goOn has the rest of what is made in portions made in a turn of its own, after what came
// for the attempt meanwhile: a kill, say.
func (h *Host) goOn(ctx context.Context, l *live) error {
	m := Message{ID: messageID(l.id, "go"+strconv.FormatInt(l.seq, 10)), Group: strconv.FormatInt(l.id, 10),
		Body: events.Encode(events.Event{Kind: events.GoOn})}
	if err := h.Events.Send(ctx, m); err != nil {
		return fmt.Errorf("send go on to attempt %d: %w", l.id, err)
	}
	return nil
}

// packs puts tasks into messages.
func (h *Host) packs(l *live, runs []engine.Run) []Message {
	var list []Message
	for len(runs) > 0 {
		n := min(len(runs), h.Limits.Pack)
		list = append(list, l.message(packID(runs[:n]), events.Task{Runs: runs[:n]}, time.Time{}))
		runs = runs[n:]
	}
	return list
}

// packID names exactly these runs: a message that is there already must never stand for
// one with other tasks.
func packID(runs []engine.Run) string {
	if len(runs) == 1 {
		return runID(runs[0])
	}
	all := fnv.New64a()
	for _, r := range runs {
		fmt.Fprint(all, runID(r), " ")
	}
	return fmt.Sprintf("%s+%d.%x", runID(runs[0]), len(runs)-1, all.Sum64())
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
	l.over.Store(true)
	l.row.Done, l.row.Success, l.row.Canceled, l.row.FinishedAt = true, end.Success, end.Canceled, end.At
	l.tell()
	return h.startWaiting(ctx, l.row.SessionID)
}
