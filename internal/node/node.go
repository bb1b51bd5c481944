// Package node joins catalogue and delivery over the ports of a deployment to one process's part
// of it, and runs the loops of a process that serves by itself: it receives events and tasks,
// fires schedules at their time, and looks after attempts.
//
// The server and the Lambdas make one. It must hold no rule about attempts or schedules: those
// are delivery's and catalogue's.
package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/catalogue"
	"zerodag/internal/delivery"
	"zerodag/internal/host"
	"zerodag/internal/pool"
	"zerodag/internal/replay"
	"zerodag/internal/retry"
	"zerodag/operators"
)

// Options are what a Node is made of. ShortLogs, Logs, Store, Notices, Bus, Config, Defaults, Now
// and Logger may be nil: nothing is kept, there is no parameter server, no one is told, the clock
// is the machine's.
type Options struct {
	Log       host.Log
	ShortLogs host.ShortLogs
	Events    host.Queue
	Tasks     host.Queue
	Projects  host.Projects
	Workflows host.Workflows
	Schedules host.Schedules
	Attempts  host.Attempts
	Sessions  host.Sessions
	// Retention and RemoveLogs may be nil, too: see catalogue.Options.
	Retention  host.Retention
	RemoveLogs func(context.Context, []host.Attempt) error
	Pools      host.Pools
	Semaphore  host.Semaphore
	Backfills  host.Backfills
	Blobs      host.Blobs
	Secrets    host.Secrets
	Logs       host.Logs
	Kept       host.Timers    // may be nil, too: see delivery.Options
	Inventory  host.Inventory // may be nil, too: see delivery.Options

	Registry operators.Registry
	Store    func(site int64) operators.ParamStore // of `param_set>`
	HTTP     operators.HTTPClient
	Network  operators.Network // nil: that of the machine
	Notices  host.Notices
	Bus      host.Bus
	Traces   host.Tracer // nil: attempts leave no traces
	// Ended, unless nil, is called with the row of each attempt that this process has ended.
	Ended func(host.Attempt)
	// Config is the system configuration below "config.", for operators.
	Config *param.Map
	// Defaults are parameters below those of attempts.
	Defaults *param.Map
	// Stored says whose stored values are evaluated again: those of projects that ask for it.
	Stored operators.Stored
	// Workspace gives one run of a task the project's files.
	Workspace func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error)
	// Prewarm, unless nil, is told of a sandbox that is slow to start and in which a command is
	// likely to run after the task of id, which begins now.
	Prewarm   func(ctx context.Context, id operators.Identity, s operators.Sandbox)
	Evaluator operators.Evaluator
	// Unpack opens an archive for validation; it checks size, number, paths and types.
	Unpack func(ctx context.Context, archive string) (host.Archive, error)

	// Shared says that other processes go on with the same attempts: what this one has of them in
	// memory may be old.
	Shared bool
	// FiredByMessages says that no process runs all the time: a tick hands the firings of
	// schedules to the queue "tasks" (Node.HandOver). Else the loop of Run fires them.
	FiredByMessages bool

	// Stopping, unless nil, is told when Run is asked to end: from then on the end of this
	// process is no crash, whatever causes it.
	Stopping func()
	// Pause replaces waiting for a store that is not available; nil is a timer.
	Pause func(context.Context, time.Duration)

	Now    func() time.Time
	Steady func() time.Time // a clock that is never set; nil: there is none
	Logger *slog.Logger
	Limits host.Limits
}

// Node is one process's part of a deployment. It is safe for concurrent use.
type Node struct {
	*catalogue.Catalogue
	worker   *delivery.Worker
	retry    *retry.Retrier
	messages catalogue.Messages
	alarm    alarm
	closing  atomic.Bool
	stopping func()
	events   host.Queue
	tasks    host.Queue
	logs     host.Logs
	now      func() time.Time
	logger   *slog.Logger
	limits   host.Limits
	shared   bool
	working  sync.WaitGroup
}

