package delivery

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/retry"
	"zerodag/operators"
)

// Catalogue is what deliveries need of the catalogue.
type Catalogue interface {
	// End ends an attempt and returns its row as it is then. Repeated it changes nothing: after
	// an error the caller ends it again.
	End(ctx context.Context, a host.Attempt, e host.End) (host.Attempt, error)
	// Announce tells the bus what became of an attempt.
	Announce(ctx context.Context, a host.Attempt, topic events.Topic, at time.Time) error
	// Notify tells people about an attempt, in the background.
	Notify(ctx context.Context, a host.Attempt, message string)
	// Require starts an attempt for `require>` of a task of from.
	Require(ctx context.Context, from host.Attempt, q operators.StartRequest) (operators.StartedAttempt, error)
	// Fire fires schedules whose time has come. again: an earlier delivery may have fired some.
	Fire(ctx context.Context, list []events.Firing, again bool) error
}

// Options are what a Worker is made of; all are needed.
type Options struct {
	Attempts  *Attempts
	Log       host.Log
	ShortLogs host.ShortLogs
	Rows      host.Attempts
	Events    host.Queue
	Tasks     host.Queue
	Catalogue Catalogue
	Runtime   Runtime
	Retry     *retry.Retrier
	Limits    host.Limits
	// Closing says that this process is told to end: what is under way is finished, and no run
	// is begun that another process could begin.
	Closing func() bool
	Now     func() time.Time
	Logger  *slog.Logger
}

// Worker handles deliveries. It is safe for concurrent use.
type Worker struct {
	Options
	runs, running atomic.Int64

	mu     sync.Mutex
	panics map[string]int // by ID of the message
}

// New makes a worker.
func New(o Options) *Worker { return &Worker{Options: o, panics: map[string]int{}} }

// Runs is how many runs of tasks were begun, and how many are under way.
func (w *Worker) Runs() (begun, running int64) { return w.runs.Load(), w.running.Load() }

// TakeEvents does what messages of one group of the queue "events" ask for. q is told the end of
// each: Delete when all that it owed is done, Release when it must come again. What comes behind
// a message that failed is released, too.
func (w *Worker) TakeEvents(ctx context.Context, q host.Queue, list []host.Delivery) {
	if len(list) > 1 && w.takeTogether(ctx, q, list) {
		return
	}
	for i, d := range list {
		if w.received(q, d).handle(ctx, (*delivery).event) {
			continue
		}
		for _, behind := range list[i+1:] {
			w.received(q, behind).release(ctx, retry.BackOff(d.Count))
		}
		return
	}
}

// TakeTask is TakeEvents for one message of the queue "tasks".
func (w *Worker) TakeTask(ctx context.Context, q host.Queue, d host.Delivery) {
	if strings.HasPrefix(d.ID, host.FiringsMark) {
		w.received(q, d).fire(ctx)
		return
	}
	w.received(q, d).handle(ctx, (*delivery).task)
}

// takeTogether makes one entry of what several messages bring, all for the first time. It
// is false when they are to be handled one by one, and nothing was done.
func (w *Worker) takeTogether(ctx context.Context, q host.Queue, list []host.Delivery) bool {
	j, ok := join(list)
	if !ok {
		return false
	}
	a := w.Attempts.hold(j.attempt)
	defer w.Attempts.drop(a)
	w.keepShort(j.attempt, j.logs)
	all := make([]*delivery, len(list))
	for i, d := range list {
		all[i] = w.received(q, d)
		all[i].attempt, all[i].guard = a, j.proposal.guards[i]
	}
	err := host.Recover(w.Logger, list[0].ID, func() error { return w.apply(ctx, a, j.proposal) })
	switch {
	case err == nil:
		for _, d := range all {
			d.acknowledge(ctx)
		}
	case isAbout(err):
		return false // which of them it is about shows one by one
	case ctx.Err() != nil:
	default:
		for _, d := range all {
			d.putBack(ctx, err)
		}
	}
	return true
}

// joined is what several messages of one attempt bring.
type joined struct {
	attempt  int64
	proposal *proposal
	logs     []events.Log
}

// join makes one proposal of messages of one attempt; false when one of them needs care.
func join(list []host.Delivery) (joined, bool) {
	j := joined{proposal: &proposal{}}
	var happened []engine.Event
	waker := "" // what is woken together is sent together
	for i, d := range list {
		id, guard, err := host.ParseMessageID(d.ID)
		if err != nil || d.Count > 1 || i > 0 && id != j.attempt {
			return joined{}, false
		}
		e, err := events.Decode(d.Body)
		if err != nil || e.Kind == events.Check {
			return joined{}, false
		}
		j.attempt, j.logs = id, append(j.logs, e.Logs...)
		j.proposal.guards = append(j.proposal.guards, guard)
		j.proposal.noteKind(e.Kind)
		if e.Kind == events.Due {
			if waker == "" {
				waker = guard
			}
			guard = waker
		}
		happened = append(happened, e.Engine(guard)...)
	}
	j.proposal.bring(happened)
	return j, true
}

// keepShort keeps what came with results for the entry that they will be in.
func (w *Worker) keepShort(attempt int64, list []events.Log) {
	for _, x := range list {
		w.ShortLogs.KeepShort(attempt, x.Name, x.Content)
	}
}
