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

// Options of an Engine. Zero values are good for most programs.
type Options struct {
	// Logger is told what goes wrong; nil is no logger.
	Logger *slog.Logger
	// SecretKey encrypts secrets: 16 bytes. Without it there are none.
	SecretKey []byte
	// MaxTasks is how many tasks run at the same time; 0 is no limit.
	MaxTasks int
	// Evaluators is the path of a program of zerodag of the same version (the command line, say) by which
	// expressions are evaluated apart: processes that the kernel bounds and that may die. "" has
	// them evaluated in this program, where only the JavaScript engine's own guards bound them:
	// an expression made for it can end this program, or hang. That is good enough for
	// workflows that the author of this program wrote.
	Evaluators string
	// NoSchedules leaves schedules alone: attempts start only by Start.
	NoSchedules bool
}

// Engine runs workflows inside this program. It is safe for concurrent use.
type Engine struct {
	embedded *embedded.Engine
	api      http.Handler
	stop     context.CancelFunc // lets tasks under way end
	cut      context.CancelFunc // does not
	loops    sync.WaitGroup
}

// Open opens the data in a folder, or makes it, and continues every attempt that an
// earlier program left unfinished. "" keeps the data in memory. One program at a time has
// a folder.
func Open(folder string, o Options) (*Engine, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var pool *evaluators.Pool
	if o.Evaluators != "" {
		pool = evaluators.New(o.Evaluators)
	}
	e, err := embedded.Open(context.Background(), embedded.Options{Folder: folder, SecretKey: o.SecretKey, Migrate: true, Logger: o.Logger,
		Evaluators: pool, Limits: host.Limits{Threads: o.MaxTasks}})
	if err != nil {
		return nil, fmt.Errorf("open zerodag: %w", err)
	}
	api, err := httpapi.New(httpapi.Options{Node: e.Node, Version: "embedded", Writable: e.Writable, Vitals: e.Vitals, Logger: o.Logger, Auth: access.Auth{Tokens: e.DB, Audit: e.DB}})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	hard, cut := context.WithCancel(context.Background())
	accepting, stop := context.WithCancel(hard)
	z := &Engine{embedded: e, api: api, stop: stop, cut: cut}
	z.loops.Go(func() { e.Run(hard, accepting, node.Parts{Executor: true, Agent: true, Scheduler: !o.NoSchedules}) })
	return z, nil
}

// Close lets tasks that run end, unless ctx ends before, and closes the data. What was cut
// off runs again after the next Open.
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

// Handler is the REST API of the Engine, without any authentication: the program that mounts it
// says who may call, and by which names (Host). What a browser sends for a page of another
// origin is refused all the same.
func (e *Engine) Handler() http.Handler { return e.api }

// Push stores the project in a folder as a new revision: its workflows can be started, and
// its schedules run. A wrong project is an error that names file, line and task, and
// changes nothing.
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

// Start says which attempt to start.
type Start struct {
	Project, Workflow string
	// Session is the session time; zero is now. A session has one attempt without a Retry
	// name: starting it again is ErrExists.
	Session time.Time
	Retry   string
	// Params are parameters of the attempt: texts, numbers, booleans, lists, maps.
	Params map[string]any
}

// ErrNotFound says that there is no such project, workflow or attempt: what the REST API answers
// with 404.
var ErrNotFound = errors.New("not found")

// missing is what was not found, in the words of the API.
type missing struct{ error }

func (m missing) Unwrap() []error { return []error{m.error, ErrNotFound} }

// told says of an error of the host what a program can ask for.
func told(err error) error {
	var known *host.Error
	if errors.As(err, &known) && known.Code == host.Missing || errors.Is(err, host.ErrNotFound) {
		return missing{err}
	}
	return err
}

// ErrExists says that the session has an attempt of that name already.
var ErrExists = errors.New("the session has such an attempt already")

// Start starts an attempt of the newest revision and returns its id. A project or workflow that is
// not there is ErrNotFound.
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

// paramsOf turns what a program has into parameters, by way of JSON.
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

// Failure says that an attempt ended without success.
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

// Wait waits for the end of an attempt. The error is a *Failure when it did not succeed,
// ErrNotFound when there is no such attempt.
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
				f.Tasks[t.Name], _ = param.AsString("message", message) // no text is none
			}
		}
	})
	if err != nil {
		return err
	}
	return f
}
