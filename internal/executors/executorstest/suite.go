// Package executorstest proves that a driver for operators.Commands behaves as operators expect. The tests of the
// drivers for one machine call it; only tests may import it.
package executorstest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/operators"
)

// Subject is a driver.
type Subject struct {
	In      func(root string) operators.Commands
	Sandbox operators.Sandbox // sandbox of every command
	// Mixed means that the order between the two output streams is lost, while each stream keeps its order: a real engine
	// has a pipe for each.
	Mixed bool
}

// Exercise runs the suite.
func Exercise(t *testing.T, s Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T){
		"exit codes": s.exitCodes, "output": s.output, "stdin": s.stdin, "environment": s.environment, "scratch": s.scratch,
		"log lines appear once": s.saysOnce, "kill": s.kill, "leftovers": s.leftovers, "missing folder": s.noFolder, "limits": s.limits, "within limits": s.within,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// run executes a script in an empty project.
func (s Subject) run(t *testing.T, script string, change func(*operators.Command)) (operators.Exit, string) {
	t.Helper()
	var out bytes.Buffer
	c := operators.Command{Args: []string{"/bin/sh", "-c", script}, Stdout: &out, Sandbox: s.Sandbox}
	if change != nil {
		change(&c)
	}
	exit, err := s.In(t.TempDir()).Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return exit, out.String()
}

func (s Subject) saysOnce(t *testing.T) {
	SaysOnce(t, Executor{Commands: func(operators.Identity) operators.Commands { return asked{s.In(t.TempDir()), s.Sandbox} }})
}

// asked runs commands with the sandbox that a task would have requested.
type asked struct {
	operators.Commands
	sandbox operators.Sandbox
}

// Run implements operators.Commands.
func (a asked) Run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	c.Sandbox = a.sandbox
	return a.Commands.Run(ctx, c)
}

func (s Subject) exitCodes(t *testing.T) {
	for script, want := range map[string]int{"true": 0, "exit 3": 3, "exit 125": 125, "exit 126": 126, "/nosuch/program": 127, "kill -9 $$": 137, "kill -TERM $$": 143} {
		if exit, _ := s.run(t, script, nil); exit.Code != want || exit.Why != "" {
			t.Errorf("%s: got %+v, want code %d", script, exit, want)
		}
	}
}

func (s Subject) output(t *testing.T) {
	script, want := "echo a; echo b >&2; echo c; echo d >&2; printf e", "a\nb\nc\nd\ne"
	if s.Mixed {
		script, want = "echo a; echo b; printf e", "a\nb\ne"
	}
	if _, out := s.run(t, script, nil); out != want {
		t.Errorf("got %q", out)
	}
}

func (s Subject) stdin(t *testing.T) {
	if exit, out := s.run(t, "cat; echo ended", nil); out != "ended\n" || exit.Code != 0 {
		t.Errorf("got %q, %+v", out, exit)
	}
}

