package delivery

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/internal/retry"
)

// holder is the message whose effects are carried out. The effects that it owes are read from the state each time
// (engine.State.Outstanding), so that a second delivery needs no information from the first.
type holder struct {
	guard string
	// keep is the number of tasks that it may run itself: if there are more, all of them are sent, each under a separate
	// guard, or in packs.
	keep int
	// passed holds the runs that it has sent or is running; nil if that is not needed. A pack has several runs under one
	// guard, and must not dispatch runs again while they are in progress.
	passed map[engine.Run]bool
}

// outbox holds the messages that a delivery sends and the runs that it keeps. It is reused by later tries, which must
// not keep or pack runs differently after they may have been sent.
type outbox struct {
	// doubt means that part of the list may have been sent. From then on the list only becomes shorter.
	doubt bool
	list  []outgoing
	// kept holds runs that the delivery executes itself. They are under way as soon as perform returns them: the caller
	// runs them, or returns an error so that the message is delivered again.
	kept []engine.Run
}

type outgoing struct {
	host.Message
	runs []engine.Run // runs that the message orders now
}

// nowMark begins the guards of messages that wake tasks and are sent by other messages: a waiting run has a separate
// message, which must not be confused with this one.
const nowMark = "n"

// perform carries out what the message owes after its entry is in the log. If at most keep tasks must run at once, it
// returns them for the caller to run; if there are more, it sends all of them. After an error some of the work may be
// done, and another call does the rest. The end of the attempt comes last, because afterwards messages for the attempt
// are dropped. The lock is held.
func (w *Worker) perform(ctx context.Context, a *attempt, h holder, s *outbox) ([]engine.Run, error) {
	if err := w.slotsOwed(ctx, a, h.guard); err != nil {
		return nil, err
	}
	out, goOn, ended := w.owed(a, h)
	if s.doubt {
		s.list = slices.DeleteFunc(s.list, func(m outgoing) bool { return m.runs != nil && !slices.ContainsFunc(m.runs, current(a.state)) })
	} else {
		*s = out
		if len(s.kept) > h.keep {
			w.pack(a, h.guard, s)
		}
	}
	if err := w.send(ctx, a, h, s); err != nil {
		return nil, err
	}
	if goOn {
		if err := w.goOn(ctx, a); err != nil {
			return nil, err
		}
	}
	if ended {
		return nil, w.finish(ctx, a)
	}
	return s.kept, nil
}

// owed returns the message's outstanding work: the messages to send and the runs that the caller may keep, whether more
// portions must be generated, and whether the attempt has ended.
func (w *Worker) owed(a *attempt, h holder) (out outbox, goOn, ended bool) {
	for _, e := range a.state.Outstanding(h.guard) {
		switch e := e.(type) {
		case engine.Dispatch:
			if !e.At.IsZero() {
				out.add(w.typed(a, w.waiting(a, host.RunName(e.Run), events.Task{Runs: []engine.Run{e.Run}, Wait: true}, e.At), e.Run))
			} else if !h.passed[e.Run] {
				out.kept = append(out.kept, e.Run)
			}
		case engine.Timer:
			then := events.Event{Kind: events.Due, Run: &e.Run}
			out.add(w.waiting(a, "t"+host.RunName(e.Run), events.Task{Then: &then}, e.At))
		case engine.TimeoutTimer:
			then := events.Event{Kind: events.TimedOut, Expiry: &e.Expiry}
			out.add(w.waiting(a, timeoutName(e.Expiry), events.Task{Then: &then}, e.At))
		case engine.StartTimer:
			out.add(a.message("begin", events.Task{Then: &events.Event{Kind: events.StartDue}}, e.At))
		case engine.SLATimer:
			out.add(a.message(host.SLAGuard, events.Task{Then: &events.Event{Kind: events.SLADue}}, e.At))
		case engine.Continue:
			goOn = true
		case engine.End:
			ended = true
		}
	}
	return out, goOn, ended
}

func (s *outbox) add(m host.Message, runs ...engine.Run) { s.list = append(s.list, outgoing{m, runs}) }

// pack puts the tasks that were kept into messages.
func (w *Worker) pack(a *attempt, guard string, s *outbox) {
	mark := ""
	if strings.HasPrefix(guard, host.WakeMark) {
		mark = nowMark
	}
	for some := range slices.Chunk(s.kept, w.Limits.Pack) {
		s.add(w.typed(a, a.message(mark+packName(some), events.Task{Runs: some}, time.Time{}), some...), some...)
	}
	s.kept = nil
}

func (w *Worker) send(ctx context.Context, a *attempt, h holder, s *outbox) error {
	if len(s.list) == 0 {
		return nil
	}
	s.doubt = true
	messages := make([]host.Message, len(s.list))
	for i, m := range s.list {
		messages[i] = m.Message
	}
	if err := w.Tasks.Send(ctx, messages...); err != nil {
		return fmt.Errorf("send tasks of attempt %d: %w", a.id, err)
	}
	for _, m := range s.list {
		for _, r := range m.runs {
			if h.passed != nil {
				h.passed[r] = true
			}
		}
	}
	s.list = nil // and doubt stays set: after a later failure, this delivery sends nothing again
	return nil
}

