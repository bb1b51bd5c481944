//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/microvmfake"
	"zerodag/internal/executors/executorstest"
	"zerodag/internal/host"
	"zerodag/internal/microvm"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// snapshots runs MicroVMs as processes on this machine: the program waits for its hooks, as it does in a snapshot.
type snapshots struct {
	*microvmfake.Fake
	t   testing.TB
	mu  sync.Mutex
	all map[string]*exec.Cmd
}

// microvms returns a world whose commands run in MicroVMs of the fake.
func microvms(t testing.TB) (*sandboxtest.World, *snapshots) {
	w := world(t, func(o *sandbox.Options) {
		o.Microvm = sandbox.Class{Image: "microvm", CPU: 1024, Memory: 2048, Disk: 8, On: operators.OnMicrovm}
	})
	s := &snapshots{Fake: microvmfake.New(t), t: t, all: map[string]*exec.Cmd{}}
	s.Run, s.Terminate = s.run, s.terminate
	w.Launcher = sandbox.Places{operators.OnMicrovm: microvm.New(s.Config(), microvm.Options{Image: microvmfake.Image, URL: w.API.URL})}
	t.Cleanup(func() {
		for _, m := range s.Machines() {
			s.terminate(m)
		}
	})
	return w, s
}

func (s *snapshots) run(m microvmfake.Machine) {
	dir, err := os.MkdirTemp("", "microvm-") // not t.TempDir: commands of other users must be able to read it
	if err != nil {
		s.t.Error(err)
		return
	}
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	program, err := binary()
	if err != nil {
		s.t.Error(err)
		return
	}
	c := exec.Command(program, "microvm", "127.0.0.1:0")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "ZERODAG_WORK=" + filepath.Join(dir, "work"), "ZERODAG_GRACE=500ms"}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	s.all[m.ID] = c
	s.mu.Unlock()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, found := strings.Cut(lines.Text(), "waits for hooks at "); found {
			go func() {
				for lines.Scan() { // so that it is never blocked
				}
			}()
			s.hook(address, "ready", nil)
			s.hook(address, "validate", nil)
			s.hook(address, "run", map[string]string{"microvmId": m.ID, "runHookPayload": m.Payload})
			return
		}
	}
	s.t.Errorf("machine %s waits for no hooks: %v", m.ID, lines.Err())
}

func (s *snapshots) hook(address, name string, body map[string]string) {
	text, _ := json.Marshal(body)
	out, err := http.Post("http://"+address+"/aws/lambda-microvms/runtime/v1/"+name, "application/json", bytes.NewReader(text)) //nolint:noctx // it is answered at once
	if err != nil {
		s.t.Error(err)
		return
	}
	out.Body.Close()
	if out.StatusCode != http.StatusOK {
		s.t.Errorf("hook %s: %s", name, out.Status)
	}
}

// terminate ends a machine. Its program gets a signal for that here, since it ignores a hook that is called from
// within.
func (s *snapshots) terminate(m microvmfake.Machine) {
	s.mu.Lock()
	c := s.all[m.ID]
	delete(s.all, m.ID)
	s.mu.Unlock()
	if c == nil {
		return
	}
	c.Process.Signal(syscall.SIGTERM)
	go func() {
		c.Wait() // how it ended does not matter
		s.Set(m.ID, "TERMINATED", "")
	}()
}

// crash ends a machine as a crash of its host would.
func (s *snapshots) crash(id string) {
	s.mu.Lock()
	c := s.all[id]
	delete(s.all, id)
	s.mu.Unlock()
	children, lists := "", fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid)
	threads, _ := filepath.Glob(lists) // the pattern is valid
	for _, of := range threads {
		text, _ := os.ReadFile(of) // a thread may have ended
		children += string(text)
	}
	if children == "" {
		s.t.Errorf("it has no runner")
	}
	c.Process.Kill()
	for pid := range strings.FieldsSeq(children) {
		if n, err := strconv.Atoi(pid); err == nil {
			syscall.Kill(-n, syscall.SIGKILL) // it leads its own session
		}
	}
	c.Wait() // it was killed
	s.Set(id, "TERMINATED", "crashed")
}

// appears waits until a command has created a file.
func appears(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no command has made %s", file)
		}
		time.Sleep(5 * time.Millisecond) // there is no other sign of a process
	}
}

