package localstack_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/localstack"
)

// TestNothingIsLeft checks that a separate LocalStack that is ended while it runs a task, once gracefully and once with
// SIGKILL, leaves no process and, after the next start, no folder.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	cfg := localstack.Config(t)
	home, port := os.Getenv("LS_HOME"), freePort(t)
	if home == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		home = filepath.Join(cache, "zerodag", "localstack")
	}
	command := func(verb string) {
		t.Helper()
		c := exec.Command("./localstack.sh", verb)
		c.Env = append(os.Environ(), "LS_PORT="+port, "LS_HOME="+home)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("localstack.sh %s: %v\n%s", verb, err, out)
		}
	}
	t.Cleanup(func() {
		command("down")
		for _, name := range []string{"log-", "tmp-"} {
			if err := os.RemoveAll(filepath.Join(home, name+port)); err != nil {
				t.Error(err)
			}
		}
	})
	cfg.BaseEndpoint = new("http://127.0.0.1:" + port)
	run := func() string {
		t.Helper()
		command("up")
		b, mark := ecsAt(t, cfg), localstack.Name()
		script := "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done; : " + mark + "' & trap '' TERM; while :; do sleep 0.1; done"
		if !b.Namespaces(t) {
			t.Log("NOT RUN: that a container's own children end with a killed LocalStack, for it is not root")
			script = "while :; do sleep 0.1; done; : " + mark
		}
		made, err := b.client.RegisterTaskDefinition(t.Context(), definition(shell("main", script))) // disappears with its LocalStack
		if err != nil {
			t.Fatal(err)
		}
		arn := b.start(t, b.request(*made.TaskDefinition.TaskDefinitionArn))
		b.until(t, arn, "RUNNING")
		if len(processes(t, mark)) == 0 {
			t.Fatal("the task has no process")
		}
		return mark
	}
	gone := func(mark, how string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); len(processes(t, mark)) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("processes %v outlived a LocalStack that %s", processes(t, mark), how)
			}
		}
	}
	folders := func() []string {
		list, err := filepath.Glob(filepath.Join(home, "tmp-"+port, "ecs-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}

	mark := run()
	command("down")
	gone(mark, "was stopped")
	if left := folders(); len(left) > 0 {
		t.Errorf("folders %v are left of a LocalStack that was stopped", left)
	}

	mark = run()
	text, err := os.ReadFile(filepath.Join(home, "pid-"+port))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(mark, "was killed")
	command("up")
	for deadline := time.Now().Add(5 * time.Second); len(folders()) > 0; time.Sleep(50 * time.Millisecond) { // it reports healthy a moment before it cleans up
		if time.Now().After(deadline) {
			t.Fatalf("folders %v are left after the start that follows a SIGKILL", folders())
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