// goOn requests the remaining portions with a separate message, so that messages that arrived for the attempt in the
// meantime, such as a kill, come first.
func (w *Worker) goOn(ctx context.Context, a *attempt) error {
	m := host.EventMessage(a.id, "go"+strconv.FormatInt(a.seq, 10), events.Event{Kind: events.GoOn})
	if err := w.Events.Send(ctx, m); err != nil {
		return fmt.Errorf("send a continue event to attempt %d: %w", a.id, err)
	}
	return nil
}

// timeoutName returns the message name for a `_timeout` timer.
func timeoutName(x engine.Expiry) string {
	return fmt.Sprintf("%s%d.%d", host.TimeoutMark, x.Task, x.Timer)
}

// packName returns a name that identifies exactly these runs.
func packName(runs []engine.Run) string {
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = host.RunName(r)
	}
	return host.ListName(names)
}

// typed sets the operator that a message needs if it is for one run: packs belong to queues whose receivers run all
// tasks.
func (w *Worker) typed(a *attempt, m host.Message, runs ...engine.Run) host.Message {
	if len(runs) == 1 {
		m.Type = execution.Type(w.Registry, a.state.Task(runs[0].Task))
	}
	return m
}

// message returns a message for the queue "tasks".
func (a *attempt) message(name string, t events.Task, due time.Time) host.Message {
	return host.Message{ID: host.MessageID(a.id, name), Share: strconv.FormatInt(a.row.Project.ID, 10), Body: events.EncodeTask(t), Due: due}
}

// waiting returns a message that is due at a time recorded in the log. If the clock was set back, the log is ahead of
// it; the length of the wait stays the same.
func (w *Worker) waiting(a *attempt, name string, t events.Task, at time.Time) host.Message {
	if now := w.Now(); a.at.After(now) {
		at = at.Add(-a.at.Sub(now))
	}
	m := a.message(name, t, at)
	m.Relative = true
	return m
}

// announce announces a step's decisions on the bus before they are carried out: after a failure, everything is
// repeated. The lock is held.
func (w *Worker) announce(ctx context.Context, a *attempt, p *proposal) error {
	if p.begins {
		if err := w.Catalogue.Announce(ctx, a.row, events.AttemptStarted, a.row.CreatedAt); err != nil {
			return err
		}
	}
	if p.expiry != nil {
		if task, message := a.state.Slow(*p.expiry); task != "" {
			if err := w.Catalogue.NotifyOf(ctx, a.row, host.Notice{Kind: host.NoticeSlow, Message: message, Task: task}); err != nil {
				return err
			}
		}
	}
	isSLA := func(t *engine.Task) bool { return strings.Contains(t.Name, "^sla") }
	if !p.sla || !slices.ContainsFunc(a.state.Tasks(), isSLA) {
		return nil
	}
	err := w.Catalogue.Announce(ctx, a.row, events.SLAMissed, w.Now().UTC())
	if err == nil {
		w.Observer.SLAMissed(a.row)
	}
	return err
}

// postpone sends wakes that came too soon to the queue of tasks, because in the queue of events they would block the
// messages that they wait for. Each time it sends a new message, due later, whose name contains the time: a message
// that was delivered again, or that another wake of the run sent, would take the run from its current receiver. guard
// is the guard of the last wake, if there was one. The lock is held.
func (w *Worker) postpone(ctx context.Context, a *attempt, guard string, runs []engine.Run) error {
	for _, run := range runs {
		name := host.WakeMark + host.RunName(run)
		before, _, _ := strings.Cut(strings.TrimPrefix(guard, name+"-"), "-")
		times, _ := strconv.Atoi(before) // 0 for any other text
		now := w.Now()
		next := fmt.Sprintf("%s-%d-%s", name, times+1, strconv.FormatInt(now.UnixMicro(), 36))
		m := a.message(next, events.Task{Runs: []engine.Run{run}, Wait: true}, now.Add(retry.BackOff(times)))
		m.Relative = true
		if err := w.Tasks.Send(ctx, w.typed(a, m, run)); err != nil {
			return fmt.Errorf("wake task %d of attempt %d later: %w", run.Task, a.id, err)
		}
	}
	return nil
}

// finish ends an attempt that has ended according to its state. The lock is held.
func (w *Worker) finish(ctx context.Context, a *attempt) error {
	text, err := engine.EncodeState(a.state)
	if err != nil {
		return err
	}
	s := a.state
	end := host.End{At: s.EndedAt(), Success: s.Succeeded(), Canceled: s.Canceled(), Archive: text, HasOutputs: s.Outputs() != nil, Ignored: s.Ignored(), Final: s}
	if !end.Success {
		end.Failed, end.Why = s.Failure()
		end.Why = engine.Shortened(end.Why)
	}
	a.row, err = w.Catalogue.End(ctx, a.row, end)
	return err
}
