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
	want := env.Config{Stage: "s", Table: "t", Events: "e", Tasks: "k", Archives: "a", Logs: "l", Secrets: "p", Bus: "b", Topic: "n", Gradual: true, DeadEvents: "de", DeadTasks: "dt", Announce: "ends",
		Attempts: 7, TaskLimit: 8, KeepAttempts: 90 * 24 * time.Hour, KeepArchives: 2 * time.Hour, KeepRecords: 3 * time.Hour, KeepLogs: 4 * time.Hour, Lease: 5 * time.Second, EventVisibility: time.Second, TaskVisibility: time.Hour, SmallLogs: true, TaskLogFormat: "digdag",
		Commands: env.Commands{Cluster: "c", Subnets: []string{"s1", "s2"}, Roles: []string{"0/p=r"}, Keys: "/k", PublicIP: true, Program: env.Object{Bucket: "b", Key: "k", SHA256: "h"}, CPU: 1024, Function: env.Function{Name: "f", Memory: 1769}},
		OIDC:     env.OIDC{Issuer: "https://i", Client: "c", Address: "https://a", Name: "n", Groups: "g", Grants: []string{"@e=viewer"}}, MetricsOf: []string{"m", "m/w"}, IAMGrants: []string{"arn=viewer"}}
	variables := want.Variables()
	got, err := env.Read(func(name string) (string, bool) { v, ok := variables[name]; return v, ok })
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name := range (env.Config{}).Variables() {
		_, err := env.Read(func(asked string) (string, bool) { return variables[asked], asked != name })
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestOptional proves that a program starts without the optional variables: until its variables are deployed, a new
// program sees the previous release's.
func TestOptional(t *testing.T) {
	t.Parallel()
	want := env.Config{Gradual: true, Traces: "xray", Key: "k", MetricsOf: []string{"m"}, IAMGrants: []string{"arn=viewer"}}
	variables, required := want.Variables(), (env.Config{}).Variables()
	if n := len(variables) - len(required); n != 5 {
		t.Errorf("%d variables are optional, want 5", n)
	}
	got, err := env.Read(func(name string) (string, bool) { v, ok := required[name]; return v, ok })
	if diff := cmp.Diff(env.Config{}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestNegativeKeep proves that a negative retention time is refused: it would remove attempts that have not ended yet.
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
