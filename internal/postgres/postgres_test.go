package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/operators/operatortest/postgres"
)

var (
	_ host.Log       = (*DB)(nil)
	_ host.Projects  = (*DB)(nil)
	_ host.Workflows = (*DB)(nil)
	_ host.Schedules = (*DB)(nil)
	_ host.Attempts  = (*DB)(nil)
	_ host.Sessions  = (*DB)(nil)
	_ host.Retention = (*DB)(nil)
	_ host.Secrets   = (*DB)(nil)
	_ host.Users     = (*DB)(nil)
	_ host.Audit     = (*DB)(nil)
	_ host.Pools     = (*DB)(nil)
	_ host.Semaphore = (*DB)(nil)
	_ host.Backfills = (*DB)(nil)
	_ host.Database  = (*DB)(nil)
	_ host.Forwarder = (*Queue)(nil)
	_ host.Marker    = (*Queue)(nil)
)

var testKey = []byte("0123456789abcdef")

// lab is one server for all tests, each of which has its own schema.
type lab struct {
	postgres.Server
	schemas atomic.Int64
	room    chan struct{} // limits parallel tests, because a server has a limited number of connections
}

// TestPostgres runs all tests that need a server on one server.
func TestPostgres(t *testing.T) {
	t.Parallel()
	l := &lab{Server: postgres.Start(t), room: make(chan struct{}, 5)}
	for name, test := range map[string]func(*testing.T, *lab){
		"contract": testContract, "contract of two servers": testTwo, "faults": testFaults,
		"cuts": testCuts, "listener": testListener, "a server that was killed": testKilled, "receivers that leave": testLeaving, "groups": testGroups, "types": testTypes, "doubt": testDoubt, "outage": testOutage,
		"open at once": testOpenAtOnce, "versions": testVersions, "upgrade": testUpgrade, "options": testOptions, "keys": testKeys, "beside Digdag": testBeside,
		"texts": testTexts, "logs that grow": testLogs, "depths": testDepths, "plans": testPlans, "pooler": testPooler, "writable": testWritable, "report": testReport, "turns": testTurns,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// enter waits until there are enough connections for a test.
func (l *lab) enter(t *testing.T) {
	l.room <- struct{}{}
	t.Cleanup(func() { <-l.room })
}

// url returns the address of the server, or of a proxy at the given port.
func (l *lab) url(port int) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", postgres.User, port, postgres.Database)
}

// schema returns the name of a new schema.
func (l *lab) schema() string { return fmt.Sprintf("test %d", l.schemas.Add(1)) }

// options returns the options of a new schema.
func (l *lab) options() Options {
	return Options{URL: l.url(l.Port), Server: "7@me", Schema: l.schema(), SecretKeys: [][]byte{testKey}, Migrate: true, Connections: 5}
}

// listening waits until a program listens: from then on, its connection makes no requests that affect the test.
func (l *lab) listening(t *testing.T, program string) {
	t.Helper()
	for len(l.Rows(t, "SELECT 1 FROM pg_stat_activity WHERE application_name = '"+program+"' AND query LIKE 'LISTEN %' AND state = 'idle'")) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("nobody listens")
		}
	}
}

// open opens a database that is closed at the end of the test.
func open(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// fresh opens a new schema.
func (l *lab) fresh(t *testing.T) *DB {
	t.Helper()
	l.enter(t)
	return open(t, l.options())
}

func storesOf(db *DB) suite.Stores {
	return suite.Stores{Log: db, Events: db.Queue("events"), Tasks: db.Queue("tasks"), Projects: db, Workflows: db, Schedules: db,
		Attempts: db, Sessions: db, Retention: db, Secrets: db, Users: db, Audit: db, Pools: db, Semaphore: db, Backfills: db, Outbox: db, Servers: db, Inventory: db, ParamStore: db.ParamStore, Blobs: NewBlobs(db), Logs: NewLogs(db, LogOptions{}), Now: time.Now, Name: db.server}
}

// absent returns the ports that the driver does not implement.
func absent() map[string]string {
	return map[string]string{
		"ShortLogs": "a short log is a row of its own, which its writer commits",
		"Timers":    "its queues delay messages as long as they are asked to",
		"Horizon":   "servers fire their schedules themselves",
		"Bus":       "a server has none",
		"Notices":   "they are sent, not stored (package notice)",
		"Tracer":    "traces are sent, not stored (package trace/otlp)",
	}
}

// testContract runs the suites of all ports.
func testContract(t *testing.T, l *lab) {
	hosttest.Exercise(t, hosttest.Driver{Absent: absent(), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		l.enter(t)
		o, p := l.options(), newProxy(t, l.Port)
		o.URL = l.url(p.port())
		run(t, reopened(t, o, p))
	}})
}

// reopened returns the ports of a database that is reached through a proxy and can be reopened.
func reopened(t *testing.T, o Options, p *proxy) suite.Stores {
	t.Helper()
	db := open(t, o)
	s := storesOf(db)
	s.Database, s.Shared = db, true
	s.Reopen = func(t *testing.T, crash bool) suite.Stores {
		t.Helper()
		if !crash { // in a crash it stays open, so that it cannot flush anything
			if err := errors.Join(db.Stopping(), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		return reopened(t, o, p)
	}
	s.Outage = func(*testing.T) func() {
		p.shutNow()
		db.pool.Reset() // closes the open connections
		return p.open
	}
	return s
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want it to say %q", err, part)
		}
	}
}
