package host

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
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

// sending is what a delivery of a message sends and keeps. It lasts over several tries: what
// may have been sent is neither kept nor packed otherwise by the next one.
type sending struct {
	doubt bool
	list  []outgoing
	kept  []engine.Run
}

type outgoing struct {
	Message
	runs []engine.Run // that it orders now
}

// perform carries out what the message owes after its entry is in the log. Of tasks that
// are to be run at once it returns up to keep, for the caller to run; when there are more
// they are all sent. The lock is held.
func (h *Host) perform(ctx context.Context, l *live, u duty, s *sending) ([]engine.Run, error) {
	var goOn, ended bool
	var out sending
	for _, e := range l.state.Outstanding(u.guard) {
		switch e := e.(type) {
		case engine.Dispatch:
			if !e.At.IsZero() {
				out.add(h.waiting(l, runID(e.Run), events.Task{Runs: []engine.Run{e.Run}, Wait: true}, e.At))
			} else if !u.passed[e.Run] {
				out.kept = append(out.kept, e.Run)
			}
		case engine.Timer:
			then := events.Event{Kind: events.Due, Run: &e.Run}
			out.add(h.waiting(l, "t"+runID(e.Run), events.Task{Then: &then}, e.At))
		case engine.SLATimer:
			out.add(l.message("sla", events.Task{Then: &events.Event{Kind: events.SLADue}}, e.At))
		case engine.Continue:
			goOn = true
		case engine.End:
			ended = true
		}
	}
	if s.doubt {
		s.list = slices.DeleteFunc(s.list, func(m outgoing) bool { return m.runs != nil && !slices.ContainsFunc(m.runs, current(l.state)) })
	} else {
		*s = out
		if len(s.kept) > u.keep {
			h.pack(l, u.guard, s)
		}
	}
	if err := h.send(ctx, l, u, s); err != nil {
		return nil, err
	}
	if goOn {
		if err := h.goOn(ctx, l); err != nil {
			return nil, err
		}
	}
	if ended {
		return nil, h.finish(ctx, l)
	}
	return s.kept, nil
}

func (s *sending) add(m Message, runs ...engine.Run) { s.list = append(s.list, outgoing{m, runs}) }

// pack puts the tasks that were kept into messages.
func (h *Host) pack(l *live, guard string, s *sending) {
	mark := ""
	if strings.HasPrefix(guard, wakeMark) {
		mark = nowMark
	}
	for some := range slices.Chunk(s.kept, h.Limits.Pack) {
		s.add(l.message(mark+packID(some), events.Task{Runs: some}, time.Time{}), some...)
	}
	s.kept = nil
}

func (h *Host) send(ctx context.Context, l *live, u duty, s *sending) error {
	if len(s.list) == 0 {
		return nil
	}
	s.doubt = true
	messages := make([]Message, len(s.list))
	for i, m := range s.list {
		messages[i] = m.Message
	}
	if err := h.Tasks.Send(ctx, messages...); err != nil {
		return fmt.Errorf("send tasks of attempt %d: %w", l.id, err)
	}
	for _, m := range s.list {
		for _, r := range m.runs {
			if u.passed != nil {
				u.passed[r] = true
			}
		}
	}
	s.list = nil // with doubt: a later failure of this delivery sends nothing again
	return nil
}

// goOn has the rest of what is made in portions made in a turn of its own, after what came
// for the attempt meanwhile: a kill, say.
func (h *Host) goOn(ctx context.Context, l *live) error {
	m := eventMessage(l.id, "go"+strconv.FormatInt(l.seq, 10), events.Event{Kind: events.GoOn})
	if err := h.Events.Send(ctx, m); err != nil {
		return fmt.Errorf("send go on to attempt %d: %w", l.id, err)
	}
	return nil
}

// packID names exactly these runs: a message that is there already must never stand for
// one with other tasks.
func packID(runs []engine.Run) string {
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = runID(r)
	}
	return listID(names)
}

// listID names exactly the things of a list, however many they are.
func listID(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	all := fnv.New64a()
	for _, name := range names {
		fmt.Fprint(all, name, " ")
	}
	return fmt.Sprintf("%s+%d.%x", names[0], len(names)-1, all.Sum64())
}

// eventMessage is a message of the queue "events": an attempt is a group.
func eventMessage(attempt int64, name string, e events.Event) Message {
	return Message{ID: messageID(attempt, name), Group: strconv.FormatInt(attempt, 10), Body: events.Encode(e)}
}

func (l *live) message(id string, t events.Task, due time.Time) Message {
	return Message{ID: messageID(l.id, id), Share: strconv.FormatInt(l.row.Project.ID, 10), Body: events.EncodeTask(t), Due: due}
}

// waiting is a message for a time that the log knows, which is ahead of the clock where that was
// set back: what was to be waited for stays as long as it was.
func (h *Host) waiting(l *live, id string, t events.Task, at time.Time) Message {
	if now := h.Now(); l.at.After(now) {
		at = at.Add(-l.at.Sub(now))
	}
	m := l.message(id, t, at)
	m.Waits = true
	return m
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
	if err := h.startWaiting(ctx, l.row.SessionID); err != nil {
		return err
	}
	return h.announceEnd(ctx, l.row)
}
