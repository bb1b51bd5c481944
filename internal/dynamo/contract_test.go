package dynamo_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/internal/dynamo"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/internal/sqlite"
)

var (
	_ host.Log       = (*dynamo.DB)(nil)
	_ host.Projects  = (*dynamo.DB)(nil)
	_ host.Workflows = (*dynamo.DB)(nil)
	_ host.Schedules = (*dynamo.DB)(nil)
	_ host.Attempts  = (*dynamo.DB)(nil)
	_ host.Sessions  = (*dynamo.DB)(nil)
	_ host.Users     = (*dynamo.DB)(nil)
	_ host.Audit     = (*dynamo.DB)(nil)
	_ host.ShortLogs = (*dynamo.DB)(nil)
	_ host.Pools     = (*dynamo.DB)(nil)
	_ host.Semaphore = (*dynamo.DB)(nil)
	_ host.Backfills = (*dynamo.DB)(nil)
)

// options returns options for a separate table, with a queue and blobs that do not need AWS.
func options(t testing.TB) dynamo.Options {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(context.Context) error { return db.Close() })
	blobs, err := files.NewBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dynamo.Options{Table: localstack.Name(), Blobs: blobs, Events: db.Queue("events")}
}

// open creates a DB with a separate table, and counts its calls.
func open(t testing.TB, o dynamo.Options) (*dynamo.DB, *proxy.Proxy) {
	t.Helper()
	c, counter := counted(t)
	db := dynamo.New(c, o)
	if err := db.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, db.DeleteTable)
	counter.Take()
	return db, counter
}

// counted returns a configuration whose calls are counted.
func counted(t testing.TB) (aws.Config, *proxy.Proxy) {
	t.Helper()
	c := localstack.Config(t)
	p := proxy.Start(t, "")
	c.BaseEndpoint = &p.URL
	return c, p
}

func stores(db *dynamo.DB, events host.Queue) suite.Stores {
	return suite.Stores{Log: db, Events: events, Tasks: events, Projects: db, Workflows: db, Schedules: db, Attempts: db, Sessions: db, Retention: db,
		Users: db, Audit: db, Pools: db, Semaphore: db, Backfills: db, ParamStore: db.ParamStore, ShortLogs: db, Horizon: db, Now: time.Now, Expires: true}
}

func plain(t *testing.T, run func(*testing.T, suite.Stores)) {
	o := options(t)
	db, _ := open(t, o)
	s := stores(db, o.Events)
	s.Timers = dynamo.NewTimers(localstack.Config(t), o.Table)
	run(t, s)
}

// troubled runs tests while one call in five is throttled, fails, or succeeds without a response.
func troubled(t *testing.T, run func(*testing.T, suite.Stores)) {
	o := options(t)
	open(t, o)
	c, p := counted(t)
	p.Trouble(1, proxy.Faults{Throttle: 0.07, Before: 0.07, After: 0.07})
	o.Tries = 12
	s := stores(dynamo.New(c, o), o.Events)
	s.Timers = dynamo.NewTimers(localstack.Config(t), o.Table)
	run(t, s)
}

// TestContract runs the suites of all ports that the table serves: with a table that always works, and with a faulty
// one.
func TestContract(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	for name, harness := range map[string]suite.Harness{"plain": plain, "troubled": troubled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosttest.Exercise(t, hosttest.Driver{Stores: harness, Absent: map[string]string{
				"Queue":     "queues are SQS queues (package sqs); that of these cases is SQLite's",
				"Inventory": "its queues cannot be asked for what they hold",
				"Marker":    "queues are SQS queues (package sqs), which knows what was begun by times",
				"Database":  "functions use only its ports",
				"Reopen":    "everything is in the table: a process has nothing to lose",
				"Outage":    "calls fail in all suites (troubled)",
				"Secrets":   "they are parameters of SSM (package ssm)",
				"Blobs":     "they are objects of S3 (package s3)",
				"Logs":      "they are objects of S3 (package s3)",
				"Bus":       "it is of EventBridge (package eventbridge)",
				"Servers":   "functions run the deployment",
				"Outbox":    "notices go to a topic at once (package sns)",
				"Notices":   "they are sent, not stored (packages notice, sns)",
				"Tracer":    "traces are sent, not stored (package trace/otlp)",
			}})
		})
	}
}

// TestSandbox runs the suite of the ports that keep commands and runners.
func TestSandbox(t *testing.T) {
	t.Parallel()
	db, _ := open(t, options(t))
	id := atomic.Int64{}
	id.Store(1 << 45)
	sandboxtest.Suite(t, sandboxtest.Stores{Commands: db.Commands(), Work: db.Commands(), Runners: db.Runners(), Liveness: db.Runners(), Fences: db.Runners(), Attempt: func() int64 { return id.Add(1) }})
}
