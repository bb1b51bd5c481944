package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/dynamo/runners"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// Options are what a DB is made of.
type Options struct {
	Table  string
	Blobs  table.Blobs
	Events host.Queue // where first messages of attempts are sent to
	// Lifetime is how long the log of an attempt is kept at least, counted from its start: the longest life of an
	// attempt and the time for viewing it afterwards. 37 days.
	Lifetime time.Duration
	Now      func() time.Time // time.Now when nil
	Tries    int              // of a call that was throttled or had no answer: border.Tries
}

// DB is the driver. It is safe for concurrent use; one is enough for a process. Separate subjects have their own types,
// whose methods are part of DB.
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

// New makes a DB over a table that exists.
func New(c aws.Config, o Options) *DB {
	t := table.Open(c, table.Config{Name: o.Table, Blobs: o.Blobs, Lifetime: o.Lifetime, Now: o.Now, Tries: o.Tries})
	return &DB{t: t, events: o.Events, logs: logs{t: t}, schedules: schedules{t}, backfills: backfills{t}, pools: pools{t}, tokens: tokens{t},
		audits: audits{t}, horizon: horizon{t}}
}

// Commands returns the commands that runners carry out: sandbox.Commands and sandbox.Work.
func (db *DB) Commands() runners.Commands { return runners.NewCommands(db.t) }

// Runners returns the runners: sandbox.Registry, sandbox.Liveness and sandbox.Fences.
func (db *DB) Runners() runners.Runners { return runners.NewRunners(db.t) }

// CreateTable makes the table, for tests: see Table.Create.
func (db *DB) CreateTable(ctx context.Context) error { return db.t.Create(ctx) }

// DeleteTable removes the table, for tests.
func (db *DB) DeleteTable(ctx context.Context) error { return db.t.Delete(ctx) }
