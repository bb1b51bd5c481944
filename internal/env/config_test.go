package env_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/env"
)

// TestRoundTrip proves that functions read what infra writes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := env.Config{Stage: "s", Table: "t", Events: "e", Tasks: "k", Archives: "a", Logs: "l", Secrets: "p", Bus: "b", Topic: "n", DeadEvents: "de", DeadTasks: "dt", Announce: "ends",
		Attempts: 7, TaskLimit: 8, KeepAttempts: 90 * 24 * time.Hour, KeepArchives: 2 * time.Hour, KeepRecords: 3 * time.Hour, KeepLogs: 4 * time.Hour, Lease: 5 * time.Second, EventVisibility: time.Second, TaskVisibility: time.Hour, SmallLogs: true, TaskLogFormat: "digdag",
		Commands: env.Commands{Cluster: "c", Subnets: []string{"s1", "s2"}, Roles: []string{"0/p=r"}, Keys: "/k", PublicIP: true, Program: env.Object{Bucket: "b", Key: "k", SHA256: "h"}, CPU: 1024, Function: env.Function{Name: "f", Memory: 1769}},
		OIDC:     env.OIDC{Issuer: "https://i", Client: "c", Address: "https://a", Name: "n", Groups: "g", Grants: []string{"@e=viewer"}}}
	variables := want.Variables()
	got, err := env.Read(func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name := range variables {
		if later(name) {
			continue
		}
		_, err := env.Read(func(asked string) (string, bool) { return variables[asked], asked != name })
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// later says of a variable that templates of earlier releases do not have it.
func later(name string) bool {
	return strings.HasSuffix(name, "_VISIBILITY") || strings.HasPrefix(name, "ZERODAG_KEEP_") || name == "ZERODAG_OIDC" || name == "ZERODAG_TASK_LOG_FORMAT"
}

// TestOlderEnvironment proves that a program that was deployed a moment before its variables takes the
// visibilities of the queues for what they were in every template before, and keeps everything.
func TestOlderEnvironment(t *testing.T) {
	t.Parallel()
	variables := env.Config{EventVisibility: time.Second, TaskVisibility: time.Second, KeepAttempts: time.Second, KeepArchives: time.Second, KeepRecords: time.Second}.Variables()
	got, err := env.Read(func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok && !later(name)
	})
	if err != nil || got.EventVisibility != time.Minute || got.TaskVisibility != 15*time.Minute || got.KeepAttempts != 0 || got.KeepArchives != 0 || got.KeepRecords != 0 || got.TaskLogFormat != "short" {
		t.Errorf("events %v, tasks %v, %v", got.EventVisibility, got.TaskVisibility, err)
	}
}

// TestNegativeKeep proves that a negative time for which something is kept is refused: it would remove what has
// yet to end.
func TestNegativeKeep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]env.Config{"ATTEMPTS": {KeepAttempts: -time.Hour}, "ARCHIVES": {KeepArchives: -time.Hour}, "RECORDS": {KeepRecords: -time.Hour}} {
		variables := c.Variables()
		_, err := env.Read(func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
		if err == nil || !strings.Contains(err.Error(), "ZERODAG_KEEP_"+name) {
			t.Errorf("a negative time: %v", err)
		}
	}
}
