// Package suite holds the parts of every contract suite of package hosttest: the ports of one deployment, the harness
// that creates them for each case, and a few assertions and objects that cases share.
//
// Suites and drivers' harnesses use it. It must never depend on a driver, nor require anything that the comments of
// package host do not promise.
package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/operators"
)

// Stores holds one deployment's ports. A suite uses the port that it is named after, and the ports that it needs to set
// up the test.
type Stores struct {
	Log       host.Log
	Events    host.Queue
	Tasks     host.Queue
	Projects  host.Projects
	Workflows host.Workflows
	Schedules host.Schedules
	Attempts  host.Attempts
	Sessions  host.Sessions
	Retention host.Retention
	Secrets   host.Secrets
	Blobs     host.Blobs
	Logs      host.Logs
	Users     host.Users
	Audit     host.Audit
	Pools     host.Pools
	Semaphore host.Semaphore
	Backfills host.Backfills
	// Inventory lists the messages of Events and Tasks.
	Inventory host.Inventory
	// ParamStore returns a site's parameter store.
	ParamStore func(site int64) operators.ParamStore
	// ShortLogs are stored with the entries of Log.
	ShortLogs host.ShortLogs
	Timers    host.Timers
	Horizon   host.Horizon
	// Bus, and the events that it delivered.
	Bus   host.Bus
	Heard func(t *testing.T) []events.Announcement
	// Notices, and the fields of the delivered ones.
	Notices host.Notices
	Told    func(t *testing.T) []*param.Map
	Outbox  host.Outbox
	Servers host.Servers
	// Tracer, and the ids of the traces that were delivered.
	Tracer host.Tracer
	Traced func(t *testing.T) []string
	Now    func() time.Time

	// Name is the name of the server that receives messages of Events and Tasks.
	Name string
	// Database is the database behind these ports.
	Database host.Database
	// Reopen ends the process that has the database open and returns the ports of the next process. In a crash, nothing
	// is closed or flushed; otherwise Reopen calls Database.Stopping and Database.Close.
	Reopen func(t *testing.T, crash bool) Stores
	// Outage makes the driver's library fail on every write until end is called, as on a full disk or a broken network.
	Outage func(t *testing.T) (end func())
	// Shared means that several processes use the database. Leases outlive their holders, and processes cannot see how
	// others end.
	Shared bool

	// Grain is the precision with which the queues keep time: cases wait that much longer. 0 means exact times.
	Grain time.Duration
	// Expires means that logs expire automatically, so that Attempts.Expire has nothing to do.
	Expires bool
}

// Harness runs a case with new, empty stores. It may do so on a fake clock.
type Harness func(t *testing.T, run func(*testing.T, Stores))

// Cases are run as parallel subtests.
type Cases map[string]func(*testing.T, Stores)

// Run runs each case with separate stores.
func (c Cases) Run(t *testing.T, h Harness) {
	for name, run := range c {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h(t, run)
		})
	}
}

// Must ends the case if a call that the case does not test has failed.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Got is Must for calls with a result.
func Got[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		Must(t, err)
		return v
	}
}

// WantError checks which error a call returned; nil means success.
func WantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// Instant returns a fixed time plus some seconds.
func Instant(seconds int64) time.Time { return time.Unix(1_700_000_000+seconds, 0).UTC() }

// Push pushes one workflow for each name, with schedules at the given times.
func Push(ctx context.Context, s Stores, site int64, project, revision string, workflows []string, schedules map[string]host.Times) (host.Project, error) {
	p := host.Push{Site: site, Project: project, Schedules: map[string]host.NextTimes{},
		Revision: host.Revision{Name: revision, CreatedAt: Instant(0), Archive: "a/" + revision, ArchiveMD5: []byte{1, 2}, UserInfo: param.New("user", "me")}}
	for _, name := range workflows {
		p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "Asia/Tokyo", Config: Config(name)})
	}
	for name, times := range schedules {
		p.Schedules[name] = func(*host.Schedule, bool) host.Times { return times }
	}
	return s.Projects.Push(ctx, p)
}

// Config returns a definition whose key order and number types must be preserved.
func Config(name string) *param.Map {
	return param.New("+z", param.New("echo>", name), "+a", param.New("sh>", "true", "n", int64(1), "f", 1.5, "l", []param.Value{true, nil, "x"}))
}

// Definition pushes a project with one workflow and returns the workflow.
func Definition(t *testing.T, s Stores, site int64, project string) host.Workflow {
	t.Helper()
	p := Got(Push(t.Context(), s, site, project, "r1", []string{"main"}, nil))(t)
	list := Got(s.Workflows.Workflows(t.Context(), host.WorkflowQuery{Site: site, Revision: p.Latest.ID}))(t)
	if len(list) != 1 {
		t.Fatalf("got %d workflows of the revision, want 1", len(list))
	}
	return list[0]
}

// AttemptOf describes a new attempt of a session.
func AttemptOf(site int64, w host.Workflow, session time.Time, retryName string) host.NewAttempt {
	return host.NewAttempt{Site: site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: session, RetryName: retryName,
		Zone: "Asia/Tokyo", Params: param.New("p", int64(1), "data", param.Literal("${x}")), CreatedAt: Instant(1), WaitsFor: -1,
		First:   host.Entry{Seq: 1, Nonce: "first", At: Instant(1), Changes: []byte("start"), Events: []byte("[]")},
		Message: host.Message{ID: "go", Body: []byte("{}")}}
}

// Start starts an attempt in the first site's project "demo".
func Start(t *testing.T, s Stores) host.Attempt {
	t.Helper()
	return Got(s.Attempts.Start(t.Context(), AttemptOf(1, Definition(t, s, 1, "demo"), Instant(0), "")))(t)[0]
}
