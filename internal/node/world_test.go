package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
	"zerodag/operators/all"
)

// world is a deployment in memory on a fake clock: its stores, and the observed behavior of the hosts that use them.
type world struct {
	t     *testing.T
	db    *sqlite.DB
	skew  atomic.Int64 // of the hosts' clocks
	blobs *blobs
	hook  func(call string, done bool) error // called before and after each write

	hooks sync.Mutex // one at a time

	mu      sync.Mutex
	trace   []string // writes, in their order
	runs    []string // runs of `work>`: "+main+a/1", in their order
	cleaned []string
	works   map[string]work
	notices []host.Notice
	log     map[string]string // by name of the task
	logged  strings.Builder   // by the hosts
}

// work is the function that the operator `work>` runs for a command.
type work func(ctx context.Context, t *operators.Task) (operators.Result, error)

// inBubble runs a test in a new world on a fake clock.
func inBubble(t *testing.T, run func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, blobs: newBlobs(), works: map[string]work{}, log: map[string]string{}}
		w.db = w.open(sqlite.Options{})
		run(w)
	})
}

func (w *world) open(o sqlite.Options) *sqlite.DB {
	w.t.Helper()
	o.Migrate, o.Sync, o.SecretKeys = true, host.SyncNone, [][]byte{[]byte("0123456789abcdef")}
	db, err := sqlite.Open(w.t.Context(), o)
	w.must(err)
	w.t.Cleanup(func() { db.Close() })
	return db
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// options returns the options for a host over the world's stores.
func (w *world) options() node.Options {
	registry := all.Registry()
	registry["work"] = operators.Operator{Name: "work", Retries: true, Run: w.work, Clean: w.clean}
	return node.Options{
		Ports: host.Ports{
			Log: seenLog{w.db, w}, Events: &seenQueue{Queue: w.db.Queue("events"), name: "events", w: w}, Tasks: &seenQueue{Queue: w.db.Queue("tasks"), name: "tasks", w: w},
			Attempts: seenAttempts{w.db, w}, Schedules: seenSchedules{w.db, w},
			Projects: w.db, Workflows: w.db, Sessions: w.db, Pools: w.db, Semaphore: w.db, Backfills: w.db, Inventory: w.db, Secrets: w.db, Blobs: w.blobs, Logs: keptLogs{w},
			Notices: w, Unpack: w.blobs.unpack,
			Now: w.now, Logger: slog.New(slog.NewTextHandler(lockedWriter{w}, nil)),
			Limits: host.Limits{ReapInterval: time.Minute}, // hours pass in most of these tests
		},
		Runtime: host.Runtime{
			Registry: registry, Evaluator: evaluator.InProcess(nil),
			Workspace: func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
				return host.Workspace{Leave: func() {}}, nil
			},
		},
	}
}

// process is a running host.
type process struct {
	*node.Node
	w      *world
	cut    context.CancelFunc // ends everything at once
	accept context.CancelFunc // stops accepting work
	over   chan struct{}
}

// serve runs a host over the world's stores; it is cut off at the end of the test.
func (w *world) serve(edit ...func(*node.Options)) *process {
	o := w.options()
	for _, e := range edit {
		e(&o)
	}
	if o.Limits.ProcessTime > 0 {
		o.Inventory = nil // as on AWS
	}
	return w.serveParts(node.New(o), node.Parts{Executor: true, Scheduler: true, Agent: true})
}

func (w *world) serveParts(h *node.Node, parts node.Parts) *process {
	p := &process{Node: h, w: w, over: make(chan struct{})}
	var ctx, accepting context.Context
	ctx, p.cut = context.WithCancel(w.t.Context())
	accepting, p.accept = context.WithCancel(ctx)
	go func() {
		defer close(p.over)
		h.Run(ctx, accepting, parts)
	}()
	w.t.Cleanup(p.crash)
	return p
}

// crash cuts the host off.
func (p *process) crash() {
	p.cut()
	<-p.over
}

// push creates a revision of project "p" from workflow files, given as alternating names and contents.
func (p *process) push(files ...string) host.Project {
	p.w.t.Helper()
	project, err := p.Push(p.w.t.Context(), catalogue.PushRequest{Project: "p", Revision: fmt.Sprint("r", p.w.blobs.count())}, archive(files...), 1)
	p.w.must(err)
	return project
}

func (p *process) workflow(name string) host.Workflow {
	p.w.t.Helper()
	list, err := p.Workflows(p.w.t.Context(), host.WorkflowQuery{Name: name})
	p.w.must(err)
	if len(list) != 1 {
		p.w.t.Fatalf("there are %d workflows %s", len(list), name)
	}
	return list[0]
}

// start starts workflow "main" for a session; edit may change the request.
func (p *process) start(session int64, edit ...func(*catalogue.StartRequest)) host.Attempt {
	p.w.t.Helper()
	r := catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(session, 0), Params: param.New()}
	for _, e := range edit {
		e(&r)
	}
	a, err := p.Start(p.w.t.Context(), r)
	p.w.must(err)
	return a
}

// run pushes a workflow and starts it.
func (p *process) run(text string) host.Attempt {
	p.w.t.Helper()
	p.push("main.dig", text)
	return p.start(1)
}

// row returns the attempt's current row.
func (p *process) row(a host.Attempt) host.Attempt {
	p.w.t.Helper()
	a, err := p.Attempt(p.w.t.Context(), host.AnySite, a.ID)
	p.w.must(err)
	return a
}

