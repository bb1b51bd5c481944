package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"compress/gzip"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/operators"
)

// World is the sandbox of one test: a service over a Memory, and runners that are local processes and call the service
// over loopback.
type World struct {
	*sandbox.Service
	Memory *Memory
	Store  *Store
	// Machines holds the launched machines.
	Machines *Machines
	API      *httptest.Server
	Secrets  map[string]string

	t    testing.TB
	mu   sync.Mutex
	woke []engine.Run
	away func(*http.Request) int
}

// Away lets f choose the status with which requests from machines are refused before they are carried out, like a
// gateway that throttles them or whose function is gone. 0 means that the request is not refused.
func (w *World) Away(f func(*http.Request) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = f
}

// New returns a World whose machines run the program runner, each in a separate folder.
func New(t testing.TB, runner string, change func(*sandbox.Options)) *World {
	w := &World{Memory: NewMemory(), t: t, Secrets: map[string]string{}}
	w.Store = newStore(t)
	w.Machines = &Machines{runner: runner, t: t, Env: []string{"ZERODAG_GRACE=500ms"}}
	o := sandbox.Options{Commands: w.Memory, Work: w.Memory, Runners: w.Memory, Liveness: w.Memory, Fences: w.Memory, Launcher: w.Machines, Links: w.Store, Default: sandbox.Class{Image: "test"}, Keys: Keys(),
		Secrets: func(context.Context, int64, int64) (map[string]string, error) { return w.Secrets, nil },
		Attempt: func(context.Context, int64, int64) (host.Attempt, error) { return host.Attempt{}, nil },
		Wake: func(_ context.Context, _ int64, run engine.Run) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.woke = append(w.woke, run)
			return nil
		}}
	if change != nil {
		change(&o)
	}
	w.Service = sandbox.New(o)
	handler := w.Handler()
	w.API = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		away := w.away
		w.mu.Unlock()
		if away != nil {
			if status := away(r); status != 0 {
				http.Error(out, http.StatusText(status), status)
				return
			}
		}
		handler.ServeHTTP(out, r)
	}))
	w.Machines.url = w.API.URL
	t.Cleanup(func() {
		w.Machines.end()
		w.API.Close()
	})
	return w
}

// Task returns the identity of a task run.
func Task(attempt int64, task int64, dispatch int) operators.Identity {
	return operators.Identity{SiteID: 0, ProjectID: 7, AttemptID: attempt, TaskID: task, Workflow: "w", TaskName: fmt.Sprintf("+w+t%d", task), Dispatch: dispatch, RetryCount: dispatch - 1}
}

// Run runs a command like a task: it runs again each time it is woken, until the command has ended.
func (w *World) Run(ctx context.Context, id operators.Identity, c operators.Command) (operators.Exit, error) {
	return w.RunBy(ctx, w.For, id, c)
}

// RunBy is Run with another executor.
func (w *World) RunBy(ctx context.Context, of func(operators.Identity, string) operators.Commands, id operators.Identity, c operators.Command) (operators.Exit, error) {
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	for {
		exit, err := of(id, w.Store.Archive0()).Run(ctx, c)
		var p *operators.Pending
		if !errors.As(err, &p) {
			return exit, err
		}
		c.Status = p.Status
		if err := w.await(ctx, engine.Run{Task: engine.TaskID(id.TaskID), Dispatch: id.Dispatch + 1}, p.After); err != nil {
			return operators.Exit{}, err
		}
		id.Dispatch++
		id.RetryCount++
	}
}

// Await waits until a run of a task is woken, or until after has passed.
func (w *World) Await(id operators.Identity, after time.Duration) {
	run := engine.Run{Task: engine.TaskID(id.TaskID), Dispatch: id.Dispatch}
	if err := w.await(w.t.Context(), run, after); err != nil {
		w.t.Error(err)
	}
}

