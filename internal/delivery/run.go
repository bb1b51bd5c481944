package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/execution"
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

// job is a run with what it needs of its attempt, which may be loaded anew meanwhile.
type job struct {
	*operators.Job
	workflow host.Workflow
	created  time.Time
	next     []operators.Sandbox // where the commands after it will run
	hidden   bool                // its parameters may hold secrets
	silent   bool                // its log is kept from an earlier try whose result was not
}

// job collects what a run can see; what it holds is frozen. The lock is held.
func (w *Worker) job(l *attempt, run engine.Run, now time.Time) *job {
	row, r := l.row, &w.Runtime
	t, a := l.state.Task(run.Task), &row
	id := operators.Identity{
		SiteID: a.Site, ProjectID: a.Project.ID, ProjectName: a.Project.Name, Revision: l.workflow.Revision.Name,
		Workflow: a.Workflow.Name, SessionID: a.SessionID, SessionUUID: a.SessionUUID,
		SessionTime: a.SessionTime.In(l.state.Definition().Zone), Zone: a.Zone, AttemptID: a.ID,
		RetryAttemptName: a.RetryName, TaskID: int64(t.ID), TaskName: t.Name,
		Dispatch: t.Dispatch, RetryCount: t.RetryCount, StartedAt: t.StartedAt,
	}
	return &job{workflow: l.workflow, created: row.CreatedAt, hidden: l.state.HoldsSecrets(), Job: &operators.Job{
		Task: operators.Task{
			Identity: id, State: t.Progress.Params, Now: now, TaskLimit: w.Limits.Tasks,
			Store: r.paramStore(a.Site, w.Retry), Notifier: notifier{r.Notices, a, l.workflow.Revision.Name}, HTTP: r.HTTP, Network: r.Network,
			Config: r.Config, Workflows: required{w.Catalogue, a},
		},
		Own:    t.Config,
		Vars:   l.state.ParamsOf(t.ID),
		Scope:  expr.Scope{Zone: id.SessionTime.Location(), Now: now, Seed: execution.Seed(id)},
		Cancel: t.Cancel, EvalStored: r.Stored.Evaluated(l.workflow.Config),
	}}
}

// execute does one run, with files, log and secrets of its own. The error says that the store was
// not available before anything was done.
func (w *Worker) execute(ctx context.Context, j *job) (operators.Outcome, error) {
	w.runs.Add(1)
	w.running.Add(1)
	defer w.running.Add(-1)
	return w.Runtime.execute(ctx, j)
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

// notifier tells people about a task.
type notifier struct {
	notices  host.Notices
	attempt  *host.Attempt
	revision string
}

// Notify implements operators.Notifier.
func (n notifier) Notify(ctx context.Context, message string, t *operators.Task) error {
	return n.notices.Notify(ctx, host.Notice{Message: message, Attempt: *n.attempt, Revision: n.revision, Task: t.TaskName})
}

// required starts attempts for `require>`.
type required struct {
	catalogue Catalogue
	from      *host.Attempt
}

// StartAttempt implements operators.Workflows.
func (r required) StartAttempt(ctx context.Context, q operators.StartRequest) (operators.StartedAttempt, error) {
	return r.catalogue.Require(ctx, *r.from, q)
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