// end waits until an attempt has ended and returns its status.
func (p *process) end(a host.Attempt) string {
	p.w.t.Helper()
	limit := time.Now().Add(4 * 24 * time.Hour)
	for wait := time.Millisecond; time.Now().Before(limit); wait = min(2*wait, time.Minute) {
		if a = p.row(a); a.Done {
			synctest.Wait()
			return a.Status()
		}
		pass(wait)
	}
	p.w.t.Fatalf("attempt %d does not end: %v\n%s", a.ID, p.tasks(a), p.w.said())
	return ""
}

// pass lets fake time pass and waits until due work is done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// tasks returns the states of an attempt's tasks, in the order of their IDs.
func (p *process) tasks(a host.Attempt) []string {
	p.w.t.Helper()
	var list []string
	p.w.must(p.View(p.w.t.Context(), p.row(a), func(s *engine.State) {
		if s == nil {
			return
		}
		for _, t := range s.Tasks() {
			list = append(list, fmt.Sprintf("%s %s", strings.TrimPrefix(t.Name, "+main"), t.State))
		}
	}))
	return list
}

// on sets what `work>: name` does.
func (w *world) on(name string, do work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.works[name] = do
}

func (w *world) work(ctx context.Context, t *operators.Task) (operators.Result, error) {
	command, err := t.Params.StringOr("_command", "")
	if err != nil {
		return operators.Result{}, err
	}
	w.mu.Lock()
	w.runs = append(w.runs, fmt.Sprintf("%s/%d", t.TaskName, t.Dispatch))
	do := w.works[command]
	w.mu.Unlock()
	if do == nil {
		return operators.Result{}, nil
	}
	return do(ctx, t)
}

func (w *world) clean(_ context.Context, t *operators.Task) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleaned = append(w.cleaned, t.TaskName)
	return nil
}

// lasting returns work that takes the given time unless it is cut off.
func lasting(d time.Duration) work {
	return func(ctx context.Context, _ *operators.Task) (operators.Result, error) {
		select {
		case <-time.After(d):
			return operators.Result{}, nil
		case <-ctx.Done():
			return operators.Result{}, ctx.Err()
		}
	}
}

// deaf returns work that takes the given time and ignores being cut off.
func deaf(d time.Duration) work {
	return func(context.Context, *operators.Task) (operators.Result, error) {
		time.Sleep(d)
		return operators.Result{}, nil
	}
}

func failing(context.Context, *operators.Task) (operators.Result, error) {
	return operators.Result{}, operators.Failf("no")
}

// ran returns the runs of `work>` so far.
func (w *world) ran() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

// writes returns the writes so far that have one of the prefixes, in their order.
func (w *world) writes(prefixes ...string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, call := range w.trace {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(call, p) }) {
			list = append(list, call)
		}
	}
	return list
}

func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, n := range w.notices {
		list = append(list, n.Message)
	}
	return list
}

func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged.String()
}

// Notify implements host.Notices.
func (w *world) Notify(_ context.Context, n host.Notice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, n)
	return nil
}

type lockedWriter struct{ w *world }

func (l lockedWriter) Write(p []byte) (int, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.logged.Write(p)
}

// blobs implements host.Blobs, with archives that are JSON objects of names and contents. It is safe for concurrent
// use.
type blobs struct {
	mu   sync.Mutex
	list map[string]string
}

func newBlobs() *blobs { return &blobs{list: map[string]string{}} }

func archive(files ...string) io.Reader {
	content := map[string]string{}
	for i := 0; i < len(files); i += 2 {
		content[files[i]] = files[i+1]
	}
	text, _ := json.Marshal(content)
	return strings.NewReader(string(text))
}

// Put implements host.Blobs.
func (b *blobs) Put(_ context.Context, key string, r io.Reader, _ int64) error {
	text, err := io.ReadAll(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list[key] = string(text)
	return err
}

func (b *blobs) read(key string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, found := b.list[key]
	return text, found
}

func (b *blobs) has(key string) bool {
	_, found := b.read(key)
	return found
}

func (b *blobs) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

// Open implements host.Blobs.
func (b *blobs) Open(_ context.Context, key string) (io.ReadCloser, int64, error) {
	text, found := b.read(key)
	if !found {
		return nil, 0, host.ErrNotFound
	}
	return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
}

// Delete implements host.Blobs.
func (b *blobs) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.list, key)
	return nil
}

// Link implements host.Blobs.
func (*blobs) Link(context.Context, string, time.Duration) (string, error) { return "", nil }

func (b *blobs) unpack(_ context.Context, key string) (host.Archive, error) {
	text, _ := b.read(key)
	var a unpacked
	return a, json.Unmarshal([]byte(text), &a)
}

type unpacked map[string]string

// Workflows implements host.Archive.
func (u unpacked) Workflows() []string { return slices.Sorted(maps.Keys(u)) }

// Read implements host.Archive.
func (u unpacked) Read(name string) ([]byte, error) {
	text, ok := u[name]
	if !ok {
		return nil, dig.ErrNotFound
	}
	return []byte(text), nil
}

// Close implements host.Archive.
func (unpacked) Close() error { return nil }

// code returns the class of a user's error, 0 for other errors.
func code(err error) host.Code {
	var e *host.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code
}