// New makes a node; it does nothing by itself until Run.
func New(o Options) *Node {
	o.fillIn()
	n := &Node{stopping: o.Stopping, events: o.Events, tasks: o.Tasks, logs: o.Logs, now: o.Now, logger: o.Logger, limits: o.Limits, shared: o.Shared,
		alarm:    newAlarm(),
		retry:    &retry.Retrier{Most: o.Limits.StoreRetry, Now: o.Now, Logger: o.Logger, Pause: o.Pause},
		messages: catalogue.Messages{Tasks: o.Tasks, Now: o.Now}}
	reader := &replay.Reader{Log: o.Log, Attempts: o.Attempts, Workflows: o.Workflows, Defaults: o.Defaults}
	attempts := delivery.NewAttempts(reader, o.Shared)
	n.Catalogue = catalogue.New(catalogue.Options{Reader: reader, Log: o.Log, Projects: o.Projects, Workflows: o.Workflows, Schedules: o.Schedules,
		Attempts: o.Attempts, Sessions: o.Sessions, Retention: o.Retention, RemoveLogs: o.RemoveLogs, Pools: o.Pools, Semaphore: o.Semaphore, Backfills: o.Backfills, Blobs: o.Blobs, Secrets: o.Secrets, Logs: o.Logs, Events: o.Events, Inventory: o.Inventory, Notices: o.Notices, Bus: o.Bus, Traces: o.Traces, Ended: o.Ended,
		Live: attempts, Timing: n.timing(o.FiredByMessages), Retry: n.retry, Unpack: o.Unpack, Defaults: o.Defaults, Limits: o.Limits, Now: o.Now, Logger: o.Logger})
	n.worker = delivery.New(delivery.Options{Attempts: attempts, Log: o.Log, ShortLogs: o.ShortLogs, Rows: o.Attempts, Events: o.Events, Tasks: o.Tasks, Kept: o.Kept, Inventory: o.Inventory, Slots: pool.NewRunner(o.Semaphore, o.Pools, o.Events, o.Now),
		Catalogue: n.Catalogue, Retry: n.retry, Limits: o.Limits, Closing: n.closing.Load, Now: o.Now, Logger: o.Logger,
		Runtime: delivery.Runtime{Registry: o.Registry, Evaluator: o.Evaluator, Store: o.Store, HTTP: o.HTTP, Network: o.Network, Notices: o.Notices,
			Secrets: o.Secrets, Logs: o.Logs, Config: o.Config, Stored: o.Stored, Steady: o.Steady, Workspace: o.Workspace, Prewarm: o.Prewarm,
			LastLines: func(ctx context.Context, a host.Attempt, task string) []string {
				return lastLines(ctx, o.Logs, a, task)
			}}})
	return n
}

// fillIn gives optional parts that are missing something that does nothing.
func (o *Options) fillIn() {
	if o.Logs == nil {
		o.Logs = host.NoLogs{}
	}
	if o.ShortLogs == nil {
		o.ShortLogs = host.NoShortLogs{}
	}
	if o.Notices == nil {
		o.Notices = host.NoNotices{}
	}
	if o.Bus == nil {
		o.Bus = host.NoBus{}
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
	o.Limits = o.Limits.WithDefaults()
}

func (n *Node) timing(byMessages bool) catalogue.Timing {
	if byMessages {
		return n.messages
	}
	return n.alarm
}

// TakeEvents handles messages of one group of the queue "events"; see delivery.Worker.
func (n *Node) TakeEvents(ctx context.Context, q host.Queue, list []host.Delivery) {
	n.worker.TakeEvents(ctx, q, list)
}

// TakeTask handles a message of the queue "tasks"; see delivery.Worker.
func (n *Node) TakeTask(ctx context.Context, q host.Queue, d host.Delivery) {
	n.worker.TakeTask(ctx, q, d)
}

// StartByEvent starts what an event asked for, now or later; see delivery.Worker.
func (n *Node) StartByEvent(ctx context.Context, d events.StartDetail, named bool) error {
	return n.worker.StartByEvent(ctx, d, named)
}

// HandOver sends messages for the schedules that are due after from and until until, as they are read.
// sent, unless nil, is told up to when all are sent. To do so twice, late, or in two places at once
// changes nothing.
func (n *Node) HandOver(ctx context.Context, from, until time.Time, sent func(time.Time) error) error {
	return n.EachFiring(ctx, from, until, func(list []catalogue.Firing) error {
		if err := n.messages.Send(ctx, list); err != nil || sent == nil {
			return err
		}
		return sent(list[len(list)-1].Schedule.Times.Run.Add(-time.Microsecond)) // others of that time may follow
	})
}

// Stats are numbers for health and metrics, since the start of this process.
type Stats struct {
	Started, Finished, Failed int64 // attempts
	TasksRun                  int64
	TasksRunning              int64
	SchedulesFired            int64
	ScheduleDelay             time.Duration // of the last one fired
	Errors                    int64         // what failed and will be tried again
}

// Stats returns what was counted.
func (n *Node) Stats() Stats {
	c := n.Counts()
	run, running := n.worker.Runs()
	return Stats{Started: c.Started, Finished: c.Finished, Failed: c.Failed, TasksRun: run, TasksRunning: running,
		SchedulesFired: c.Fired, ScheduleDelay: c.Delay, Errors: n.retry.Failures()}
}
