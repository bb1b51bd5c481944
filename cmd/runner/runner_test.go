//go:build linux

package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/executors/executorstest"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// binary returns the path of the program, which is built once for all tests.
var binary = sync.OnceValues(func() (string, error) { // built once
	dir, err := os.MkdirTemp("", "runner-")
	if err != nil {
		return "", err
	}
	os.Chmod(dir, 0o755) // commands of other users start it
	name := filepath.Join(dir, "runner")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", name, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the runner: %w\n%s", err, out)
	}
	return name, nil
})

func world(t testing.TB, change func(*sandbox.Options)) *sandboxtest.World {
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	w := sandboxtest.New(t, name, change)
	w.Store.SetProject(project(t, map[string]string{"hello.txt": "hello\n", "scripts/run.sh": "echo from a script\n"}))
	return w
}

func project(t testing.TB, files map[string]string) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for name, content := range files {
		if err := out.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		out.Write([]byte(content))
	}
	out.Close()
	zip.Close()
	return b.Bytes()
}

func sh(script string, change ...func(*operators.Command)) operators.Command {
	c := operators.Command{Args: []string{"/bin/sh", ".digdag/tmp/x/runner.sh"}, Scratch: ".digdag/tmp/x",
		Files: map[string][]byte{"runner.sh": []byte(script)}, Outputs: []string{"output.json"}, Env: []string{"WHO=zerodag"}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestTaskSaysOnce checks that a task whose command runs on a machine or on a function prints the same as on a single
// node, and only once: runs that wait for the end repeat nothing.
func TestTaskSaysOnce(t *testing.T) {
	t.Parallel()
	t.Run("fargate", func(t *testing.T) {
		t.Parallel()
		w := world(t, nil)
		executorstest.SaysOnce(t, executorstest.Executor{
			Commands: func(id operators.Identity) operators.Commands { return w.For(id, w.Store.Archive0()) },
			Await:    w.Await,
			Output:   func(id operators.Identity) string { return w.Store.LogOf(id.AttemptID, id.TaskName) },
		})
	})
	t.Run("lambda", func(t *testing.T) {
		t.Parallel()
		w, e, _ := function(t, nil)
		f := &sandbox.Function{Service: w.Service, Caller: e, Memory: 512}
		executorstest.SaysOnce(t, executorstest.Executor{
			Commands: func(id operators.Identity) operators.Commands { return f.For(id, w.Store.Archive0()) },
			Await:    w.Await,
			Output:   func(id operators.Identity) string { return w.Store.LogOf(id.AttemptID, id.TaskName) },
		})
	})
}

// TestRuns checks that a command runs in the project's files with its environment, its own files, output and exit code,
// and that its log is stored.
func TestRuns(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1),
		sh(`cat hello.txt; sh scripts/run.sh; echo "$WHO $(basename $(pwd) | grep -c ^7_w_1_2_)"; echo '{"a":1}' > .digdag/tmp/x/output.json; echo err >&2; exit 3`))
	if err != nil || exit.Code != 3 || exit.Why != "" || string(exit.Outputs["output.json"]) != "{\"a\":1}\n" {
		t.Errorf("got %+v, %v", exit, err)
	}
	if got, want := w.Store.LogOf(1, "+w+t2"), "hello\nfrom a script\nzerodag 1\nerr\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

// TestVariablesOfTheRunner checks that a command sees none of the runner's own variables, and that variables with the
// same names in its `_env` belong to the command alone: the runner and later commands do not see them.
func TestVariablesOfTheRunner(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	ctx := within(t, time.Minute)
	names := []string{"ZERODAG_GRACE=never", "ZERODAG_IMAGE=mine", "ZERODAG_MACHINE=mine", "ZERODAG_RESULT=mine", "ZERODAG_SLOTS=0", "ZERODAG_TICKET=mine", "ZERODAG_TRY=1", "ZERODAG_URL=http://192.0.2.1", "ZERODAG_WORK=/nowhere"}
	show := "env | grep ^ZERODAG_ | sort"
	for i, env := range [][]string{nil, names, nil} {
		exit, err := w.Run(ctx, sandboxtest.Task(1, int64(i), 1), sh(show, func(c *operators.Command) { c.Env = env }))
		if err != nil || exit.Code != 0 {
			t.Fatalf("command %d: %+v, %v", i, exit, err)
		}
		want := ""
		if len(env) > 0 {
			want = strings.Join(env, "\n") + "\n"
		}
		if got := w.Store.LogOf(1, fmt.Sprintf("+w+t%d", i)); got != want {
			t.Errorf("command %d has %q, want %q", i, got, want)
		}
	}
}

// TestOneMachine checks that twenty commands of the same kind, run one after the other and concurrently, share a
// machine and one copy of the archive.
func TestOneMachine(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	ctx := within(t, time.Minute)
	for i := range 10 {
		if exit, err := w.Run(ctx, sandboxtest.Task(1, int64(i), 1), sh("exit 0")); err != nil || exit.Code != 0 {
			t.Fatalf("command %d: %+v, %v", i, exit, err)
		}
	}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if exit, err := w.Run(ctx, sandboxtest.Task(1, int64(100+i), 1), sh("exit 0")); err != nil || exit.Code != 0 {
				t.Errorf("command %d: %+v, %v", i, exit, err)
			}
		})
	}
	all.Wait()
	if n := len(w.Machines.All()); n != 1 {
		t.Errorf("%d machines were launched, want 1", n)
	}
	if w.Store.Archives != 1 {
		t.Errorf("the archive was fetched %d times, want 1", w.Store.Archives)
	}
}

