// Package catalogue manages everything in a deployment except the tasks of its attempts: projects and their revisions,
// schedules, sessions, and the beginnings and ends of attempts. It serves the API, fires schedules, and ends attempts
// that live too long.
//
// The API and the tick call it; deliveries call it when an attempt ends. It must never step an attempt that has begun
// (that is delivery's job), nor depend on a store or an SDK.
package catalogue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/replay"
	"zerodag/internal/retry"
)

// Live provides the attempts that this process works on.
type Live interface {
	// View passes an unfinished attempt's state to f, with the number of the last log entry that the state includes. f
	// must not keep references to the state. It returns host.ErrGone if the attempt has ended since its row was read.
	View(ctx context.Context, id int64, f func(s *engine.State, seq int64)) error
	// Watch returns a channel that receives after each step that this process makes in the attempt, and is closed when the
	// attempt has ended or ctx ends.
	Watch(ctx context.Context, a host.Attempt) <-chan struct{}
	// Over notifies the watchers of an attempt that has ended, and lets this process forget the attempt. The catalogue
	// calls it after the row is updated.
	Over(id int64)
}

// Options are the dependencies of a Catalogue. The catalogue only reads the log: Attempts.Start writes entry 1, and
// deliveries write all others. The catalogue sends kills and wakes to the queue Events, and a delivery carries them
// out.
type Options struct {
	host.Ports
	Reader *replay.Reader
	Live   Live
	Timing Timing
	Retry  *retry.Retrier
}

// Catalogue is one deployment's catalogue; its five parts use the same stores. It is safe for concurrent use.
type Catalogue struct {
	*stores
	reading
	pushing
	scheduling
	lifecycle
	pooling
}

// stores holds the fields that all parts share.
type stores struct {
	o Options
	*progress
	confined bool // o shows only some of a site's projects: see Within
}

// progress is this process's state, which all views of a catalogue share.
type progress struct {
	counts     counters
	held       held         // schedules that wait for room
	telling    telling      // notices under way
	forgetting forgetting   // progress of LookAfter
	filled     atomic.Int64 // when backfills were last checked, in milliseconds
	searched   atomic.Int64 // when attempts without messages were last searched for, in milliseconds
	reached    atomic.Int64 // the last attempt whose messages were searched for
}

// reading reads records that the API shows as they are stored.
type reading struct{ *stores }

// pushing creates and deletes projects and revisions.
type pushing struct{ *stores }

// scheduling moves schedules and fires them.
type scheduling struct {
	*stores
	attempts lifecycle
}

// lifecycle begins, ends and shows attempts.
type lifecycle struct{ *stores }

// New creates a catalogue over stores.
func New(o Options) *Catalogue { return over(&stores{o: o, progress: &progress{}}) }

// Within returns the catalogue as seen by a caller who may see only some of their site's projects, as confine decides.
func (c *Catalogue) Within(confine func(host.Ports) host.Ports) *Catalogue {
	o := c.o
	o.Ports = confine(o.Ports)
	return over(&stores{o: o, progress: c.progress, confined: true})
}

func over(s *stores) *Catalogue {
	attempts := lifecycle{s}
	return &Catalogue{s, reading{s}, pushing{s}, scheduling{s, attempts}, attempts, pooling{s}}
}

// AwaitBackground waits for notices and traces that are under way, at most until ctx ends. If a process stops when its
// call returns, they must be sent before that.
func (c *stores) AwaitBackground(ctx context.Context) {
	select {
	case <-c.telling.none():
	case <-ctx.Done():
		c.o.Logger.Error("pending notifications are lost if this process exits", "error", ctx.Err())
	}
}

// telling tracks background work. Unlike with a sync.WaitGroup, work may be added while a caller waits for earlier
// work.
type telling struct {
	mu   sync.Mutex
	n    int
	over chan struct{} // closed when n reaches 0
}

func (t *telling) begin(f func()) {
	t.mu.Lock()
	if t.n++; t.n == 1 {
		t.over = make(chan struct{})
	}
	t.mu.Unlock()
	go func() {
		defer t.end()
		f()
	}()
}

func (t *telling) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.over)
	}
}

// none is closed once nothing is under way.
func (t *telling) none() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over == nil {
		t.over = make(chan struct{})
		close(t.over)
	}
	return t.over
}

// Counts holds counts for health and metrics since the start of this process.
type Counts struct {
	Started, Finished, Failed int64         // attempts
	Fired                     int64         // schedules
	Delay                     time.Duration // of the schedule that fired last
}

type counters struct {
	started, finished, failed, fired, delay atomic.Int64
}

// Counts returns the counts.
func (c *stores) Counts() Counts {
	n := &c.counts
	return Counts{Started: n.started.Load(), Finished: n.finished.Load(), Failed: n.failed.Load(), Fired: n.fired.Load(), Delay: time.Duration(n.delay.Load())}
}

// definitionOf returns the definition of the workflow to start, or an *Error for the caller.
func (c *stores) definitionOf(ctx context.Context, site, workflow int64) (replay.Definition, error) {
	if c.confined { // the reader sees all projects
		if _, err := c.o.Workflows.Workflow(ctx, site, workflow); errors.Is(err, host.ErrNotFound) {
			return replay.Definition{}, host.Missingf("workflow id=%d", workflow)
		} else if err != nil {
			return replay.Definition{}, userError(err)
		}
	}
	d, err := c.o.Reader.Definition(ctx, site, workflow)
	if errors.Is(err, host.ErrNotFound) {
		return replay.Definition{}, host.Missingf("workflow id=%d", workflow)
	}
	return d, userError(err)
}