func (s Subject) environment(t *testing.T) {
	_, out := s.run(t, `echo "$A|$B|$HOME|$DOCKER_HOST"`, func(c *operators.Command) {
		c.Env = []string{"A=1", "B=two\nlines = 'x' # \"y\"", "A=3", "HOME=/mine", "DOCKER_HOST= tcp://nowhere:1 #x"}
	})
	if want := "3|two\nlines = 'x' # \"y\"|/mine| tcp://nowhere:1 #x\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func (s Subject) scratch(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		exit, err := s.In(root).Run(t.Context(), operators.Command{
			Args: []string{"/bin/sh", "../tmp/x/run.sh"}, Dir: "sub", Scratch: "tmp/x", Sandbox: s.Sandbox,
			Files:   map[string][]byte{"run.sh": []byte("pwd > ../tmp/x/out; echo kept >../kept")},
			Outputs: []string{"out", "none"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(exit.Outputs["out"]); got != filepath.Join(root, "sub")+"\n" || len(exit.Outputs) != 1 {
			t.Errorf("got %q, %d outputs", got, len(exit.Outputs))
		}
	}
	if _, err := os.Stat(filepath.Join(root, "tmp/x")); !os.IsNotExist(err) {
		t.Errorf("the scratch folder still exists: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "kept")); err != nil || string(text) != "kept\n" {
		t.Errorf("got file %q, %v from the project", text, err)
	}
}

func (s Subject) kill(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &until{text: "ready", do: cancel}
	began := time.Now()
	sleep := sleeper()
	s.In(t.TempDir()).Run(ctx, operators.Command{Args: []string{"/bin/sh", "-c", sleep + " & trap '' TERM; echo ready; wait; " + sleep}, Stdout: w, Sandbox: s.Sandbox})
	if !strings.Contains(w.String(), "ready") {
		t.Errorf("got output %q, want ready", w.String())
	}
	if time.Since(began) > time.Minute {
		t.Errorf("the command ended only after %v", time.Since(began))
	}
	gone(t, sleep)
}

func (s Subject) leftovers(t *testing.T) {
	sleep := sleeper()
	if _, out := s.run(t, sleep+" >/dev/null 2>&1 & echo $!", nil); strings.TrimSpace(out) == "" {
		t.Error("the command left no process running")
	}
	gone(t, sleep)
}

// sleeper returns a command line that no other process has. It identifies a process because process numbers differ
// inside and outside a container.
func sleeper() string { return fmt.Sprintf("sleep 1000.%09d", rand.IntN(1e9)) }

// gone checks that no process with this command line exists.
func gone(t *testing.T, line string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Fatalf("no processes are visible: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name) // empty for an ended process that has not been reaped yet
		if words := strings.ReplaceAll(string(text), "\x00", " "); err == nil && strings.Contains(words, line) && !strings.Contains(words, "-c") {
			t.Errorf("%s is still running: %s", filepath.Dir(name), words)
		}
	}
}

func (s Subject) noFolder(t *testing.T) {
	_, err := s.In(t.TempDir()).Run(t.Context(), operators.Command{Args: []string{"/bin/sh"}, Dir: "gone", Sandbox: s.Sandbox})
	if err == nil || !strings.Contains(err.Error(), "there is no such directory") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

func (s Subject) limits(t *testing.T) {
	for script, c := range map[string]struct {
		set  func(*operators.Sandbox)
		want string
	}{
		"sleep 1000": {func(b *operators.Sandbox) { b.Time = 500 * time.Millisecond }, operators.TooLong(500 * time.Millisecond)},
		"yes":        {func(b *operators.Sandbox) { b.Output = 1 << 20 }, operators.TooMuchOutput(1 << 20)},
		"head -c 3000000 /dev/zero >f; sleep 1000": {func(b *operators.Sandbox) { b.Disk = 1 << 20 }, operators.TooMuchDisk(1 << 20)},
	} {
		began := time.Now()
		exit, _ := s.run(t, script, func(command *operators.Command) { c.set(&command.Sandbox) })
		if exit.Why != c.want || time.Since(began) > time.Minute {
			t.Errorf("%s: got %+v after %v, want %q", script, exit, time.Since(began), c.want)
		}
	}
}

func (s Subject) within(t *testing.T) {
	exit, out := s.run(t, "sleep 0.3; echo x; exit 3", func(c *operators.Command) {
		c.Sandbox.Time, c.Sandbox.Output, c.Sandbox.Disk, c.Sandbox.Processes, c.Sandbox.Memory = time.Minute, 1<<20, 1<<20, 50, 1<<30
	})
	if exit.Why != "" || exit.Code != 3 || out != "x\n" {
		t.Errorf("got %+v, %q", exit, out)
	}
}

// until stores output and calls a function once the output contains a string.
type until struct {
	text string
	do   func()

	mu   sync.Mutex
	seen bytes.Buffer
}

func (w *until) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(b)
	if strings.Contains(w.seen.String(), w.text) {
		w.do()
	}
	return len(b), nil
}

func (w *until) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.String()
}
