package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// How long a pack's first result waits for others, the longest time that a later result waits, and the maximum size of
// the message that contains the results: a larger result is appended here instead.
const (
	firstFlush = 100 * time.Millisecond
	mostFlush  = 2 * time.Second
	maxResults = 200 << 10
)

// ending describes how a run of a pack ended; outcome is nil if another delivery took the run over.
type ending struct {
	outcome engine.Event
	err     error
}

// together runs the tasks of a pack concurrently. Their results are sent to the queue of events instead of being
// appended here, because other packs of the attempt end at the same time, and their appends would only conflict. A run
// whose result was sent but not yet appended runs again if this process ends before the pack's message is deleted.
func (d *delivery) together(ctx context.Context, runs []engine.Run) error {
	endings := make(chan ending)
	h := holder{guard: d.guard, passed: map[engine.Run]bool{}}
	for _, run := range runs {
		h.passed[run] = true // the message may owe the run because it took it over
		go func() { endings <- d.runOne(ctx, run) }()
	}
	var list []engine.Event
	var failed error
	flush := func() {
		failed = errors.Join(failed, d.report(ctx, h, list))
		list = nil
	}
	wait := firstFlush
	var due <-chan time.Time
	for left := len(runs); left > 0; {
		select {
		case x := <-endings:
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

// runOne runs one task of a pack.
func (d *delivery) runOne(ctx context.Context, run engine.Run) (x ending) {
	x.err = d.safely(func() error {
		return d.Retry.Do(ctx, "run a task", func() (err error) {
			x.outcome, err = d.run(ctx, run)
			return err
		})
	})
	return x
}

// report sends the results of runs, in one message if they fit. The ID of the message names the runs, so that a
// repeated message counts once.
func (d *delivery) report(ctx context.Context, h holder, list []engine.Event) error {
	if len(list) == 0 {
		return nil
	}
	e := events.Event{Kind: events.Results}
	var runs []engine.Run
	for _, x := range list {
		r := events.ResultOf(x)
		e.Results, runs = append(e.Results, r), append(runs, r.Run)
	}
	// Results of runs that have ended since are included; the names show which runs they belong to.
	id := d.attempt.id
	e.Logs = d.ShortLogs.TakeShort(id)
	m := host.EventMessage(id, "r"+packName(runs), e)
	if len(m.Body) > maxResults {
		d.keepShort(id, e.Logs)
	}
	switch {
	case len(m.Body) > maxResults && len(list) > 1:
		half := len(list) / 2
		return errors.Join(d.report(ctx, h, list[:half]), d.report(ctx, h, list[half:]))
	case len(m.Body) > maxResults:
		_, err := d.conclude(ctx, h, list[0])
		return err
	}
	if err := d.Retry.Do(ctx, "send results", func() error { return d.Events.Send(ctx, m) }); err != nil {
		d.keepShort(id, e.Logs)
		return fmt.Errorf("send results of attempt %d: %w", id, err)
	}
	return nil
}