// await waits until a run is woken or due.
func (w *World) await(ctx context.Context, run engine.Run, after time.Duration) error {
	due := time.NewTimer(after)
	defer due.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		w.mu.Lock()
		found := slices.Contains(w.woke, run)
		w.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-look.C:
		case <-due.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Machines launches runners as processes.
type Machines struct {
	Env []string // more of it
	// Refuse, unless nil, is called before each launch and may refuse it.
	Refuse func(sandbox.Runner) error
	// Into, unless nil, changes how a machine's program is started: in its own image, for example.
	Into func(program *exec.Cmd)

	runner, url string
	t           testing.TB
	mu          sync.Mutex
	list        []*Machine
}

// Machine is a launched machine.
type Machine struct {
	Of    sandbox.Runner
	Ended chan struct{}
	Dir   string
	cmd   *exec.Cmd
}

// Kill ends the machine as the end of its host would.
func (m *Machine) Kill() { m.cmd.Process.Kill() }

// Pid returns the process ID of the runner.
func (m *Machine) Pid() int { return m.cmd.Process.Pid }

// Check implements sandbox.Launcher.
func (m *Machines) Check(sandbox.Class, sandbox.Owner) error { return nil }

// Launch implements sandbox.Launcher.
func (m *Machines) Launch(_ context.Context, r sandbox.Runner, ticket string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, there := range m.list {
		if there.Of.Name() == r.Name() {
			return fmt.Sprint(i), nil
		}
	}
	if m.Refuse != nil {
		if err := m.Refuse(r); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "machine-") // not t.TempDir: commands of other users must have access
	if err != nil {
		return "", err
	}
	os.Chmod(dir, 0o755)
	c := exec.Command(m.runner)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "ZERODAG_URL=" + m.url, "ZERODAG_TICKET=" + ticket, "ZERODAG_IMAGE=" + r.Of.Image,
		fmt.Sprintf("ZERODAG_SLOTS=%d", r.Of.Slots()), "ZERODAG_WORK=" + filepath.Join(dir, "work")}, m.Env...)
	c.Dir = dir
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if m.Into != nil {
		m.Into(c)
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	machine := &Machine{Of: r, Ended: make(chan struct{}), cmd: c, Dir: dir}
	go func() {
		err := c.Wait()
		if os.Getenv("RUNNER_LOG") != "" {
			fmt.Fprintf(os.Stderr, "machine %s: %v\n%s", r.Name(), err, said.String())
		}
		close(machine.Ended)
	}()
	m.list = append(m.list, machine)
	return fmt.Sprint(len(m.list) - 1), nil
}

// Stop implements sandbox.Launcher.
func (m *Machines) Stop(_ context.Context, r sandbox.Runner, _ string) error {
	if machine := m.of(r); machine != nil {
		machine.cmd.Process.Signal(syscall.SIGTERM)
	}
	return nil
}

// Ended implements sandbox.Launcher.
func (m *Machines) Ended(_ context.Context, runners []sandbox.Runner) (map[string]string, error) {
	over := map[string]string{}
	for _, r := range runners {
		machine := m.of(r)
		if machine == nil {
			over[r.Name()] = "the machine does not exist"
			continue
		}
		select {
		case <-machine.Ended:
			over[r.Name()] = "the machine has ended"
		default:
		}
	}
	return over, nil
}

// of returns the machine of a runner, or nil if none was launched for it.
func (m *Machines) of(r sandbox.Runner) *Machine {
	for _, x := range m.All() {
		if x.Of.Name() == r.Name() {
			return x
		}
	}
	return nil
}

// All returns the machines that were launched so far.
func (m *Machines) All() []*Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

func (m *Machines) end() {
	for _, x := range m.All() {
		x.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-x.Ended:
		case <-time.After(10 * time.Second):
			m.t.Errorf("machine %s did not end", x.Of.Name())
			x.Kill()
		}
		os.RemoveAll(x.Dir)
	}
}

// Store keeps blobs that are accessed over HTTP.
type Store struct {
	server *httptest.Server
	mu     sync.Mutex
	blobs  map[string][]byte
	// Archives counts how often an archive was fetched.
	Archives int
	// Refuse, unless nil, selects requests that fail after they were carried out.
	Refuse func(*http.Request) bool
}

func newStore(t testing.TB) *Store {
	s := &Store{blobs: map[string][]byte{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		content, err := io.ReadAll(r.Body)
		if err == nil {
			s.blobs[r.URL.Path] = content
		}
		if s.Refuse != nil && s.Refuse(r) {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
		return
	}
	content, found := s.blobs[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/archive") {
		s.Archives++
	}
	w.Write(content)
}

// Archive0 returns the key of the tests' archive; see SetProject.
func (s *Store) Archive0() string { return "archive/0" }

// SetProject makes the project's archive, a tar.gz.
func (s *Store) SetProject(content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs["/archive/0"] = content
}

// Put implements sandbox.Links.
func (s *Store) Put(_ context.Context, key string, content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs["/"+key] = content
	return nil
}

// Blob implements sandbox.Links.
func (s *Store) Blob(_ context.Context, key string) (string, error) {
	return s.server.URL + "/" + key, nil
}

// Log implements sandbox.Links.
func (s *Store) Log(_ context.Context, id sandbox.LogID, runner string, began time.Time) (string, error) {
	return fmt.Sprintf("%s/logs/%d/%s@%020d.%s", s.server.URL, id.Attempt, id.Task, began.UnixNano(), runner), nil
}

// Output implements sandbox.Links.
func (s *Store) Output(_ context.Context, key string, _ int64) (string, error) {
	return s.server.URL + "/" + key, nil
}

// Read implements sandbox.Links.
func (s *Store) Read(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, found := s.blobs["/"+key]
	if !found {
		return nil, host.ErrNotFound
	}
	return content, nil
}

// LogOf returns the output of a task's commands.
func (s *Store) LogOf(attempt int64, task string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.blobs {
		if strings.HasPrefix(name, fmt.Sprintf("/logs/%d/%s@", attempt, task)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text bytes.Buffer
	for _, name := range names {
		zip, err := gzip.NewReader(bytes.NewReader(s.blobs[name]))
		if err == nil {
			_, err = io.Copy(&text, zip)
		}
		if err != nil {
			fmt.Fprintf(&text, "(%s: %v)", name, err)
		}
	}
	return text.String()
}
