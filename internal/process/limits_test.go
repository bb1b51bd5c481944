package process

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/operators"
)

// limited runs a command with limits and returns how it ended. It fails if the command took much longer than the limits
// allow.
func limited(t *testing.T, d *Driver, root, script string, s operators.Sandbox) operators.Exit {
	t.Helper()
	c := sh(script)
	c.Sandbox, c.Stdout = s, io.Discard
	began := time.Now()
	exit, err := d.In(root).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("%s: it was ended after %v only", script, took)
	}
	return exit
}

func TestLimits(t *testing.T) {
	t.Parallel()
	d := New(Options{})
	for name, c := range map[string]struct {
		script  string
		sandbox operators.Sandbox
		want    string
	}{
		"time":      {"sleep 1000", operators.Sandbox{Time: 200 * time.Millisecond}, operators.TooLong(200 * time.Millisecond)},
		"output":    {"yes", operators.Sandbox{Output: 1 << 20}, operators.TooMuchOutput(1 << 20)},
		"processes": {"for i in $(seq 20); do sleep 1000 & done; wait", operators.Sandbox{Processes: 10}, operators.TooManyProcesses(10)},
		"daemons":   {"for i in $(seq 20); do setsid sleep 1000 & done; wait", operators.Sandbox{Processes: 10}, operators.TooManyProcesses(10)},
		"memory":    {"x=x; while :; do x=$x$x; sleep 0.1; done", operators.Sandbox{Memory: 20 << 20}, operators.OutOfMemory(20 << 20)},
		"disk":      {"head -c 3000000 /dev/zero >f; sleep 1000", operators.Sandbox{Disk: 1 << 20}, operators.TooMuchDisk(1 << 20)},
		"disk soon": {"head -c 3000000 /dev/zero >f", operators.Sandbox{Disk: 1 << 20}, operators.TooMuchDisk(1 << 20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if exit := limited(t, d, t.TempDir(), c.script, c.sandbox); exit.Why != c.want {
				t.Errorf("got %+v, want %q", exit, c.want)
			}
		})
	}
}

// TestWithinLimits proves that limits that are not reached change nothing, and that existing files in the folder do not
// count against the command.
func TestWithinLimits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(root+"/old", make([]byte, 3<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	s := operators.Sandbox{Time: time.Minute, Output: 1 << 20, Processes: 10, Memory: 1 << 30, Disk: 1 << 20}
	if exit := limited(t, New(Options{}), root, "sleep 0.5; echo x; exit 3", s); exit.Why != "" || exit.Code != 3 {
		t.Errorf("got %+v", exit)
	}
}

// TestEndlessOutput proves that a command that never stops writing is ended by default, and that its output until then
// is kept.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	var n counter
	c := sh("head -c 10G /dev/zero")
	c.Stdout = &n
	exit, err := New(Options{}).In(t.TempDir()).Run(t.Context(), c)
	if err != nil || exit.Why != operators.TooMuchOutput(1<<30) || n < 1<<30 || n > 1<<30+1000 {
		t.Errorf("got %+v, %v after %d bytes", exit, err, n)
	}
}

type counter int64

func (n *counter) Write(p []byte) (int, error) { *n += counter(len(p)); return len(p), nil }

func TestSignalsAreTold(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"kill -9 $$":                     "code 137 (signal 9, killed)",
		"printf x; kill -TERM $$":        "code 143 (signal 15, terminated)",
		"exit 137":                       "code 137",
		"trap 'exit 3' TERM; kill $$; :": "code 3",
	} {
		if exit, _ := run(t, t.Context(), New(Options{}), sh(script)); exit.String() != want || exit.Why != "" {
			t.Errorf("%s: got %v, want %s; %q", script, exit, want, exit.Why)
		}
	}
}

func TestCPUIsNotLimited(t *testing.T) {
	t.Parallel()
	c := sh("echo x")
	c.Sandbox.CPU = 0.5
	if _, out := run(t, t.Context(), New(Options{}), c); strings.Count(out, "cpu has no effect") != 1 || !strings.HasSuffix(out, "\nx\n") {
		t.Errorf("got %q", out)
	}
}

// TestTheMarkIsOurs proves that a command's `_env` cannot change the mark by which its processes are found.
func TestTheMarkIsOurs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := sh("echo $" + markName)
	c.Env, c.Stdout = []string{markName + "=mine"}, &out
	if _, err := New(Options{}).In(t.TempDir()).Run(t.Context(), c); err != nil || strings.Contains(out.String(), "mine") || len(out.String()) < 5 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestTheKeyOfSecretsIsKept(t *testing.T) {
	t.Setenv("ZERODAG_SECRET_KEY", "engine")
	t.Setenv("ZERODAG_OTHER", "theirs")
	var out bytes.Buffer
	c := sh("echo $ZERODAG_SECRET_KEY.$ZERODAG_OTHER.$MINE")
	c.Env, c.Stdout = []string{"MINE=1"}, &out
	if _, err := New(Options{}).In(t.TempDir()).Run(t.Context(), c); err != nil || out.String() != ".theirs.1\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
