package delivery

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/pool"
	"zerodag/internal/retry"
	"zerodag/operators"
)

// Catalogue is the part of the catalogue that deliveries need.
type Catalogue interface {
	// End ends an attempt and returns its updated row. A repeated call changes nothing, so after an error the caller ends
	// the attempt again. The state must be in the log, and everything else that the last message owes must be done,
	// because later messages are dropped.
	End(ctx context.Context, a host.Attempt, e host.End) (host.Attempt, error)
	// Announce announces progress of an attempt on the bus. It is called after the entry is in the log and before any
	// other consequence: two announcements are better than none.
	Announce(ctx context.Context, a host.Attempt, topic events.Topic, at time.Time) error
	// NotifyOf notifies users about an attempt; n has the kind, the message and the task.
	NotifyOf(ctx context.Context, a host.Attempt, n host.Notice) error
	// Require starts an attempt for the `require>` of a task in the attempt from, or finds the existing attempt of that
	// session. It returns the errors of operators.Workflows.
	Require(ctx context.Context, from host.Attempt, q operators.StartRequest) (operators.StartedAttempt, error)
	// StartByEvent starts the attempt that an event requested. A start that can never succeed is not an error;
	// host.StartsLater reports for which errors the start may succeed later.
	StartByEvent(ctx context.Context, d events.StartDetail, named bool) error
	// Fire fires due schedules. again means that an earlier delivery may already have fired some.
	Fire(ctx context.Context, list []events.Firing, again bool) error
}

// Options are the dependencies of a Worker.
type Options struct {
	host.Ports
	host.Runtime
	// Live holds the live copies of attempts; View and Watch of the API use the same copies.
	Live *Attempts
	// Slots manages the slots of pools.
	Slots     pool.Runner
	Catalogue Catalogue
	// Retry handles all store errors that may be temporary. If a run's outcome would otherwise be lost, the worker keeps
	// retrying under the message's lease.
	Retry *retry.Retrier
	// LastLines returns the last lines that a task printed, for notices of its failure.
	LastLines func(ctx context.Context, a host.Attempt, task string) []string
	// Closing reports whether this process must end: it then finishes the work under way, but does not begin a run that
	// another process could begin.
	Closing func() bool
}

// Worker handles deliveries. It is safe for concurrent use.
type Worker struct {
	Options
	runs, running atomic.Int64
	born          time.Time
	pace          chan struct{} // has room for one run that begins after a crash

	mu     sync.Mutex
	panics map[string]int // how many panics occurred, by message ID
}

// New creates a worker.
func New(o Options) *Worker {
	return &Worker{Options: o, panics: map[string]int{}, born: time.Now(), pace: make(chan struct{}, 1)}
}

// Runs returns how many task runs have begun, and how many are under way.
func (w *Worker) Runs() (begun, running int64) { return w.runs.Load(), w.running.Load() }

// keepShort keeps the short logs that came with results for the entry that will contain the results.
func (w *Worker) keepShort(attempt int64, list []events.Log) {
	for _, x := range list {
		w.ShortLogs.KeepShort(attempt, x.Name, x.Content)
	}
}
