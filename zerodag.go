package zerodag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/evaluators"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/node"
	"zerodag/internal/projectfiles"
)

// Options of an Engine. Zero values suit most programs.
type Options struct {
	// Logger logs errors; nil for no logger.
	Logger *slog.Logger
	// SecretKey encrypts secrets: 16 bytes. Without it, secrets cannot be stored.
	SecretKey []byte
	// MaxTasks is how many tasks run at the same time; 0 for no limit.
	MaxTasks int
	// Evaluators is the path of a zerodag program of the same version (such as the command line). It evaluates
	// expressions in separate processes, which the kernel limits and which may die. "" evaluates them in this program,
	// limited only by the JavaScript engine's own guards: a malicious expression can crash this program, or hang. That
	// is acceptable for workflows written by the author of this program.
	Evaluators string
	// NoSchedules disables schedules: attempts start only through Start.
	NoSchedules bool
}

// Engine runs workflows inside this program. It is safe for concurrent use.
type Engine struct {
	embedded *embedded.Engine
	api      http.Handler
	stop     context.CancelFunc // lets running tasks finish
	cut      context.CancelFunc // does not
	loops    sync.WaitGroup
}

// Open opens the data in a folder, or creates it, and continues every attempt that an earlier program left unfinished.
// "" keeps the data in memory. Only one program at a time can open a folder.
func Open(folder string, o Options) (*Engine, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var pool *evaluators.Pool
	if o.Evaluators != "" {
		pool = evaluators.New(o.Evaluators)
	}
	var keys [][]byte
	if o.SecretKey != nil {
		keys = [][]byte{o.SecretKey}
	}
	e, err := embedded.Open(context.Background(), embedded.Options{Folder: folder, SecretKeys: keys, Migrate: true, Logger: o.Logger,
		Evaluators: pool, Limits: host.Limits{Threads: o.MaxTasks}})
	if err != nil {
		return nil, fmt.Errorf("open zerodag: %w", err)
	}
	api, err := httpapi.New(httpapi.Options{Node: e.Node, Version: "embedded", Writable: e.Writable, Vitals: e.Vitals, Census: e.DB.Census, Meter: e.Meter, Outbox: e.DB, Logger: o.Logger, Auth: access.Auth{Tokens: e.DB, Audit: e.DB}})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	hard, cut := context.WithCancel(context.Background())
	accepting, stop := context.WithCancel(hard)
	z := &Engine{embedded: e, api: api, stop: stop, cut: cut}
	z.loops.Go(func() { e.Run(hard, accepting, node.Parts{Executor: true, Agent: true, Scheduler: !o.NoSchedules}) })
	return z, nil
}

// Close waits until running tasks have finished or ctx ends, and closes the data. Interrupted tasks run again after the
// next Open.
func (e *Engine) Close(ctx context.Context) error {
	e.stop()
	ended := make(chan struct{})
	go func() { defer close(ended); e.loops.Wait() }()
	select {
	case <-ended:
	case <-ctx.Done():
		e.cut()
		<-ended
	}
	e.cut()
	return e.embedded.Close()
}

// Handler returns the REST API of the Engine, without any authentication: the program that mounts it decides who may
// call it, and under which names (Host). Cross-origin requests from browsers are still refused.
func (e *Engine) Handler() http.Handler { return e.api }

// Push stores the project in a folder as a new revision: its workflows can be started, and its schedules run. An
// invalid project returns an error that names file, line and task, and changes nothing.
func (e *Engine) Push(ctx context.Context, folder, project, revision string) error {
	p, err := projectfiles.Open(folder)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	archive, err := os.CreateTemp("", "zerodag-push-")
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	if _, err := p.Pack(archive, projectfiles.Packing{}); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	size, err := archive.Seek(0, 1)
	if err == nil {
		_, err = archive.Seek(0, 0)
	}
	if err == nil {
		_, err = e.embedded.Push(ctx, catalogue.PushRequest{Project: project, Revision: revision}, archive, size)
	}
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	return nil
}

