// Package local runs attempts inside this process, with the engine's state in memory: `zerodag run` and the recorded
// cases use it.
//
// It drives engine.State: one goroutine per attempt makes the steps and runs inline operators; all other operators run
// on separate goroutines. It stores nothing: a caller that wants to continue after a crash saves what Options.Ended
// reports. It must never decide anything about tasks that the engine should decide.
package local

import (
	"context"
	"fmt"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/host"
	"zerodag/internal/vault"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Options are the dependencies and settings of a Host. The fields describe the zero values of optional parts.
type Options struct {
	host.Runtime
	Notifier  operators.Notifier
	Variables []string // "NAME=value" for all commands, see operators.Task

	Project   Project
	Workflows []dig.Workflow
	Secrets   run.SecretStore
	// Log returns one run's log.
	Log func(operators.Identity) operators.Log

	Limit    int        // the limit on tasks per attempt; 0 means the default
	Threads  int        // the limit on concurrent runs that are not inline; 0 means no limit
	Defaults *param.Map // parameters that attempts' parameters override; optional
	Now      func() time.Time

	// Before, unless nil, is called with each job before it runs; if it returns a result, that replaces the run.
	Before func(*run.Job) *operators.Result
	// Changed, unless nil, is called after every step. It runs on the attempt's goroutine and may read the state until
	// it returns.
	Changed func(*engine.State, []engine.Change)
}

// Project is the information about the project that tasks receive.
type Project struct {
	ID       int64
	Name     string
	Revision string
}

// Host runs attempts of one project.
type Host struct {
	Options
	slots chan struct{} // nil if there is no limit
	vault *vault.Vault  // shared by all attempts, because a secret that one attempt got may reach the next

	mu       sync.Mutex
	attempts map[attemptKey]*Attempt
	sessions map[sessionKey]*session
	lastID   int64
	running  sync.WaitGroup
}

type sessionKey struct {
	workflow string
	time     int64
}

type attemptKey struct {
	sessionKey
	retryName string
}

type session struct {
	id   int64
	uuid string
	last *Attempt
}

// New creates a host.
func New(o Options) *Host {
	h := &Host{Options: o, attempts: map[attemptKey]*Attempt{}, sessions: map[sessionKey]*session{}}
	h.vault = vault.New(o.Secrets)
	if o.Threads > 0 {
		h.slots = make(chan struct{}, o.Threads)
	}
	return h
}

// Request requests an attempt.
type Request struct {
	Workflow         string
	SessionTime      time.Time
	RetryAttemptName string
	Params           *param.Map
	// Only, unless nil, changes the attempt's tasks (for example to a subtree).
	Only func([]dig.Node) ([]dig.Node, error)
}

// Run starts an attempt and waits for its end. An error means that it could not be started; its outcome is in the
// state. A canceled ctx kills the attempt.
func (h *Host) Run(ctx context.Context, r Request) (*Attempt, error) {
	a, _, err := h.start(ctx, r)
	if err != nil {
		return nil, err
	}
	<-a.done
	h.running.Wait()
	return a, nil
}

// start starts an attempt unless the session already has one with that name.
func (h *Host) start(ctx context.Context, r Request) (*Attempt, bool, error) {
	w, err := h.workflow(r.Workflow)
	if err != nil {
		return nil, false, err
	}
	def, err := engine.Define(w)
	if err != nil {
		return nil, false, err
	}
	if r.Only != nil {
		if def.Nodes, err = r.Only(def.Nodes); err != nil {
			return nil, false, err
		}
	}
	limit := h.taskLimit()
	if err := def.CheckLimit(limit); err != nil {
		return nil, false, err
	}
	params, err := given.Declared(w.Name, w.Config, param.DataMap(r.Params), r.RetryAttemptName != "")
	if err != nil {
		return nil, false, err
	}
	params, err = given.ForSession(w.Config, def.Zone, r.SessionTime, time.Time{}, params)
	if err != nil {
		return nil, false, err
	}
	a, fresh := h.register(def, w, r)
	if fresh {
		h.running.Add(1)
		go func() {
			defer h.running.Done()
			a.run(ctx, params, limit)
		}()
	}
	return a, fresh, nil
}

func (h *Host) workflow(name string) (dig.Workflow, error) {
	for _, w := range h.Workflows {
		if w.Name == name {
			return w, nil
		}
	}
	return dig.Workflow{}, fmt.Errorf("workflow %q: %w", name, operators.ErrNoWorkflow)
}

func (h *Host) register(def *engine.Definition, w dig.Workflow, r Request) (*Attempt, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sk := sessionKey{r.Workflow, r.SessionTime.Unix()}
	key := attemptKey{sk, r.RetryAttemptName}
	s := h.sessions[sk]
	if a := h.attempts[key]; a != nil {
		if r.RetryAttemptName == "" {
			a = s.last // as in Digdag, without a name it is the session's newest attempt
		}
		return a, false
	}
	if s == nil {
		s = &session{id: int64(len(h.sessions) + 1), uuid: host.NewUUID()}
		h.sessions[sk] = s
	}
	h.lastID++
	a := &Attempt{host: h, State: engine.New(def, h.Defaults), done: make(chan struct{}), posts: make(chan func(), 64),
		stop: map[engine.TaskID]context.CancelFunc{},
		ID:   h.lastID, session: s, zone: w.Zone, request: r, evalStored: h.Stored.Evaluated(w.Config)}
	a.request.SessionTime = r.SessionTime.In(def.Zone)
	h.attempts[key], s.last = a, a
	return a, true
}