// TestMicrovms checks the complete path of commands in MicroVMs with the real program: a machine starts through its
// hooks, joins with the ticket from its start, runs the commands of its attempt with their project, secrets, output and
// log, leaves, and is terminated.
func TestMicrovms(t *testing.T) {
	t.Parallel()
	w, s := microvms(t)
	w.Secrets = map[string]string{"k": "correct-horse"}
	c := sh(`cat hello.txt; echo "password correct-horse"; echo '{"a":1}' >"$1"; env`, func(c *operators.Command) {
		c.Args = append(c.Args, ".digdag/tmp/x/output.json")
		c.Secrets = map[string]string{"k": "correct-horse"}
	})
	exit, err := w.RunBy(within(t, time.Minute), w.Microvms, sandboxtest.Task(1, 2, 1), c)
	if err != nil || exit.Code != 0 || strings.TrimSpace(string(exit.Outputs["output.json"])) != `{"a":1}` {
		t.Fatalf("%+v, %v", exit, err)
	}
	log := w.Store.LogOf(1, "+w+t2")
	if !strings.Contains(log, "hello\n") || strings.Contains(log, "correct-horse") || !strings.Contains(log, "WHO=zerodag") || strings.Contains(log, "ZERODAG_TICKET") || strings.Contains(log, "ZERODAG_MACHINE") {
		t.Errorf("its log is %q", log)
	}
	if exit, err = w.RunBy(within(t, time.Minute), w.Microvms, sandboxtest.Task(1, 3, 1), sh("exit 7")); err != nil || exit.Code != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
	if n := len(s.Machines()); n != 1 {
		t.Errorf("%d machines", n)
	}
	ctx := within(t, time.Minute)
	for s.Machines()[0].State != "TERMINATED" { // it leaves after ten seconds
		if ctx.Err() != nil {
			t.Fatalf("it does not end: %+v", s.Machines())
		}
		time.Sleep(20 * time.Millisecond) // there is no other sign of a process
	}
	for ctx.Err() == nil {
		n, err := w.Check(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
	t.Error("its row stays")
}

// TestMicrovmsLostAnswer checks that a machine whose launch got no response runs the command, and is recognized by its
// own report.
func TestMicrovmsLostAnswer(t *testing.T) {
	t.Parallel()
	w, s := microvms(t)
	s.Fail(microvmfake.Fault{Operation: "RunMicrovm", Times: 3, Done: true})
	exit, err := w.RunBy(within(t, time.Minute), w.Microvms, sandboxtest.Task(1, 2, 1), sh("echo hello"))
	if err != nil || exit.Code != 0 || len(s.Machines()) != 1 {
		t.Fatalf("%+v, %v, machines %+v", exit, err, s.Machines())
	}
	list, err := w.Memory.Runners(t.Context(), 1)
	if err != nil || len(list) != 1 || list[0].Task != s.Machines()[0].ID {
		t.Errorf("runners %+v, %v", list, err)
	}
}

// TestMicrovmsKilled checks that a kill ends the command and its machine.
func TestMicrovmsKilled(t *testing.T) {
	t.Parallel()
	var killed atomic.Bool
	w, s := microvms(t)
	w.Attempt = func(context.Context, int64, int64) (host.Attempt, error) {
		return host.Attempt{Canceled: killed.Load()}, nil
	}
	mark := filepath.Join(shared(t), "began")
	id := sandboxtest.Task(1, 2, 1)
	c := sh("touch " + mark + "; exec sleep 600")
	_, err := w.Microvms(id, w.Store.Archive0()).Run(t.Context(), c)
	var p *operators.Pending
	if !errors.As(err, &p) {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	appears(ctx, t, mark)
	killed.Store(true)
	if err := w.Microvms(id, w.Store.Archive0()).Stop(ctx, p.Status); err != nil {
		t.Error(err)
	}
	for s.Machines()[0].State != "TERMINATED" && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // there is no other sign of a process
	}
	if n := s.Calls("TerminateMicrovm"); n == 0 || s.Machines()[0].State != "TERMINATED" {
		t.Errorf("%d calls, machines %+v", n, s.Machines())
	}
}

// TestMicrovmsCrash checks that a command whose machine has crashed runs again, alone, on another one.
func TestMicrovmsCrash(t *testing.T) {
	t.Parallel()
	w, s := microvms(t)
	dir := shared(t)
	id := sandboxtest.Task(1, 2, 1)
	c := sh("if mkdir " + dir + "/began; then exec sleep 600; fi; echo again")
	var p *operators.Pending
	if _, err := w.Microvms(id, w.Store.Archive0()).Run(t.Context(), c); !errors.As(err, &p) {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	appears(ctx, t, dir+"/began")
	first := s.Machines()[0].ID
	s.crash(first)
	list, err := w.Memory.Runners(t.Context(), 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("runners %+v, %v", list, err)
	}
	if err := w.Stopped(t.Context(), list[0].Name(), "crashed", sandbox.Lost); err != nil { // as Check reports it
		t.Fatal(err)
	}
	c.Status, id.Dispatch, id.RetryCount = p.Status, id.Dispatch+1, id.RetryCount+1
	if exit, err := w.RunBy(ctx, w.Microvms, id, c); err != nil || exit.Code != 0 || len(s.Machines()) != 2 {
		t.Errorf("%+v, %v, %d machines", exit, err, len(s.Machines()))
	}
}

// TestMicrovmsSayOnce checks that a task whose command runs in a MicroVM prints the same as elsewhere, and only once.
func TestMicrovmsSayOnce(t *testing.T) {
	t.Parallel()
	w, _ := microvms(t)
	executorstest.SaysOnce(t, executorstest.Executor{
		Commands: func(id operators.Identity) operators.Commands { return w.Microvms(id, w.Store.Archive0()) },
		Await:    w.Await,
		Output:   func(id operators.Identity) string { return w.Store.LogOf(id.AttemptID, id.TaskName) },
	})
}