// TestLogOnce checks that no line appears twice in a log when the store does not answer.
func TestLogOnce(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	puts := 0
	w.Store.Refuse = func(r *http.Request) bool {
		puts++
		return strings.HasPrefix(r.URL.Path, "/logs/") && puts%2 == 1
	}
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), sh("echo one; sleep 1.5; echo two; sleep 1.5; echo three"))
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v", exit, err)
	}
	if log := w.Store.LogOf(1, "+w+t2"); log != "one\ntwo\nthree\n" || puts < 4 {
		t.Errorf("after %d stores the log is %q", puts, log)
	}
}

// TestSecrets checks that a secret reaches its command, and is neither in a row nor in the log.
func TestSecrets(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	w.Secrets["db.password"] = "correct-horse"
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), sh(`test "$PW" = correct-horse && echo "is $PW"`, func(c *operators.Command) {
		c.Env = append(c.Env, "PW=correct-horse")
		c.Secrets = w.Secrets
	}))
	if err != nil || exit.Code != 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
	if got := w.Store.LogOf(1, "+w+t2"); got != "is ****\n" {
		t.Errorf("log: %q", got)
	}
	c, err := w.Memory.Claim(t.Context(), 1, "2.0", c0(w))
	if err == nil && bytes.Contains(c.Spec, []byte("correct-horse")) {
		t.Error("the row of the command holds the secret")
	}
}

func c0(w *sandboxtest.World) string { return w.Machines.All()[0].Of.Name() }

// TestEnds checks that the ways in which a command can end are distinguished.
func TestEnds(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	limited := func(b operators.Sandbox) func(*operators.Command) {
		return func(c *operators.Command) { c.Sandbox = b }
	}
	var all sync.WaitGroup
	for i, x := range []struct {
		name string
		c    operators.Command
		code int
		why  string
	}{
		{"signal", sh("kill -9 $$"), 137, ""},
		{"timeout", sh("sleep 100", limited(operators.Sandbox{Time: time.Second})), 137, operators.TooLong(time.Second)},
		{"output", sh("while :; do echo 0123456789012345678901234567890123456789; done", limited(operators.Sandbox{Output: 1 << 20})), 137, operators.TooMuchOutput(1 << 20)},
		{"no program", operators.Command{Args: []string{"/bin/no-such-shell", "x"}}, 126, "the image test has no /bin/no-such-shell, the program of this command: choose another image (docker: {image: …})"},
		{"daemon", sh("setsid sleep 1000 & exit 0"), 0, ""},
	} {
		all.Go(func() {
			exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, int64(i+1), 1), x.c)
			if err != nil || exit.Code != x.code || exit.Why != x.why || (exit.Signal == 9) != (x.name == "signal") && exit.Why == "" {
				t.Errorf("%s: got %+v, %v", x.name, exit, err)
			}
		})
	}
	all.Wait()
}

// TestAway checks that a command continues while the API throttles its machine or is down, and that its log, its output
// and its end are delivered when the API is back. Its links to the store have expired by then.
func TestAway(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	marks := shared(t)
	present := func(name string) bool { _, err := os.Stat(filepath.Join(marks, name)); return err == nil }
	statuses := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusNotFound, http.StatusInternalServerError, http.StatusBadGateway}
	var refused atomic.Int64
	over := func() bool { // for as long as the command runs, and a second more
		info, err := os.Stat(filepath.Join(marks, "end"))
		return err == nil && time.Since(info.ModTime()) > time.Second
	}
	w.Away(func(*http.Request) int {
		if !present("begin") || over() {
			return 0
		}
		return statuses[int(refused.Add(1))%len(statuses)]
	})
	w.Store.Refuse = func(*http.Request) bool { return present("begin") && !over() }
	script := fmt.Sprintf(`echo first; touch %[1]s/begin; head -c 4000000 /dev/urandom | od -An -v -tx1 > noise; sed 1000000q noise; sleep 1; head -c 300000 /dev/zero > .digdag/tmp/x/output.json; echo last; touch %[1]s/end; exit 5`, marks)
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), sh(script))
	if err != nil || exit.Code != 5 || exit.Why != "" || len(exit.Outputs["output.json"]) != 300000 {
		t.Errorf("got code %d %q with %d bytes, %v", exit.Code, exit.Why, len(exit.Outputs["output.json"]), err)
	}
	if log, want := w.Store.LogOf(1, "+w+t2"), 4000000*3+4000000/16+len("first\nlast\n"); len(log) != want || !strings.HasPrefix(log, "first\n") || !strings.HasSuffix(log, "\nlast\n") {
		t.Errorf("its log is %d bytes, want %d", len(log), want)
	}
	if n := len(w.Machines.All()); n != 1 || refused.Load() < 5 {
		t.Errorf("%d machines, %d requests were refused", n, refused.Load())
	}
	if left, _ := filepath.Glob(filepath.Join(w.Machines.All()[0].Dir, "work", "log-*")); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
}

