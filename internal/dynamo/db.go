package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/dynamo/runners"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// Options are the dependencies and settings of a DB.
type Options struct {
	Table  string
	Blobs  table.Blobs
	Events host.Queue // queue for the attempts' first messages
	// Lifetime is the minimum time for which an attempt's log is kept, counted from its start: the longest time that an
	// attempt can live plus the time for viewing it afterwards. The default is 37 days.
	Lifetime time.Duration
	Now      func() time.Time // nil means time.Now
	Tries    int              // tries of a call that was throttled or got no response; 0 means border.Tries
}

// DB is the driver. It is safe for concurrent use; a process needs only one. The records of different subjects have
// separate types, whose methods are part of DB.
type DB struct {
	t      *table.Table
	events host.Queue
	logs
	schedules
	backfills
	pools
	tokens
	audits
	horizon
}

// New returns a DB for an existing table.
func New(c aws.Config, o Options) *DB {
	t := table.Open(c, table.Config{Name: o.Table, Blobs: o.Blobs, Lifetime: o.Lifetime, Now: o.Now, Tries: o.Tries})
	return &DB{t: t, events: o.Events, logs: logs{t: t}, schedules: schedules{t}, backfills: backfills{t}, pools: pools{t}, tokens: tokens{t},
		audits: audits{t}, horizon: horizon{t}}
}

// Commands returns the store of the commands that runners carry out: sandbox.Commands and sandbox.Work.
func (db *DB) Commands() runners.Commands { return runners.NewCommands(db.t) }

// Runners returns the store of the runners: sandbox.Registry, sandbox.Liveness and sandbox.Fences.
func (db *DB) Runners() runners.Runners { return runners.NewRunners(db.t) }

// CreateTable creates the table, for tests: see Table.Create.
func (db *DB) CreateTable(ctx context.Context) error { return db.t.Create(ctx) }

// DeleteTable removes the table, for tests.
func (db *DB) DeleteTable(ctx context.Context) error { return db.t.Delete(ctx) }
