package embedded

import (
	"context"
	"time"

	"zerodag/internal/host"
	"zerodag/operators"
)

// Store is a server's database: it stores everything except archives, task logs and files.
type Store interface { //nolint:interfacebloat // it combines all ports of one database
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
	host.Outbox
	host.Servers
	host.Inventory
	host.Database
	// Queue returns one of the two queues, "events" or "tasks".
	Queue(name string) host.Queue
	// CheckKey returns an error if the secrets belong to another key.
	CheckKey(ctx context.Context) error
	// RekeySecrets encrypts every secret with the first key.
	RekeySecrets(ctx context.Context) (host.Rekeyed, error)
	// ParamStore returns a site's parameter store.
	ParamStore(site int64) operators.ParamStore
}

// Shared holds the stores that a server shares with others. Each of these servers works on all attempts.
type Shared struct {
	Store Store // the engine closes it
	Blobs host.Blobs
	Logs  host.Logs
	// RemoveLogs removes the logs of attempts; removing them twice is not an error.
	RemoveLogs func(context.Context, []host.Attempt) error
	// Writable returns an error if the database cannot be written to now. The error wraps its cause, such as
	// syscall.ENOSPC or syscall.EROFS.
	Writable func(context.Context) error
	// Time returns the database's time, whose clock all servers share.
	Time func(context.Context) (time.Time, error)
	// Backup explains to users how to back up the shared stores, which the server cannot do.
	Backup string
}
