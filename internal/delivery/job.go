package delivery

import (
	"context"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/expr"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/operators"
)

// job is a run with what it needs of its attempt, which may be loaded anew meanwhile.
type job struct {
	*operators.Job
	workflow host.Workflow
	known    host.Entry // the last one, as far as the run knows: its number and nonce
	created  time.Time
	next     []operators.Sandbox         // where the commands after it will run
	hidden   bool                        // its parameters may hold secrets
	silent   bool                        // its log is kept from an earlier try whose result was not
	begins   func(context.Context) error // is called once all is there that the run needs; nil for nothing
}

// job collects what a run can see; what it holds is frozen. The lock is held.
func (w *Worker) job(l *attempt, run engine.Run, now time.Time) *job {
	row, r := l.row, &w.Runtime
	t, a := l.state.Task(run.Task), &row
	state, count, away := operators.Resume(t.Progress.Params, t.RetryCount)
	id := operators.Identity{
		SiteID: a.Site, ProjectID: a.Project.ID, ProjectName: a.Project.Name, Revision: l.workflow.Revision.Name,
		Workflow: a.Workflow.Name, SessionID: a.SessionID, SessionUUID: a.SessionUUID,
		SessionTime: a.SessionTime.In(l.state.Definition().Zone), Zone: a.Zone, AttemptID: a.ID,
		RetryAttemptName: a.RetryName, TaskID: int64(t.ID), TaskName: t.Name,
		Dispatch: t.Dispatch, Try: t.Runs(), RetryCount: count, StartedAt: t.StartedAt,
	}
	env, files := l.state.EnvOf(t.ID)
	var steady time.Time
	if r.Steady != nil {
		steady = r.Steady()
	}
	priority := ""
	if t.Preparing {
		priority = l.state.ComputedPriorityOf(t.ID)
	}
	return &job{workflow: l.workflow, known: host.Entry{Seq: l.seq, Nonce: l.nonce}, created: row.CreatedAt, hidden: l.state.HoldsSecrets(), Job: &operators.Job{
		Task: operators.Task{
			Identity: id, State: state, Now: now, Steady: steady, Level: t.Level, TaskLimit: w.Limits.Tasks,
			Store: r.Store(a.Site), Notifier: notifier{r, a, l.workflow.Revision.Name, failureOf(l.state, t)}, HTTP: r.HTTP, Network: r.Network,
			Config: r.Config, Workflows: required{w.Catalogue, a},
		},
		Own:      t.Config,
		Env:      env,
		EnvFiles: files,
		Vars:     l.state.ParamsOf(t.ID),
		Scope:    expr.Scope{Zone: id.SessionTime.Location(), Now: now, Seed: execution.Seed(id)},
		Cancel:   t.Cancel, Priority: priority, Prepare: t.Preparing, Ends: t.Ends, Timeout: t.Timeout, Away: away, EvalStored: r.Stored.Evaluated(l.workflow.Config),
	}}
}

// execute does one run, with files, log and secrets of its own. The error says that a store was
// not available, and that the run must be made again by the caller.
func (w *Worker) execute(ctx context.Context, j *job) (operators.Outcome, error) {
	w.runs.Add(1)
	w.running.Add(1)
	defer w.running.Add(-1)
	return w.Runtime.execute(ctx, j)
}

// notifier tells people about a task.
type notifier struct {
	runtime  *Runtime
	attempt  *host.Attempt
	revision string
	failure  *host.Failure // nil for none
}

// Notify implements operators.Notifier.
func (n notifier) Notify(ctx context.Context, message string, t *operators.Task) error {
	if n.failure != nil {
		n.failure.Lines = n.runtime.LastLines(ctx, *n.attempt, n.failure.Task)
	}
	return n.runtime.Notices.Notify(ctx, host.Notice{Message: message, Attempt: *n.attempt, Revision: n.revision, Task: t.TaskName, Failure: n.failure})
}

// failureOf is the task that has failed when a task of the engine's own tells people that one has.
func failureOf(s *engine.State, t *engine.Task) *host.Failure {
	if !strings.HasSuffix(t.Name, engine.FailureAlert) {
		return nil
	}
	task, message := s.Failure()
	if task == "" {
		return nil
	}
	return &host.Failure{Task: task, Message: message, Tasks: s.FailedTasks()}
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
