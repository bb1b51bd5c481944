package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
)

func storesOf(db *DB) suite.Stores {
	return suite.Stores{Log: db, Events: db.Queue("events"), Tasks: db.Queue("tasks"), Projects: db, Workflows: db, Schedules: db,
		Attempts: db, Sessions: db, Retention: db, Secrets: db, Users: db, Audit: db, Pools: db, Semaphore: db, Backfills: db, Inventory: db, ParamStore: db.ParamStore, Now: time.Now}
}

var testKey = []byte("0123456789abcdef")

// inMemory runs cases on a fake clock: a wait costs nothing.
func inMemory(t *testing.T, run func(*testing.T, suite.Stores)) {
	synctest.Test(t, func(t *testing.T) { run(t, storesOf(open(t, Options{SecretKey: testKey}))) })
}

func inFile(t *testing.T, run func(*testing.T, suite.Stores)) {
	run(t, storesOf(open(t, Options{Path: fileOf(t), SecretKey: testKey, Sync: SyncNone})))
}

// TestContract runs the suites of all ports.
func TestContract(t *testing.T) {
	t.Parallel()
	for name, harness := range map[string]suite.Harness{"memory": inMemory, "file": inFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosttest.Exercise(t, hosttest.Driver{Stores: harness, Absent: map[string]string{
				"Blobs":     "archives are files (package files)",
				"Logs":      "logs of tasks are files (package files), short ones rows of this one (files.ShortLogs)",
				"ShortLogs": "a short log is a row of its own, which its writer commits",
				"Timers":    "its queues delay messages as long as they are asked to",
				"Horizon":   "a server fires its schedules itself",
				"Bus":       "a server has none",
				"Notices":   "they are sent, not stored (package notice)",
				"Tracer":    "traces are sent, not stored (package trace/otlp)",
			}})
		})
	}
}
