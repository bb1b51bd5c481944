package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// How long the first result of a pack waits for others, the most that a later one does, and
// how large the message with them may become: with more the result is appended right here.
const (
	firstFlush = 100 * time.Millisecond
	mostFlush  = 2 * time.Second
	maxResults = 200 << 10
)

// ended is how a run of a pack ended; outcome is nil when somebody took it over.
type ended struct {
	outcome engine.Event
	err     error
}

// workTogether runs the tasks of a pack side by side. What they come to is sent to the
// queue of events and not appended here: other packs of the attempt end at the same time,
// and their appends would only be in each other's way. A run whose result was sent and not
// yet appended runs again when this process ends before the pack's message is deleted.
func (h *Host) workTogether(ctx context.Context, l *live, guard string, runs []engine.Run, d Delivery) error {
	ends := make(chan ended)
	u := duty{guard: guard, passed: map[engine.Run]bool{}}
	for _, run := range runs {
		u.passed[run] = true // the message may owe it, having taken it over
		go func() { ends <- h.endOf(ctx, l, guard, run, d) }()
	}
	var list []engine.Event
	var failed error
	flush := func() {
		failed = errors.Join(failed, h.report(ctx, l, u, list))
		list = nil
	}
	wait := firstFlush
	var due <-chan time.Time
	for left := len(runs); left > 0; {
		select {
		case x := <-ends:
			left--
			failed = errors.Join(failed, x.err)
			if x.outcome == nil {
				continue
			}
			if list = append(list, x.outcome); due == nil {
				due = time.After(wait)
				wait = min(2*wait, mostFlush)
			}
		case <-due:
			due = nil
			flush()
		}
	}
	flush()
	return failed
}

func (h *Host) endOf(ctx context.Context, l *live, guard string, run engine.Run, d Delivery) (x ended) {
	x.err = h.safely(d, func() error {
		return h.insist(ctx, "run a task", func() (err error) {
			x.outcome, err = h.runOne(ctx, l, guard, run)
			return err
		})
	})
	return x
}

// report sends how runs ended, in one message where they fit. The id of the message names
// the runs, so that what is sent twice is taken once.
func (h *Host) report(ctx context.Context, l *live, u duty, list []engine.Event) error {
	if len(list) == 0 {
		return nil
	}
	e := events.Event{Kind: events.Results}
	var runs []engine.Run
	for _, x := range list {
		r := events.ResultOf(x)
		e.Results, runs = append(e.Results, r), append(runs, r.Run)
	}
	// Those of runs that ended since ride along as well: whose they are is in their names.
	e.Logs = h.shortLogs().TakeShort(l.id)
	m := eventMessage(l.id, "r"+packID(runs), e)
	if len(m.Body) > maxResults {
		h.keepShort(l.id, e.Logs)
	}
	switch {
	case len(m.Body) > maxResults && len(list) > 1:
		half := len(list) / 2
		return errors.Join(h.report(ctx, l, u, list[:half]), h.report(ctx, l, u, list[half:]))
	case len(m.Body) > maxResults:
		_, err := h.conclude(ctx, l, u, list[0])
		return err
	}
	if err := h.insist(ctx, "send results", func() error { return h.Events.Send(ctx, m) }); err != nil {
		h.keepShort(l.id, e.Logs)
		return fmt.Errorf("send results of attempt %d: %w", l.id, err)
	}
	return nil
}