// Start selects the attempt to start.
type Start struct {
	Project, Workflow string
	// Session is the session time; zero is now. A session has one attempt without a Retry name: starting it again
	// returns ErrExists.
	Session time.Time
	Retry   string
	// Params are parameters of the attempt: text, numbers, booleans, lists, maps.
	Params map[string]any
}

// ErrNotFound means that the project, workflow or attempt does not exist: the REST API returns 404.
var ErrNotFound = errors.New("not found")

// missing is an ErrNotFound with the message of the API.
type missing struct{ error }

func (m missing) Unwrap() []error { return []error{m.error, ErrNotFound} }

// told converts a host error to an error that a program can test for.
func told(err error) error {
	var known *host.Error
	if errors.As(err, &known) && known.Code == host.Missing || errors.Is(err, host.ErrNotFound) {
		return missing{err}
	}
	return err
}

// ErrExists means that the session already has an attempt with that name.
var ErrExists = errors.New("the session has such an attempt already")

// Start starts an attempt of the newest revision and returns its id. It returns ErrNotFound if the project or the
// workflow does not exist.
func (e *Engine) Start(ctx context.Context, s Start) (int64, error) {
	w, err := e.embedded.Newest(ctx, 0, s.Project, s.Workflow)
	if err != nil {
		return 0, fmt.Errorf("start: %w", told(err))
	}
	params, err := paramsOf(s.Params)
	if err != nil {
		return 0, fmt.Errorf("start: params: %w", err)
	}
	if s.Session.IsZero() {
		s.Session = time.Now()
	}
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	a, err := e.embedded.Start(ctx, catalogue.StartRequest{Workflow: w.ID, SessionTime: s.Session.In(zone).Truncate(time.Second), RetryName: s.Retry, Params: params})
	var known *host.Error
	if errors.As(err, &known) && known.Existing != nil {
		return known.Existing.ID, fmt.Errorf("start: %w", ErrExists)
	}
	if err != nil {
		return 0, fmt.Errorf("start: %w", told(err))
	}
	return a.ID, nil
}

// paramsOf converts a program's values to parameters, by way of JSON.
func paramsOf(m map[string]any) (*param.Map, error) {
	if m == nil {
		return param.New(), nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	v, err := param.ParseJSON(string(text))
	if err != nil {
		return nil, err
	}
	return param.AsMap("params", v)
}

// Failure reports that an attempt did not succeed.
type Failure struct {
	Attempt int64
	Killed  bool
	Tasks   map[string]string // message of each failed task by its full name
}

func (f *Failure) Error() string {
	if f.Killed {
		return fmt.Sprintf("attempt %d was killed", f.Attempt)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "attempt %d failed", f.Attempt)
	for _, name := range slices.Sorted(maps.Keys(f.Tasks)) {
		fmt.Fprintf(&b, "; %s: %s", name, f.Tasks[name])
	}
	return b.String()
}

// Wait waits for the end of an attempt. It returns a *Failure if the attempt did not succeed, and ErrNotFound if it
// does not exist.
func (e *Engine) Wait(ctx context.Context, attempt int64) error {
	a, err := e.embedded.Attempt(ctx, 0, attempt)
	if err == nil {
		for range e.embedded.Watch(ctx, a) { // until it is over, or ctx ends
		}
		a, err = e.embedded.Attempt(ctx, 0, attempt)
	}
	switch {
	case ctx.Err() != nil && !a.Done:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("wait for attempt %d: %w", attempt, told(err))
	case a.Success:
		return nil
	}
	return e.failure(ctx, a)
}

func (e *Engine) failure(ctx context.Context, a host.Attempt) error {
	f := &Failure{Attempt: a.ID, Killed: a.Canceled, Tasks: map[string]string{}}
	err := e.embedded.View(ctx, a, func(s *engine.State) {
		if s == nil {
			return
		}
		for _, t := range s.Tasks() {
			if t.State == engine.Failed && t.Outcome != nil {
				message, _ := t.Error.Get("message")
				f.Tasks[t.Name], _ = param.AsString("message", message) // empty if there is no text
			}
		}
	})
	if err != nil {
		return err
	}
	return f
}
