package host

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/operators"
)

// Options are what a Host is made of. Logs, Store, Notices, Bus, Config, Defaults, Now and Logger
// may be nil: nothing is kept, there is no parameter server, nobody is told, the clock is
// the machine's.
type Options struct {
	Log       Log
	Events    Queue
	Tasks     Queue
	Projects  Projects
	Workflows Workflows
	Schedules Schedules
	Attempts  Attempts
	Sessions  Sessions
	Blobs     Blobs
	Secrets   Secrets
	Logs      Logs

	Registry operators.Registry
	Store    func(site int64) operators.ParamStore // of `param_set>`
	HTTP     operators.HTTPClient
	Network  operators.Network // nil: that of the machine
	Notices  Notices
	Bus      Bus
	// Config is the system configuration below "config.", for operators; may be nil.
	Config *param.Map
	// Defaults are parameters below those of attempts; may be nil.
	Defaults *param.Map
	// Stored says whose stored values are evaluated again: those of projects that ask for it.
	Stored operators.Stored
	// Workspace gives one run of a task the project's files.
	Workspace func(context.Context, operators.Identity, Workflow) (Workspace, error)
	// Near, unless nil, is told that a command is likely to run soon in a sandbox that is slow to
	// start: after this task, which now begins.
	Near      func(ctx context.Context, id operators.Identity, s operators.Sandbox)
	Evaluator operators.Evaluator
	// Unpack opens an archive for validation; it checks size, number, paths and types.
	Unpack func(ctx context.Context, archive string) (Archive, error)

	// Ticked says that no scheduler runs: schedules are fired by messages (see HandOver).
	Ticked bool
	// Relay says that whoever had a message of "tasks" before may still delete it when it
	// comes again: then it is sent on under another name before anything is taken over.
	Relay bool
	// IDAt is the least id of what is made after a time; nil where ids do not tell.
	IDAt func(time.Time) int64

	// Stopping, unless nil, is told when Run is asked to end: from then on the end of this
	// process is no crash, whoever causes it.
	Stopping func()

	Now    func() time.Time
	Logger *slog.Logger
	Limits Limits
}

// Limits are the numbers that a deployment may choose. Zero is the default named.
type Limits struct {
	Attempts     int           // unfinished attempts of a site: 100
	Tasks        int           // tasks of an attempt: 1,000; at most engine.HardLimit
	AttemptTTL   time.Duration // 7 days
	TaskTTL      time.Duration // 1 day
	ReapInterval time.Duration // how often these two are looked at: 5 s
	Lease        time.Duration // of a task: 5 min
	Heartbeat    time.Duration // how often a lease is extended: 1 min
	Threads      int           // tasks at the same time; 0 is no limit
	Pack         int           // tasks in one message: 1
	RunTime      time.Duration // of one run of a task; 0 is no limit
	ChainTime    time.Duration // how long a message takes on one task after the other; 0 is no limit
	Retention    time.Duration // of the logs of finished attempts: 30 days
	StoreRetry   time.Duration // most time between two tries of what the store could not do: 1 min
	Crashes      int           // of this process, in a row, at which a task may be under way: 3; below 0 is no limit
}

// Workspace is the project's folder as one run has it.
type Workspace struct {
	Files    operators.Files
	Commands operators.Commands
	Leave    func() // called at the end of the run
}

// Archive is an unpacked project archive.
type Archive interface {
	// Workflows are the names of the workflow files at the top level.
	Workflows() []string
	// Read returns a file by its slash name; dig.ErrNotFound when there is none.
	Read(name string) ([]byte, error)
	Close() error
}

// Bus tells other programs what becomes of attempts. Each thing is told at least once; told
// again it has the same ID.
type Bus interface {
	Announce(ctx context.Context, a events.Announcement) error
}

// Notices tells people (spec server.md 6.5).
type Notices interface {
	Notify(ctx context.Context, n Notice) error
}

// Notice is one thing to tell; a task's name is empty when it is about an attempt.
type Notice struct {
	Message  string
	Attempt  Attempt
	Revision string
	Task     string
}

// Host is the shell of one deployment. It is safe for concurrent use.
type Host struct {
	Options
	cache       cache
	stats       counters
	outage      outage
	rescheduled chan struct{}
	closing     atomic.Bool
	working     sync.WaitGroup // tasks and notices under way
	pause       func(context.Context, time.Duration)
}

// New makes a host; it does nothing by itself until Run.
func New(o Options) *Host {
	l := &o.Limits
	l.Attempts = cmp.Or(l.Attempts, 100)
	l.Tasks = min(cmp.Or(l.Tasks, engine.DefaultLimit), engine.HardLimit)
	l.AttemptTTL = cmp.Or(l.AttemptTTL, 7*24*time.Hour)
	l.TaskTTL = cmp.Or(l.TaskTTL, 24*time.Hour)
	l.ReapInterval = cmp.Or(l.ReapInterval, 5*time.Second)
	l.Lease = cmp.Or(l.Lease, 5*time.Minute)
	l.Heartbeat = cmp.Or(l.Heartbeat, time.Minute)
	l.Pack = cmp.Or(l.Pack, 1)
	l.Crashes = cmp.Or(l.Crashes, 3)
	l.StoreRetry = cmp.Or(l.StoreRetry, time.Minute)
	l.Retention = cmp.Or(l.Retention, 30*24*time.Hour)
	o.fillIn()
	h := &Host{Options: o, rescheduled: make(chan struct{}, 1), pause: sleep}
	h.cache.lives, h.cache.definitions, h.cache.panics = map[int64]*live{}, map[int64]definition{}, map[string]int{}
	return h
}

// executors is more than there are cores: most of their time they wait for the disk, and
// what waits together is written together.
const executors = 16

// fillIn gives optional parts that are missing something that does nothing.
func (o *Options) fillIn() {
	if o.Logs == nil {
		o.Logs = NoLogs{}
	}
	if o.Notices == nil {
		o.Notices = noNotices{}
	}
	if o.Bus == nil {
		o.Bus = noBus{}
	}
	if o.Store == nil {
		o.Store = func(int64) operators.ParamStore { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// noBus reaches nobody.
type noBus struct{}

func (noBus) Announce(context.Context, events.Announcement) error { return nil }

// noNotices tells nobody.
type noNotices struct{}

func (noNotices) Notify(context.Context, Notice) error { return nil }

// Parts says which loops Run runs in this process.
type Parts struct {
	Executor, Scheduler, Agent bool
	Executors                  int // events handled side by side: 16
}

// Run runs the loops until accepting ends, then waits for the tasks under way; when ctx
// ends they are cut off, and run again after the next start.
func (h *Host) Run(ctx, accepting context.Context, p Parts) {
	h.closing.Store(false)
	var loops sync.WaitGroup
	if p.Executor {
		for range cmp.Or(p.Executors, executors) {
			loops.Go(func() { h.executor(ctx, accepting) })
		}
		loops.Go(func() { h.reaper(accepting) })
	}
	if p.Scheduler {
		loops.Go(func() { h.scheduler(accepting) })
	}
	if p.Agent {
		loops.Go(func() { h.agent(ctx, accepting) })
	}
	<-accepting.Done()
	h.closing.Store(true)
	if h.Stopping != nil {
		h.Stopping()
	}
	if n := h.stats.running.Load(); n > 0 {
		h.Logger.Info(fmt.Sprintf("Waiting for completion of %d running tasks...", n))
	}
	loops.Wait()
	h.working.Wait()
}
