//go:build linux

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// function returns a function that runs this program, and the World of its stores, with its options adjusted by change.
func function(t testing.TB, change func(*sandbox.Options)) (*sandboxtest.World, *sandboxtest.Environment, func(n int64, c operators.Command) (operators.Exit, error)) {
	w := world(t, change)
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	e := sandboxtest.NewEnvironment(t, name)
	f := &sandbox.Function{Service: w.Service, Caller: e, Memory: 512}
	return w, e, func(n int64, c operators.Command) (operators.Exit, error) {
		return w.RunBy(within(t, time.Minute), f.For, sandboxtest.Task(1, n, 1), c)
	}
}

// TestOnce checks that a command runs on a function the way it does on a machine, that a short log comes with the
// result, and that archives are fetched once.
func TestOnce(t *testing.T) {
	t.Parallel()
	w, _, run := function(t, nil)
	var log bytes.Buffer
	for n := range int64(2) {
		exit, err := run(n+1, sh(`cat hello.txt; sh scripts/run.sh; echo "$WHO"; echo '{"a":1}' > .digdag/tmp/x/output.json; exit 3`, func(c *operators.Command) { c.Stdout = &log }))
		if err != nil || exit.Code != 3 || exit.Why != "" || string(exit.Outputs["output.json"]) != "{\"a\":1}\n" {
			t.Errorf("got %+v, %v", exit, err)
		}
	}
	if want := strings.Repeat("hello\necho from a script\nzerodag\n", 2); strings.ReplaceAll(log.String(), "from a script", "echo from a script") != want {
		t.Errorf("log: %q", log.String())
	}
	if got := w.Store.LogOf(1, "+w+t1"); got != "" {
		t.Errorf("a short log was stored: %q", got)
	}
	if w.Store.Archives != 1 {
		t.Errorf("the archive was fetched %d times, want 1", w.Store.Archives)
	}
}

