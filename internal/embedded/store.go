package embedded

import (
	"context"

	"zerodag/internal/host"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// Store keeps everything of a deployment but archives, the logs of tasks and files.
type Store interface { //nolint:interfacebloat // it is all ports that one database has, and what a server says of it
	host.Log
	host.Projects
	host.Workflows
	host.Schedules
	host.Attempts
	host.Sessions
	host.Retention
	host.Secrets
	host.Users
	host.Audit
	host.Pools
	host.Semaphore
	host.Backfills
	host.Inventory
	// Queue returns one of the two queues, "events" or "tasks".
	Queue(name string) host.Queue
	// ParamStore is the parameter server of a site.
	ParamStore(site int64) operators.ParamStore
	// Counts counts what the queues hold that is due, and attempts that have not ended.
	Counts(ctx context.Context, v *host.Vitals) error
	// Depths counts what the queues hold.
	Depths(ctx context.Context) ([]host.Depth, error)
	// Queued lists messages of a queue in the order sent, from behind a place.
	Queued(ctx context.Context, queue string, after int64, n int) ([]host.Queued, error)
	// Stopping records that this process was asked to end: however it ends now, it is not a crash.
	Stopping() error
	Close() error
}

// Shared is what a server has together with others. Each of them works on all attempts.
type Shared struct {
	Store Store // the engine closes it
	Blobs host.Blobs
	Logs  host.Logs
	// RemoveLogs removes the logs of attempts; removing them twice is not an error.
	RemoveLogs func(context.Context, []host.Attempt) error
}

// file is the store of one server: a database that is a file.
type file struct{ *sqlite.DB }

// Queue implements Store.
func (f file) Queue(name string) host.Queue { return f.DB.Queue(name) }
