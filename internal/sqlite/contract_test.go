package sqlite

import (
	"errors"
	"maps"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
)

func storesOf(db *DB) suite.Stores {
	return suite.Stores{Log: db, Events: db.Queue("events"), Tasks: db.Queue("tasks"), Projects: db, Workflows: db, Schedules: db,
		Attempts: db, Sessions: db, Retention: db, Secrets: db, Users: db, Audit: db, Pools: db, Semaphore: db, Backfills: db, Outbox: db, Servers: db, Inventory: db, ParamStore: db.ParamStore, Now: time.Now, Name: db.server,
		Database: db, Outage: func(t *testing.T) func() { return outage(t, db) }}
}

// outage makes SQLite refuse every write, like a full disk, until end is called.
func outage(t *testing.T, db *DB) (end func()) {
	t.Helper()
	reopen := db.writer.open
	db.writer.use.Lock()
	db.writer.open = func() (*conn, error) { // the writer opens a new connection after an error
		c, err := reopen()
		if err == nil {
			err = c.script("PRAGMA query_only = ON")
		}
		return c, err
	}
	db.writer.use.Unlock()
	readOnly(t, db, 1)
	return func() {
		db.writer.use.Lock()
		db.writer.open = reopen
		db.writer.use.Unlock()
		readOnly(t, db, 0)
	}
}

var testKey = []byte("0123456789abcdef")

// inMemory runs cases with a fake clock, so that waits take no time.
func inMemory(t *testing.T, run func(*testing.T, suite.Stores)) {
	synctest.Test(t, func(t *testing.T) { run(t, storesOf(open(t, Options{Server: "7@me", SecretKeys: [][]byte{testKey}}))) })
}

func inFile(t *testing.T, run func(*testing.T, suite.Stores)) {
	run(t, inFileOf(t, Options{Path: fileOf(t), Server: "7@me", SecretKeys: [][]byte{testKey}, Sync: host.SyncNone}))
}

// inFileOf returns the ports of a database file, which can be reopened.
func inFileOf(t *testing.T, o Options) suite.Stores {
	db := open(t, o)
	s := storesOf(db)
	s.Reopen = func(t *testing.T, crash bool) suite.Stores {
		t.Helper()
		next := o
		if crash {
			next.Path = asKilled(t, o.Path)
		} else if err := errors.Join(db.Stopping(), db.Close()); err != nil {
			t.Fatal(err)
		}
		return inFileOf(t, next)
	}
	return s
}

// asKilled copies the files of an open database in the state in which a kill would leave them.
func asKilled(t *testing.T, path string) string {
	t.Helper()
	to := fileOf(t)
	for _, ending := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + ending)
		if err == nil {
			err = os.WriteFile(to+ending, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestContract runs the suites of all ports.
func TestContract(t *testing.T) {
	t.Parallel()
	absent := map[string]string{
		"Blobs":     "archives are files (package files)",
		"Logs":      "logs of tasks are files (package files), short ones rows of this one (files.ShortLogs)",
		"ShortLogs": "a short log is a row of its own, which its writer commits",
		"Timers":    "its queues delay messages as long as they are asked to",
		"Horizon":   "a server fires its schedules itself",
		"Bus":       "a server has none",
		"Notices":   "they are sent, not stored (package notice)",
		"Tracer":    "traces are sent, not stored (package trace/otlp)",
	}
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		hosttest.Exercise(t, hosttest.Driver{Stores: inFile, Absent: absent})
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		absent := maps.Clone(absent)
		absent["Reopen"] = "data in memory ends with its process"
		hosttest.Exercise(t, hosttest.Driver{Stores: inMemory, Absent: absent})
	})
}