// TestOnceLong checks that the log of a command that takes longer is stored while the command runs, in parts that keep
// their order, and that large output is also stored.
func TestOnceLong(t *testing.T) {
	t.Parallel()
	w, _, run := function(t, nil)
	const script = `head -c 6000000 /dev/urandom | od -An -v -tx1 > noise; sed 1000000q noise; sleep 1.5; echo end; head -c 300000 /dev/zero > .digdag/tmp/x/output.json`
	exit, err := run(1, sh(script))
	if err != nil || exit.Code != 0 || exit.Why != "" || len(exit.Outputs["output.json"]) != 300000 {
		t.Errorf("got code %d %s with %d bytes, %v", exit.Code, exit.Why, len(exit.Outputs["output.json"]), err)
	}
	if got := w.Store.LogOf(1, "+w+t1"); len(got) != 6000000*3+6000000/16+4 || !strings.HasSuffix(got, "\nend\n") {
		t.Errorf("log of %d bytes", len(got))
	}
	exit, err = run(2, sh("yes", func(c *operators.Command) { c.Sandbox.Output = 1 << 20 }))
	if err != nil || exit.Why != operators.TooMuchOutput(1<<20) {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// TestOnceLeavesNothing checks that a command finds nothing left by the previous command: no process, no file, and no
// environment of the function itself. It also checks that the log contains no secret.
func TestOnceLeavesNothing(t *testing.T) {
	t.Parallel()
	_, e, run := function(t, nil)
	e.Env = append(e.Env, "AWS_ACCESS_KEY_ID=key-of-the-function", "AWS_SESSION_TOKEN=t", "AWS_LAMBDA_RUNTIME_API=127.0.0.1:9001", "LAMBDA_TASK_ROOT=/var/task", "_HANDLER=h", "_X_AMZN_TRACE_ID=x", "AWS_REGION=eu-west-1")
	marks := shared(t)
	dir := e.Dir
	exit, err := run(1, sh(fmt.Sprintf(`(setsid sh -c 'echo $$ > %s/pid; exec sleep 1000' &) ; sleep 0.2; mkdir -p %s/closed/in "$TMPDIR/x" "$HOME/y"; touch %s/closed/in/file %s/zerodag/file; chmod 0 %s/closed/in`, marks, dir, dir, dir, dir)))
	if err != nil || exit.Code != 0 || exit.Why != "" {
		t.Fatalf("got %+v, %v", exit, err)
	}
	pid, err := os.ReadFile(marks + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("a process of the command lives on")
	}
	if list, _ := filepath.Glob(dir + "/*"); len(list) != 1 || list[0] != dir+"/zerodag" {
		t.Errorf("left in the function's folder: %v", list)
	}
	if list, _ := filepath.Glob(dir + "/zerodag/*"); len(list) != 1 || list[0] != dir+"/zerodag/archives" {
		t.Errorf("left where commands work: %v", list)
	}
	var log bytes.Buffer
	exit, err = run(2, sh(`env; echo "$PW"; cat /proc/$PPID/environ`, func(c *operators.Command) {
		c.Env, c.Secrets, c.Stdout = append(c.Env, "PW=correct-horse"), map[string]string{"pw": "correct-horse"}, &log
	}))
	if err != nil || exit.Why != "" {
		t.Errorf("got %+v, %v", exit, err)
	}
	for _, word := range []string{"key-of-the-function", "AWS_SESSION", "9001", "LAMBDA_", "_HANDLER=", "_X_AMZN", "correct-horse"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log has %s:\n%s", word, log.String())
		}
	}
	if !strings.Contains(log.String(), "AWS_REGION=eu-west-1\n") || !strings.Contains(log.String(), "PW=****\n") || !strings.Contains(log.String(), "\n****\n") {
		t.Errorf("log: %s", log.String())
	}
}

// TestOnceEnds checks that a function distinguishes the ways in which a command can end.
func TestOnceEnds(t *testing.T) {
	t.Parallel()
	_, _, run := function(t, nil)
	for i, x := range []struct {
		name string
		c    operators.Command
		code int
		why  string
	}{
		{"signal", sh("kill -9 $$"), 137, ""},
		{"timeout", sh("sleep 100", func(c *operators.Command) { c.Sandbox.Time = time.Second }), 137, operators.TooLong(time.Second)},
		{"memory", operators.Command{Args: []string{"python3", "-c", "x = b'x' * (450 << 20)\nimport time\ntime.sleep(60)"}}, 137, operators.OutOfMemory(384 << 20)},
		{"processes", sh("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", func(c *operators.Command) { c.Sandbox.Processes = 4 }), 137, operators.TooManyProcesses(4)},
		{"no program", operators.Command{Args: []string{"/bin/no-such-shell", "x"}}, 126, "the function of commands (Python 3.13) has no /bin/no-such-shell"},
	} {
		exit, err := run(int64(i+1), x.c)
		if err != nil || exit.Code != x.code && exit.Why == "" || x.why != "" && !strings.HasPrefix(exit.Why, x.why) {
			t.Errorf("%s: got %+v, %v", x.name, exit, err)
		}
	}
}

// TestOnceKilled checks that a kill reaches a command on a function: the command is asked to end and, if it does not,
// is killed with all processes that it has started.
func TestOnceKilled(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"asked":  "trap 'echo ends by itself; exit 1' TERM; echo runs; sleep 1001 & wait",
		"forced": "trap '' TERM; echo runs; while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e, _ := function(t, nil)
			f := &sandbox.Function{Service: w.Service, Caller: e, Memory: 512}
			ctx, kill := context.WithCancelCause(within(t, time.Minute))
			time.AfterFunc(2*time.Second, func() { kill(operators.ErrEnded) })
			began := time.Now()
			var log bytes.Buffer // the log that came with the result
			_, err := w.RunBy(ctx, f.For, sandboxtest.Task(1, 1, 1), sh(script, func(c *operators.Command) { c.Stdout = &log }))
			if err == nil || !strings.Contains(err.Error(), "was stopped") {
				t.Errorf("the task ended with %v", err)
			}
			e.Calls.Wait()
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the command was over after %v", took)
			}
			if got := w.Store.LogOf(1, "+w+t1") + log.String(); !strings.HasPrefix(got, "runs\n") || (name == "asked") != strings.Contains(got, "ends by itself") {
				t.Errorf("log: %q", got)
			}
		})
	}
}

// BenchmarkOnce measures one command on a warm function.
func BenchmarkOnce(b *testing.B) {
	w, e, _ := function(b, nil)
	f := &sandbox.Function{Service: w.Service, Caller: e, Memory: 512}
	n := int64(0)
	for b.Loop() {
		n++
		if exit, err := w.RunBy(context.Background(), f.For, sandboxtest.Task(1, n, 1), sh("exit 0")); err != nil || exit.Code != 0 {
			b.Fatalf("%+v, %v", exit, err)
		}
	}
}
