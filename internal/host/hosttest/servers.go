package hosttest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// serversSuite checks host.Servers.
func serversSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"record and remove": serversRecorded, "one process finds a loss": serversLost, "lost servers are forgotten": serversForgotten}.Run(t, h)
}

// aServer returns a server with a value in every field that it sets itself.
func aServer(id string) host.Server {
	return host.Server{ID: id, Name: "7@ü", Host: "ü", PID: 7, Version: "1.2.3", Executor: true, Scheduler: true, Agent: true, Types: []string{"sh", "py"},
		Running: 3, Slots: 8, Ahead: -1500 * time.Millisecond, Stopping: true, Lease: time.Minute,
		Exposed: "the server runs as root"}
}

// recorded returns a server's record, and the database's time.
func recorded(t *testing.T, s suite.Stores, id string) (x host.Server, now time.Time) {
	t.Helper()
	list, now, err := s.Servers.Servers(t.Context())
	suite.Must(t, err)
	for _, x := range list {
		if x.ID == id {
			return x, now
		}
	}
	t.Fatalf("no server %s in %+v", id, list)
	return host.Server{}, now
}

// wantServer checks a record, and that its times are about now and after began.
func wantServer(t *testing.T, what string, want, got host.Server, began time.Time) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(host.Server{}, "StartedAt", "SeenAt")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	if got.SeenAt.Before(began) || got.StartedAt.After(got.SeenAt) {
		t.Errorf("%s: started at %v and seen at %v, want both in order and seen after %v", what, got.StartedAt, got.SeenAt, began)
	}
}

func serversRecorded(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	list, began, err := s.Servers.Servers(ctx)
	suite.Must(t, err)
	if len(list) > 0 || began.Sub(s.Now()).Abs() > suite.Long {
		t.Errorf("at first: got servers %+v at %v", list, began)
	}
	first := aServer("b")
	suite.Must(t, s.Servers.PutServer(ctx, first))
	got, _ := recorded(t, s, "b")
	wantServer(t, "a new server", first, got, began)
	time.Sleep(5 * time.Millisecond)
	suite.Must(t, s.Servers.PutServer(ctx, host.Server{ID: "a"}))
	later := host.Server{ID: "b", Name: "renamed", Slots: 1, Lease: time.Hour}
	suite.Must(t, s.Servers.PutServer(ctx, later))
	again, _ := recorded(t, s, "b")
	wantServer(t, "a changed server", later, again, got.SeenAt.Add(time.Millisecond))
	if !again.StartedAt.Equal(got.StartedAt) {
		t.Errorf("a changed server started at %v, want %v", again.StartedAt, got.StartedAt)
	}
	list, _, err = s.Servers.Servers(ctx)
	suite.Must(t, err)
	if len(list) != 2 || list[0].ID != "b" {
		t.Errorf("got %+v, want the server that was started first and then the other", list)
	}
	for range 2 {
		suite.Must(t, s.Servers.RemoveServer(ctx, "b"))
	}
	if list, _, err = s.Servers.Servers(ctx); err != nil || len(list) != 1 || list[0].ID != "a" {
		t.Errorf("after a removal: got %+v and error %v", list, err)
	}
}

func serversLost(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Servers.PutServer(ctx, aServer("a")))
	before, _ := recorded(t, s, "a")
	time.Sleep(5 * time.Millisecond)
	suite.Must(t, s.Servers.PutServer(ctx, aServer("a")))
	if suite.Got(s.Servers.LoseServer(ctx, before))(t) {
		t.Error("a server that was seen in the meantime was lost")
	}
	now, _ := recorded(t, s, "a")
	var finders sync.WaitGroup
	found := make([]bool, 8)
	for i := range found {
		finders.Go(func() {
			var err error
			if found[i], err = s.Servers.LoseServer(ctx, now); err != nil {
				t.Error(err)
			}
		})
	}
	finders.Wait()
	n := 0
	for _, f := range found {
		if f {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of %d processes found the loss, want one", n, len(found))
	}
	lost, at := recorded(t, s, "a")
	if lost.LostAt.Before(now.SeenAt) || lost.LostAt.After(at) || !lost.SeenAt.Equal(now.SeenAt) {
		t.Errorf("a lost server: got %+v", lost)
	}
	suite.Must(t, s.Servers.PutServer(ctx, aServer("a")))
	back, _ := recorded(t, s, "a")
	wantServer(t, "a lost server that is back", aServer("a"), back, now.SeenAt)
	if suite.Got(s.Servers.LoseServer(ctx, host.Server{ID: "none"}))(t) {
		t.Error("a server without a record was lost")
	}
}

func serversForgotten(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for _, id := range []string{"lost", "silent"} {
		suite.Must(t, s.Servers.PutServer(ctx, aServer(id)))
	}
	x, _ := recorded(t, s, "lost")
	suite.Got(s.Servers.LoseServer(ctx, x))(t)
	suite.Must(t, s.Servers.ForgetServers(ctx, suite.Long))
	recorded(t, s, "lost")
	time.Sleep(5 * time.Millisecond)
	suite.Must(t, s.Servers.ForgetServers(ctx, time.Millisecond))
	list, _, err := s.Servers.Servers(ctx)
	suite.Must(t, err)
	if len(list) != 1 || list[0].ID != "silent" {
		t.Errorf("got %+v, want only the server that was not lost", list)
	}
}
