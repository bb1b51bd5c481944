package host

import (
	"context"
	"log/slog"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Ports holds the parts of a deployment that node, catalogue and delivery share: they embed it in their options, and
// the package that wires the drivers fills it once. Fields marked as optional may be nil; see WithDefaults.
type Ports struct {
	// Log decides between workers: if two append an entry with the same number, one wins.
	Log       Log
	ShortLogs ShortLogs // optional
	// Events takes messages that must stay behind other events of their attempt; Tasks takes work that a worker may do at
	// any time. A message is sent to either only after the entry that decided it is in the log.
	Events Queue
	Tasks  Queue
	// Kept stores copies of starts that wait in Tasks and are not in any log; nil if the queue can be lost only together
	// with everything else.
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
	// Retention removes old attempts; if nil, none are removed.
	Retention Retention
	// RemoveLogs removes the logs of attempts; nil if they expire automatically. Removing them twice is not an error.
	RemoveLogs func(context.Context, []Attempt) error

	Blobs   Blobs
	Secrets Secrets
	Logs    Logs // optional
	// Unpack opens an archive for validation; it checks size, number, paths and types.
	Unpack func(ctx context.Context, archive string) (Archive, error)

	// Keeper takes over the delivery of notices. If it is nil, they are sent with Notices.
	Keeper Keeper
	// Notices reach users in the background, after the event. The Bus is notified before a message is acknowledged, and
	// therefore at least once. Both are optional.
	Notices Notices
	Bus     Bus
	// Traces receives attempts that ended, and delivers them in the background; if nil, nothing is traced.
	Traces Tracer
	// Observer counts events; optional.
	Observer Observer

	// Defaults holds parameters that attempts' parameters override; may be nil.
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
	if p.Observer == nil {
		p.Observer = Unobserved{}
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
	Store     func(site int64) operators.ParamStore // for `param_set>`; nil: there is none
	HTTP      operators.HTTPClient
	Network   operators.Network // nil: the machine's network
	// Config is the system configuration below "config.", for operators; may be nil.
	Config *param.Map
	// Stored selects the projects whose stored values are evaluated again.
	Stored run.Stored
	// Steady returns the time from a clock that is never adjusted; nil if there is none.
	Steady func() time.Time
	// Workspace provides one run of a task with the project's files.
	Workspace func(context.Context, operators.Identity, Workflow) (Workspace, error)
	// Prewarm, unless nil, is called when the task of id begins, with a sandbox that is slow to start and in which
	// a command is likely to run after that task.
	Prewarm func(ctx context.Context, id operators.Identity, s operators.Sandbox)
}
