package process

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators"
)

func sh(text string) operators.Command {
	return operators.Command{Args: []string{"/bin/sh", "-c", text}}
}

// run runs a command in an empty project and returns its exit code and output.
func run(t *testing.T, ctx context.Context, d *Driver, c operators.Command) (operators.Exit, string) {
	t.Helper()
	var out bytes.Buffer
	c.Stdout = &out
	exit, err := d.In(t.TempDir()).Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String()
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	d := New(Options{})
	for script, want := range map[string]int{"true": 0, "exit 3": 3, "kill -9 $$": 137, "kill -TERM $$": 143} {
		if exit, _ := run(t, t.Context(), d, sh(script)); exit.Code != want {
			t.Errorf("%s: exit code %d, want %d", script, exit.Code, want)
		}
	}
}

func TestOutputKeepsItsOrder(t *testing.T) {
	t.Parallel()
	_, out := run(t, t.Context(), New(Options{}), sh("echo a; echo b >&2; echo c; echo d >&2; printf e"))
	if diff := cmp.Diff("a\nb\nc\nd\ne", out); diff != "" {
		t.Error(diff)
	}
}

func TestStdinIsEmpty(t *testing.T) {
	t.Parallel()
	if exit, out := run(t, t.Context(), New(Options{}), sh("cat; echo ended")); out != "ended\n" || exit.Code != 0 {
		t.Errorf("got %q, %+v", out, exit)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	c := sh("echo $A $B")
	c.Env = []string{"A=1", "B=2", "A=3"}
	if _, out := run(t, t.Context(), New(Options{}), c); out != "3 2\n" {
		t.Errorf("got %q", out)
	}
}

func TestScratchAndWorkdir(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	exit, err := New(Options{}).In(root).Run(t.Context(), operators.Command{
		Args:    []string{"/bin/sh", "../tmp/x/run.sh"},
		Dir:     "sub",
		Scratch: "tmp/x",
		Files:   map[string][]byte{"run.sh": []byte("pwd > ../tmp/x/out")},
		Outputs: []string{"out", "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"out": []byte(filepath.Join(root, "sub") + "\n")}
	if diff := cmp.Diff(want, exit.Outputs); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(root, "tmp/x")); !os.IsNotExist(err) {
		t.Errorf("the scratch folder is still there: %v", err)
	}
}

func TestStartErrorsSayWhatAndWhere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, c := range map[string]operators.Command{
		"no such file or directory":  {Args: []string{"/nosuch/python"}},
		"there is no such directory": {Args: []string{"/bin/sh"}, Dir: "gone"},
		"no such program":            {Args: []string{"nosuchpython"}},
	} {
		_, err := New(Options{}).In(root).Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), "Cannot run program") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCancelAsksFirst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	started := &onWrite{do: cancel}
	c := sh(`trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	c.Stdout = started
	exit, err := New(Options{}).In(t.TempDir()).Run(ctx, c)
	if err != nil || exit.Code != 7 || !strings.Contains(started.String(), "asked") {
		t.Errorf("got %+v, %v, %q", exit, err, started.String())
	}
}

func TestCancelForcesAfterTheGraceTime(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Grace: 50 * time.Millisecond}, {KillNow: true}} {
		ctx, cancel := context.WithCancel(t.Context())
		c := sh(`trap '' TERM; echo ready; while :; do sleep 0.01; done`)
		c.Stdout = &onWrite{do: cancel}
		exit, err := New(o).In(t.TempDir()).Run(ctx, c)
		if err != nil || exit.Code != 137 {
			t.Errorf("%+v: got %+v, %v", o, exit, err)
		}
	}
}

// onWrite keeps output and does something at its first part.
type onWrite struct {
	mu   sync.Mutex
	text bytes.Buffer
	do   func()
}

func (w *onWrite) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.do()
	return w.text.Write(b)
}

func (w *onWrite) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// leavers holds scripts that leave a process behind and print its ID.
var leavers = map[string]string{
	"background":   `sleep 1000 & echo $!`,
	"ignores TERM": `(trap '' TERM HUP; exec sleep 1000) & echo $!`,
	"other group":  `bash -c 'set -m; sleep 1000 & echo $!'`,
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	d := New(Options{})
	for name, script := range leavers {
		_, out := run(t, t.Context(), d, sh(script))
		wantGone(t, name, out)
	}
}

func wantGone(t *testing.T, name, out string) {
	t.Helper()
	out, _, _ = strings.Cut(out, "zerodag: ")
	for _, word := range strings.Fields(out) {
		var pid int
		for _, c := range word {
			pid = pid*10 + int(c-'0')
		}
		if pid == 0 || syscall.Kill(pid, 0) != syscall.ESRCH {
			t.Errorf("%s: process %q is still there", name, word)
		}
	}
	if strings.TrimSpace(out) == "" {
		t.Errorf("%s: it printed no process id", name)
	}
}

func TestACommandDoesNotWaitForItsBackground(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, out := run(t, t.Context(), New(Options{}), sh("(sleep 100; echo late) & echo now"))
	if out, _, _ = strings.Cut(out, "zerodag: "); out != "now\n" || time.Since(begin) > 50*time.Second {
		t.Errorf("got %q after %v", out, time.Since(begin))
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	d, root := New(Options{}), t.TempDir()
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			var out bytes.Buffer
			c := sh("sleep 0.01 & echo x; wait")
			c.Stdout = &out
			if exit, err := d.In(root).Run(t.Context(), c); err != nil || exit.Code != 0 || out.String() != "x\n" {
				t.Errorf("got %+v, %v, %q", exit, err, out.String())
			}
		})
	}
	all.Wait()
}
