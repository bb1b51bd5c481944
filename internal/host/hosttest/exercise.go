package hosttest

import (
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/messages"
	"zerodag/internal/host/hosttest/suite"
)

// Driver describes a driver to Exercise.
type Driver struct {
	// Stores creates the driver's ports, new and empty for each case, and ports of other drivers that its cases need.
	Stores suite.Harness
	// Absent names the ports that the driver does not implement, each with the reason.
	Absent map[string]string
}

// port is one of the host's ports, or an operation of a harness on all of them (Reopen, Outage), with its suite.
type port struct {
	name  string
	suite func(*testing.T, suite.Harness)
	has   func(suite.Stores) bool
}

// ports returns all ports.
func ports() []port {
	return []port{
		{"Log", logSuite, func(s suite.Stores) bool { return s.Log != nil }},
		{"Queue", messages.Queue, func(s suite.Stores) bool { return s.Events != nil && s.Tasks != nil }},
		{"Projects", catalogueSuite, func(s suite.Stores) bool { return s.Projects != nil && s.Workflows != nil }},
		{"Schedules", schedulesSuite, func(s suite.Stores) bool { return s.Schedules != nil }},
		{"Attempts", attemptsSuite, func(s suite.Stores) bool { return s.Attempts != nil }},
		{"Retention", retentionSuite, func(s suite.Stores) bool { return s.Retention != nil }},
		{"Sessions", sessionsSuite, func(s suite.Stores) bool { return s.Sessions != nil }},
		{"Secrets", secretsSuite, func(s suite.Stores) bool { return s.Secrets != nil }},
		{"Blobs", blobsSuite, func(s suite.Stores) bool { return s.Blobs != nil }},
		{"Logs", taskLogsSuite, func(s suite.Stores) bool { return s.Logs != nil }},
		{"Users", usersSuite, func(s suite.Stores) bool { return s.Users != nil }},
		{"Audit", auditSuite, func(s suite.Stores) bool { return s.Audit != nil }},
		{"Pools", poolsSuite, func(s suite.Stores) bool { return s.Pools != nil && s.Semaphore != nil }},
		{"Semaphore", semaphoreSuite, func(s suite.Stores) bool { return s.Pools != nil && s.Semaphore != nil }},
		{"Backfills", backfillsSuite, func(s suite.Stores) bool { return s.Backfills != nil }},
		{"Inventory", inventorySuite, func(s suite.Stores) bool { return s.Inventory != nil }},
		{"Marker", messages.Marker, func(s suite.Stores) bool { _, marks := s.Tasks.(host.Marker); return marks }},
		{"Database", databaseSuite, func(s suite.Stores) bool { return s.Database != nil }},
		{"Reopen", reopenSuite, func(s suite.Stores) bool { return s.Reopen != nil }},
		{"Outage", outageSuite, func(s suite.Stores) bool { return s.Outage != nil }},
		{"ParamStore", paramStoreSuite, func(s suite.Stores) bool { return s.ParamStore != nil }},
		{"ShortLogs", shortLogsSuite, func(s suite.Stores) bool { return s.ShortLogs != nil }},
		{"Timers", messages.Timers, func(s suite.Stores) bool { return s.Timers != nil }},
		{"Horizon", messages.Horizon, func(s suite.Stores) bool { return s.Horizon != nil }},
		{"Bus", messages.Bus, func(s suite.Stores) bool { return s.Bus != nil && s.Heard != nil }},
		{"Notices", messages.Notices, func(s suite.Stores) bool { return s.Notices != nil && s.Told != nil }},
		{"Outbox", outboxSuite, func(s suite.Stores) bool { return s.Outbox != nil }},
		{"Servers", serversSuite, func(s suite.Stores) bool { return s.Servers != nil }},
		{"Tracer", messages.Tracer, func(s suite.Stores) bool { return s.Tracer != nil && s.Traced != nil }},
	}
}

// Exercise runs the suite of every port that the driver does not name as absent. A port that the driver neither creates
// nor names fails, because it was forgotten.
func Exercise(t *testing.T, d Driver) {
	t.Helper()
	run, problems := exercised(d)
	for _, p := range problems {
		t.Error(p)
	}
	for _, p := range run {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.suite(t, func(t *testing.T, run func(*testing.T, suite.Stores)) {
				d.Stores(t, func(t *testing.T, s suite.Stores) {
					if !p.has(s) {
						t.Fatalf("the driver has no %s: create it in Stores, or list it in Absent with the reason", p.name)
					}
					run(t, s)
				})
			})
		})
	}
}

// exercised lists the ports to run, and any mistakes in the driver's list of absent ports.
func exercised(d Driver) (run []port, problems []string) {
	known := map[string]bool{}
	for _, p := range ports() {
		known[p.name] = true
		if reason, absent := d.Absent[p.name]; !absent {
			run = append(run, p)
		} else if reason == "" {
			problems = append(problems, "Absent lists "+p.name+" without a reason")
		}
	}
	for name := range d.Absent {
		if !known[name] {
			problems = append(problems, "Absent lists "+name+", which is not a port")
		}
	}
	if len(run) == 0 {
		problems = append(problems, "the driver implements no port")
	}
	return run, problems
}

// AllBut returns all ports except the given ones as absent: for the driver of a service that implements only these.
func AllBut(reason string, has ...string) map[string]string {
	absent := map[string]string{}
	for _, p := range ports() {
		absent[p.name] = reason
	}
	for _, name := range has {
		delete(absent, name)
	}
	return absent
}
