//go:build linux

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// asRoot skips a test that needs separate users, with a clear message, unless it runs as root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: it needs root, as the runner has on Fargate")
	}
}

// TestEscape checks that a command cannot reach another command on the same machine, the runner, or the archives. The
// command searches for all of them as long as the other command runs.
func TestEscape(t *testing.T) {
	t.Parallel()
	asRoot(t)
	w := world(t, nil)
	w.Secrets["other"] = "the-other-secret"
	ctx := within(t, time.Minute)
	marks := shared(t)
	var all sync.WaitGroup
	all.Go(func() { // the command that the other one searches for
		exit, err := w.Run(ctx, sandboxtest.Task(1, 2, 1), sh(fmt.Sprintf(
			`echo private > secret.txt; chmod 666 secret.txt; pwd > %[1]s/where; echo $$ > %[1]s/pid; while [ ! -e %[1]s/done ]; do sleep 0.05; done; ls -A`, marks),
			func(c *operators.Command) {
				c.Env, c.Secrets = append(c.Env, "MINE=the-other-secret"), w.Secrets
			}))
		if err != nil || exit.Code != 0 {
			t.Errorf("the other one: %v, %v", exit, err)
		}
	})
	exit, err := w.Run(ctx, sandboxtest.Task(1, 3, 1), sh(fmt.Sprintf(`
while [ ! -s %[1]s/pid ]; do sleep 0.05; done
where=$(cat %[1]s/where); pid=$(cat %[1]s/pid); runner=$PPID; work=$(dirname $(dirname $(pwd)))
try() { if "$@" 2>/dev/null | grep -q .; then echo "could: $*"; fi; }
try cat $where/secret.txt
try ls $where
try ls $work
try ls $work/archives
try cat $work/archives/*
try cat /proc/$pid/environ
try cat /proc/$pid/cwd/secret.txt
try cat /proc/$runner/environ
try cat /proc/$runner/mem
try ls /proc/$runner/fd
try ls /proc/$runner/root/
kill -0 $pid 2>/dev/null && echo "could: signal the other one"
kill -0 $runner 2>/dev/null && echo "could: signal the runner"
touch $where/here 2>/dev/null && echo "could: write to the other one"
env | grep -E 'ZERODAG_(TOKEN|URL)' && echo "could: read the token"
env | grep the-other-secret
touch %[1]s/done; echo looked`, marks)))
	if err != nil || exit.Code != 0 {
		t.Errorf("got %v, %v", exit, err)
	}
	all.Wait()
	if log := w.Store.LogOf(1, "+w+t3"); log != "looked\n" {
		t.Errorf("it got at things:\n%s", log)
	}
}

// shared returns a folder to which all users may write.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNothingIsLeft checks that nothing that a command started outlives it: no process, however it hides, and no file
// in folders that all users share.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	asRoot(t)
	w := world(t, nil)
	marks := shared(t)
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), sh(fmt.Sprintf(`
id -u > %[1]s/user
(setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 &)
(env -i setsid nohup sleep 1000 >/dev/null 2>&1 &)
echo x > /tmp/left-$(id -u); mkdir /dev/shm/left-$(id -u); echo y > /dev/shm/left-$(id -u)/y
pwd > %[1]s/where`, marks)))
	if err != nil || exit.Code != 0 {
		t.Fatalf("got %v, %v", exit, err)
	}
	user := strings.TrimSpace(read(t, marks+"/user"))
	if n, err := strconv.Atoi(user); err != nil || n < 1000 {
		t.Errorf("it ran as user %s", user)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, p := range processes {
		if text, err := os.ReadFile(p); err == nil && strings.Contains(string(text), "\nUid:\t"+user+"\t") {
			t.Errorf("a process is left: %s", text[:min(len(text), 200)])
		}
	}
	for _, file := range []string{"/tmp/left-" + user, "/dev/shm/left-" + user, strings.TrimSpace(read(t, marks+"/where"))} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is left", file)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBombs checks that commands that use up a resource end with a clear error, and leave the machine able to run the
// next command.
func TestBombs(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	ctx := within(t, 3*time.Minute)
	exit, err := w.Run(ctx, sandboxtest.Task(1, 2, 1), sh("head -c 10000000000 /dev/zero"))
	if want := operators.TooMuchOutput(1 << 30); err != nil || exit.Why != want {
		t.Errorf("10 GB of output: %v %q, %v", exit, exit.Why, err)
	}
	if os.Getuid() == 0 {
		exit, err = w.Run(ctx, sandboxtest.Task(1, 3, 1), sh("while :; do sleep 100 & done", func(c *operators.Command) {
			c.Sandbox.Processes = 100
		}))
		if want := operators.TooManyProcesses(100); err != nil || exit.Why != want {
			t.Errorf("process bomb: %v %q, %v", exit, exit.Why, err)
		}
		// The limit ends this command within a moment, unless the check ends it first.
		if exit, err = w.Run(ctx, sandboxtest.Task(1, 7, 1), sh("bomb() { bomb | bomb & }; bomb")); err != nil {
			t.Errorf("a bomb that forks itself: %v, %v", exit, err)
		}
	} else {
		t.Log("NOT RUN: a process bomb needs root to have a user of its own")
	}
	exit, err = w.Run(ctx, sandboxtest.Task(1, 4, 1), sh(`x=$(head -c 300000000 /dev/zero | tr '\0' x); echo ${#x}; sleep 20`, func(c *operators.Command) {
		c.Sandbox.Memory = 100 << 20
	}))
	if want := operators.OutOfMemory(100 << 20); err != nil || exit.Why != want {
		t.Errorf("memory: %v %q, %v", exit, exit.Why, err)
	}
	exit, err = w.Run(ctx, sandboxtest.Task(1, 5, 1), sh(`head -c 60000000 /dev/zero > large; sleep 20`, func(c *operators.Command) {
		c.Sandbox.Disk = 20 << 20
	}))
	if want := operators.TooMuchDisk(20 << 20); err != nil || exit.Why != want {
		t.Errorf("disk: %v %q, %v", exit, exit.Why, err)
	}
	if exit, err = w.Run(ctx, sandboxtest.Task(1, 6, 1), sh("exit 4")); err != nil || exit.Code != 4 {
		t.Errorf("the next one: %v, %v", exit, err)
	}
}
