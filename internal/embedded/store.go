package embedded

import (
	"context"

	"zerodag/internal/host"
	"zerodag/operators"
)

// Store is the database of a server: it keeps everything but archives, the logs of tasks and files.
type Store interface { //nolint:interfacebloat // it is all ports that one database has
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
	host.Database
	// Queue returns one of the two queues, "events" or "tasks".
	Queue(name string) host.Queue
	// ParamStore is the parameter server of a site.
	ParamStore(site int64) operators.ParamStore
}

// Shared is what a server has together with others. Each of them works on all attempts.
type Shared struct {
	Store Store // the engine closes it
	Blobs host.Blobs
	Logs  host.Logs
	// RemoveLogs removes the logs of attempts; removing them twice is not an error.
	RemoveLogs func(context.Context, []host.Attempt) error
	// Backup tells users how to back up what is shared: the server cannot.
	Backup string
}
