package host

import (
	"context"
	"log/slog"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Ports are what the parts of the shell share of a deployment: node, catalogue and delivery embed them in their
// options, and whatever wires drivers fills them once. Those marked as optional may be nil; see WithDefaults.
type Ports struct {
	// Log decides between workers: of two that append the same number one wins.
	Log       Log
	ShortLogs ShortLogs // optional
	// Events takes messages that must stay behind other events of their attempt, Tasks work that a worker may do at any
	// time. Both are sent to only after the entry that decided so is in the log.
	Events Queue
	Tasks  Queue
	// Kept keeps copies of starts that wait in Tasks, which no log has; nil if the queue cannot be lost without
	// everything else.
	Kept Timers
	// Inventory lists messages; nil if the queues cannot list them.
	Inventory Inventory

	Projects  Projects
	Workflows Workflows
	Schedules Schedules
	Attempts  Attempts
	Sessions  Sessions
	Backfills Backfills
	Pools     Pools
	Semaphore Semaphore
	// Retention removes old attempts; nil: none is removed.
	Retention Retention
	// RemoveLogs removes the logs of attempts; nil: they expire without it. Removing them twice is not an error.
	RemoveLogs func(context.Context, []Attempt) error

	Blobs   Blobs
	Secrets Secrets
	Logs    Logs // optional
	// Unpack opens an archive for validation; it checks size, number, paths and types.
	Unpack func(ctx context.Context, archive string) (Archive, error)

	// Notices reach users in the background and after the fact. Bus is notified before a message is acknowledged, hence
	// at least once. Both are optional.
	Notices Notices
	Bus     Bus
	// Traces receives attempts that ended, and delivers them in the background; nil: nothing is traced.
	Traces Tracer
	// Ended, unless nil, is called with the row of each attempt that this process has ended.
	Ended func(Attempt)

	// Defaults are parameters that those of attempts override; may be nil.
	Defaults *param.Map
	Limits   Limits
	Now      func() time.Time // optional
	Logger   *slog.Logger     // optional
}

// WithDefaults returns the ports with stand-ins for optional ports that are nil: they store nothing and notify no one,
// the clock is the machine's, and limits have their defaults.
func (p Ports) WithDefaults() Ports {
	if p.Logs == nil {
		p.Logs = NoLogs{}
	}
	if p.ShortLogs == nil {
		p.ShortLogs = NoShortLogs{}
	}
	if p.Notices == nil {
		p.Notices = NoNotices{}
	}
	if p.Bus == nil {
		p.Bus = NoBus{}
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	p.Limits = p.Limits.WithDefaults()
	return p
}

// Runtime is the environment in which tasks run.
type Runtime struct {
	Registry  operators.Registry // nil in a process that runs no tasks
	Evaluator run.Evaluator
	Store     func(site int64) operators.ParamStore // of `param_set>`; nil: there is none
	HTTP      operators.HTTPClient
	Network   operators.Network // nil: that of the machine
	// Config is the system configuration below "config.", for operators; may be nil.
	Config *param.Map
	// Stored selects whose stored values are evaluated again: those of projects that request it.
	Stored run.Stored
	// Steady is the time by a clock that is never set; nil: there is none.
	Steady func() time.Time
	// Workspace gives one run of a task the project's files.
	Workspace func(context.Context, operators.Identity, Workflow) (Workspace, error)
	// Prewarm, unless nil, is called when the task of id begins, with a sandbox that is slow to start and in which
	// a command is likely to run after that task.
	Prewarm func(ctx context.Context, id operators.Identity, s operators.Sandbox)
}
