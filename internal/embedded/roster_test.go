package embedded_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/internal/embedded"
	"zerodag/internal/executors"
	"zerodag/internal/host"
	"zerodag/internal/meter"
	"zerodag/internal/node"
)

// servers waits until the list of servers is as expected.
func servers(t *testing.T, e *embedded.Engine, fits func([]host.Server) bool) []host.Server {
	t.Helper()
	for {
		list, _, err := e.DB.Servers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if fits(list) {
			return list
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("the list stays %+v", list)
		}
	}
}

// TestRoster proves that a server is in the list of its database while it runs, that it counts and logs an earlier
// server that was not stopped properly, and that it leaves the list when it is stopped.
func TestRoster(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: t.TempDir(), Migrate: true, Version: "1.2.3", AgentID: "me", Limits: host.Limits{Threads: 7, Lease: time.Minute},
		Commands: executors.Settings{Isolation: executors.IsolateAuto}, // in a folder like this one, isolation hides nothing
		Logger:   slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.DB.PutServer(t.Context(), host.Server{ID: "before", Name: "killed", Running: 4, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	accepting, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { e.Run(t.Context(), accepting, node.Parts{Executor: true, Agent: true}) })
	list := servers(t, e, func(list []host.Server) bool { return len(list) == 2 && !list[0].LostAt.IsZero() })
	self := list[1]
	trusting, err := embedded.Open(t.Context(), embedded.Options{Folder: t.TempDir(), Migrate: true, Trusting: true, Commands: executors.Settings{Isolation: executors.IsolateAuto}})
	if err != nil {
		t.Fatal(err)
	}
	defer trusting.Close()
	if why := trusting.Exposed(); why != "" {
		t.Errorf("a server whose callers may do everything: %q", why)
	}
	if self.ID == "" || self.Name != "me" || self.Host == "" || self.PID == 0 || self.Version != "1.2.3" || !self.Executor || self.Scheduler || !self.Agent || self.Slots != 7 || self.Lease != time.Minute || self.Stopping || self.Exposed == "" {
		t.Errorf("got %+v", self)
	}
	stop()
	running.Wait()
	if list := servers(t, e, func([]host.Server) bool { return true }); len(list) != 1 || list[0].Name != "killed" {
		t.Errorf("after the end: got %+v, want only the lost server", list)
	}
	var page meter.Page
	e.Meter.WriteProcess(&page)
	if text := string(page.Bytes()); !strings.Contains(text, "zerodag_servers_lost_total 1") || !strings.Contains(log.String(), "server=killed") || !strings.Contains(log.String(), "tasks=4") {
		t.Errorf("the loss is not reported:\n%s\n%s", &log, text)
	}
}