// TestMachineLost checks that a command whose machine is killed runs again once, and never at the same time as its
// first run.
func TestMachineLost(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	marks := shared(t)
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			if list, _ := filepath.Glob(marks + "/*"); len(list) > 0 {
				m := w.Machines.All()[0]
				m.Kill()
				<-m.Ended
				if err := w.Stopped(context.Background(), m.Of.Name(), "the machine was killed", sandbox.Lost); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}()
	exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), sh(fmt.Sprintf(`touch %s/$$; test $(ls %s | wc -l) -gt 1 || sleep 1000`, marks, marks)))
	if err != nil || exit.Code != 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
	if list := w.Machines.All(); len(list) != 2 || list[1].Of.Of.Alone == "" {
		t.Errorf("machines: %+v", list)
	}
	if n, _ := os.ReadDir(marks); len(n) != 2 {
		t.Errorf("it ran %d times, want 2", len(n))
	}
}

// TestKill checks that a command and all processes that it started end soon after its task is stopped, and that the
// machine leaves.
func TestKill(t *testing.T) {
	t.Parallel()
	w := world(t, func(o *sandbox.Options) {
		o.Attempt = func(context.Context, int64, int64) (host.Attempt, error) { return host.Attempt{Canceled: true}, nil }
	})
	ctx := within(t, time.Minute)
	id := sandboxtest.Task(1, 2, 1)
	marks := shared(t)
	_, err := w.For(id, w.Store.Archive0()).Run(ctx, sh(fmt.Sprintf("trap 'touch %s/term' TERM; echo $$ > %s/pid; sleep 1000 & wait; sleep 1000", marks, marks)))
	pending, ok := err.(*operators.Pending)
	if !ok {
		t.Fatal(err)
	}
	for range time.Tick(10 * time.Millisecond) {
		if _, err := os.Stat(marks + "/pid"); err == nil {
			break
		}
	}
	began := time.Now()
	if err := w.For(id, "").Stop(ctx, pending.Status); err != nil {
		t.Fatal(err)
	}
	<-w.Machines.All()[0].Ended
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
	if _, err := os.Stat(marks + "/term"); err != nil {
		t.Error("the command was not asked to end")
	}
	pid, _ := os.ReadFile(marks + "/pid")
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the command lives on")
	}
}

// BenchmarkCommand measures one command on a machine that is already running, over loopback.
func BenchmarkCommand(b *testing.B) {
	w := world(b, nil)
	ctx := b.Context()
	n := int64(0)
	one := func() {
		n++
		if exit, err := w.Run(ctx, sandboxtest.Task(1, n, 1), sh("exit 0")); err != nil || exit.Code != 0 {
			b.Fatalf("%+v, %v", exit, err)
		}
	}
	one()
	for b.Loop() {
		one()
	}
}

// TestTimeOver checks that when a task's time is up, its command ends with all processes that it started before its
// task continues. It also checks that this does not disturb the command of another task on the same machine.
func TestTimeOver(t *testing.T) {
	t.Parallel()
	w := world(t, nil)
	ctx := within(t, time.Minute)
	late, other := sandboxtest.Task(1, 2, 1), sandboxtest.Task(1, 3, 1)
	marks := shared(t)
	ended := make(chan error)
	go func() {
		exit, err := w.Run(ctx, other, sh(fmt.Sprintf("echo run >>%[1]s/other; while [ ! -e %[1]s/on ]; do sleep 0.05; done; exit 3", marks)))
		if err == nil && exit.Code != 3 {
			err = fmt.Errorf("it ended with %v", exit)
		}
		ended <- err
	}()
	_, err := w.For(late, w.Store.Archive0()).Run(ctx, sh(fmt.Sprintf("trap 'touch %[1]s/term' TERM; echo $$ > %[1]s/pid; sleep 1000 & wait; sleep 1000", marks)))
	pending, ok := err.(*operators.Pending)
	if !ok {
		t.Fatal(err)
	}
	there := func(name string) bool { _, err := os.Stat(marks + "/" + name); return err == nil }
	for !there("pid") || !there("other") {
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.For(late, "").Stop(ctx, pending.Status); err != nil {
		t.Fatal(err)
	}
	pid, _ := os.ReadFile(marks + "/pid")
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil || !there("term") {
		t.Errorf("the task goes on, and the command has not ended as it was asked to: %v, asked %v", err, there("term"))
	}
	os.WriteFile(marks+"/on", nil, 0o600)
	if err := <-ended; err != nil {
		t.Errorf("the other task: %v", err)
	}
	if runs, _ := os.ReadFile(marks + "/other"); string(runs) != "run\n" {
		t.Errorf("the other command has run so often: %q", runs)
	}
	if n := len(w.Machines.All()); n != 1 {
		t.Errorf("%d machines, want 1", n)
	}
}
