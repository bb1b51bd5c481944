//go:build linux

package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// onLambda runs the command function as Lambda would: its program in Python and this one, in the sandbox of the test
// bed.
const onLambda = `#!/bin/sh
TMPDIR=/tmp LAMBDA_TASK_ROOT=%[1]s exec %[1]s/sandbox "$2" python3 -B -c '
import json, sys
sys.path.insert(0, "%[1]s")
import handler
json.dump(handler.handler(json.load(sys.stdin), None), sys.stdout)'
`

// TestLambda checks that the command function works where the sandbox refuses prctl(2) and many other calls, and that a
// command leaves no process there, whether in another session or with another parent.
func TestLambda(t *testing.T) {
	t.Parallel()
	runner, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "task-") // not t.TempDir: other users must read it; /tmp differs
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	handler, err := os.ReadFile("../../infra/deployment/commandfunction/handler.py")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/sandbox", "zerodag/integration/localstack/sandbox").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(runner)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"runner": program, "handler.py": handler, "start": fmt.Appendf(nil, onLambda, dir)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := world(t, nil)
	f := &sandbox.Function{Service: w.Service, Caller: sandboxtest.NewEnvironment(t, dir+"/start"), Memory: 512}
	seconds := fmt.Sprintf("1000.%09d", rand.IntN(1e9))
	var log bytes.Buffer
	script := fmt.Sprintf("echo runs; touch /nowhere; (setsid sleep %[1]s &); (sh -c 'sleep %[1]s & sleep 0.1' &); sleep 0.3; pgrep -cf 'sleep %[1]s'", seconds)
	begun := time.Now()
	exit, err := w.RunBy(within(t, time.Minute), f.For, sandboxtest.Task(1, 1, 1), sh(script, func(c *operators.Command) { c.Stdout = &log }))
	if err != nil || exit.Why != "" {
		t.Fatalf("got %+v, %v\n%s", exit, err, log.String())
	}
	if !strings.Contains(log.String(), "runs\n") || !strings.Contains(log.String(), "Read-only file system") {
		t.Errorf("log: %s", log.String())
	}
	if time.Since(begun) > 30*time.Second {
		t.Error("the call waited for what the command left")
	}
	living, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range living {
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte(seconds)) && bytes.HasPrefix(text, []byte("sleep")) {
			t.Errorf("%s lives on", bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
		}
	}
}
