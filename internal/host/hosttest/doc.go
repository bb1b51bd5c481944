// Package hosttest holds the contracts of the host's ports as tests, one suite for each
// port, and a wrapper that makes any driver fail on purpose.
//
// Each driver calls Exercise with a Harness that makes its ports, and names those that it does not
// implement. What a suite asks for is what the comments of package host promise; it must
// never ask for what only one driver can do.
package hosttest

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

// Stores are the ports of one deployment; a suite uses those of its name, and those that
// it needs to make what it tests.
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
	// Inventory is that of Events and Tasks.
	Inventory host.Inventory
	// ParamStore is that of a site.
	ParamStore func(site int64) operators.ParamStore
	// ShortLogs go with the entries of Log.
	ShortLogs host.ShortLogs
	Timers    host.Timers
	Horizon   host.Horizon
	// Bus, and what has arrived at its other end.
	Bus   host.Bus
	Heard func(t *testing.T) []events.Announcement
	// Notices, and the fields of what was delivered.
	Notices host.Notices
	Told    func(t *testing.T) []*param.Map
	// Tracer, and the ids of the traces that were delivered.
	Tracer host.Tracer
	Traced func(t *testing.T) []string
	Now    func() time.Time

	// Grain is how exactly the queues keep time: cases wait as much longer. 0 is exactly.
	Grain time.Duration
	// Expires: logs expire by themselves, and Attempts.Expire has nothing to do.
	Expires bool
}

// Harness runs a case with new, empty stores. It may do so on a fake clock.
type Harness func(t *testing.T, run func(*testing.T, Stores))

// cases are run as parallel subtests.
type cases map[string]func(*testing.T, Stores)

func (c cases) run(t *testing.T, h Harness) {
	for name, run := range c {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h(t, run)
		})
	}
}

// must ends the case when something failed that it does not test.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got is must for calls with a result.
func got[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// wantError checks which error a call answers; nil is success.
func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error is %v, want %v", what, err, want)
	}
}

// instant is the time that most things of a suite are made at.
func instant(seconds int64) time.Time { return time.Unix(1_700_000_000+seconds, 0).UTC() }

// push pushes workflows of a name each, those of schedules at the times given.
func push(ctx context.Context, s Stores, site int64, project, revision string, workflows []string, schedules map[string]host.Times) (host.Project, error) {
	p := host.Push{Site: site, Project: project, Schedules: map[string]host.NextTimes{},
		Revision: host.Revision{Name: revision, CreatedAt: instant(0), Archive: "a/" + revision, ArchiveMD5: []byte{1, 2}, UserInfo: param.New("user", "me")}}
	for _, name := range workflows {
		p.Workflows = append(p.Workflows, dig.Workflow{Name: name, Zone: "Asia/Tokyo", Config: config(name)})
	}
	for name, times := range schedules {
		p.Schedules[name] = func(*host.Schedule, bool) host.Times { return times }
	}
	return s.Projects.Push(ctx, p)
}

// config is a definition whose order of keys and kinds of numbers must be kept.
func config(name string) *param.Map {
	return param.New("+z", param.New("echo>", name), "+a", param.New("sh>", "true", "n", int64(1), "f", 1.5, "l", []param.Value{true, nil, "x"}))
}

// definition pushes a project with one workflow and returns that.
func definition(t *testing.T, s Stores, site int64, project string) host.Workflow {
	t.Helper()
	p := got(push(t.Context(), s, site, project, "r1", []string{"main"}, nil))(t)
	list := got(s.Workflows.Workflows(t.Context(), host.WorkflowQuery{Site: site, Revision: p.Latest.ID}))(t)
	if len(list) != 1 {
		t.Fatalf("the revision has %d workflows, want 1", len(list))
	}
	return list[0]
}

// attemptOf asks for an attempt of a session.
func attemptOf(site int64, w host.Workflow, session time.Time, retryName string) host.NewAttempt {
	return host.NewAttempt{Site: site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: session, RetryName: retryName,
		Zone: "Asia/Tokyo", Params: param.New("p", int64(1), "data", param.Literal("${x}")), CreatedAt: instant(1), WaitsFor: -1,
		First:   host.Entry{Seq: 1, Nonce: "first", At: instant(1), Changes: []byte("start"), Events: []byte("[]")},
		Message: host.Message{ID: "go", Body: []byte("{}")}}
}

// start starts an attempt of the first site's project "demo".
func start(t *testing.T, s Stores) host.Attempt {
	t.Helper()
	return got(s.Attempts.Start(t.Context(), attemptOf(1, definition(t, s, 1, "demo"), instant(0), "")))(t)[0]
}
