package delivery

import (
	"context"
	"errors"
	"fmt"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/retry"
	"zerodag/internal/vault"
	"zerodag/operators"
)

// Runtime is what tasks run with. Config, Network and Prewarm may be nil.
type Runtime struct {
	Registry  operators.Registry
	Evaluator operators.Evaluator
	Store     func(site int64) operators.ParamStore // of `param_set>`; nil results: there is none
	HTTP      operators.HTTPClient
	Network   operators.Network // nil: that of the machine
	Notices   host.Notices
	Secrets   host.Secrets
	Logs      host.Logs
	// Config is the system configuration below "config.", for operators.
	Config *param.Map
	// Stored says whose stored values are evaluated again: those of projects that ask for it.
	Stored operators.Stored
	// Workspace gives one run of a task the project's files.
	Workspace func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error)
	// Prewarm is told, when the task of id begins, of a sandbox that is slow to start and in which
	// a command is likely to run after that task.
	Prewarm func(ctx context.Context, id operators.Identity, s operators.Sandbox)
}

func (r *Runtime) execute(ctx context.Context, j *job) (operators.Outcome, error) {
	secrets, err := vault.Of(ctx, r.Secrets, j.SiteID, j.ProjectID, j.hidden)
	if errors.Is(err, host.ErrUnavailable) {
		return operators.Outcome{}, fmt.Errorf("read secrets: %w", err)
	}
	logs := r.Logs
	if j.silent {
		logs = host.NoLogs{}
	}
	log := secrets.Log(logs.Open(j.Identity, j.created))
	defer log.Close()
	j.Log, j.Vault = log, secrets
	var space host.Workspace
	if err == nil {
		space, err = r.Workspace(ctx, j.Identity, j.workflow)
	}
	if err != nil {
		log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
		return operators.Outcome{Error: engine.ErrorObject(err)}, nil
	}
	defer space.Leave()
	j.Files, j.Commands = space.Files, space.Commands
	o := r.Registry.Run(ctx, r.Evaluator, j.Job)
	o.Error = secrets.MaskAll(o.Error)
	if o.Result != nil {
		o.Result.Secret = secrets.Gave()
	}
	return o, nil
}

// patientStore is a parameter server that is waited for while it is not available: failing the
// task would help nothing.
type patientStore struct {
	operators.ParamStore
	retry *retry.Retrier
}

func (r *Runtime) paramStore(site int64, again *retry.Retrier) operators.ParamStore {
	s := r.Store(site)
	if s == nil {
		return nil // operators say so
	}
	return patientStore{s, again}
}

// Set implements operators.ParamStore.
func (p patientStore) Set(ctx context.Context, values map[string]string) error {
	return p.retry.Do(ctx, "store parameters", func() error { return p.ParamStore.Set(ctx, values) })
}

// Get implements operators.ParamStore.
func (p patientStore) Get(ctx context.Context, key string) (value string, found bool, err error) {
	err = p.retry.Do(ctx, "read parameters", func() (err error) {
		value, found, err = p.ParamStore.Get(ctx, key)
		return err
	})
	return value, found, err
}
