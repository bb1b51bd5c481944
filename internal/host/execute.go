package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Inline says whether a task's operator does no I/O, as far as its text tells.
func Inline(r operators.Registry, t *engine.Task) bool { return written(r, t).Inline }

// written is a task's operator, as far as its text tells.
func written(r operators.Registry, t *engine.Task) operators.Operator {
	for k, v := range t.Config.All() {
		if k == "_type" {
			name, _ := v.(string)
			return r[name]
		}
		if strings.HasSuffix(k, ">") {
			return r[k[:len(k)-1]]
		}
	}
	return operators.Operator{}
}

// job is a run with what it needs of its attempt, which may be loaded anew meanwhile.
type job struct {
	*operators.Job
	workflow Workflow
	created  time.Time
	near     []operators.Sandbox // where the commands after it will run
	hidden   bool                // its parameters may hold secrets
	silent   bool                // its log is kept from an earlier try whose result was not
}

// job collects what a run can see; what it holds is frozen. The lock is held.
func (h *Host) job(l *live, run engine.Run, now time.Time) *job {
	row := l.row
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
			Identity: id, State: t.Progress.Params, Now: now, TaskLimit: h.Limits.Tasks,
			Store: h.paramStore(a.Site), Notifier: notifier{h, a, l.workflow.Revision.Name}, HTTP: h.HTTP, Network: h.Network,
			Config: h.Config, Workflows: required{h, a},
		},
		Own:    t.Config,
		Vars:   l.state.ParamsOf(t.ID),
		Scope:  expr.Scope{Zone: id.SessionTime.Location(), Now: now, Seed: Seed(id)},
		Cancel: t.Cancel, EvalStored: h.Stored.Evaluated(l.workflow.Config),
	}}
}

// Seed makes Math.random repeatable per run (invariants.md 4.6).
func Seed(id operators.Identity) uint64 {
	f := fnv.New64a()
	fmt.Fprintf(f, "%s/%d/%d", id.SessionUUID, id.TaskID, id.Dispatch)
	return f.Sum64()
}

// execute does one run, with files, log and secrets of its own. The error says that the store was
// not available before anything was done.
func (h *Host) execute(ctx context.Context, j *job) (operators.Outcome, error) {
	h.stats.tasks.Add(1)
	h.stats.running.Add(1)
	defer h.stats.running.Add(-1)
	vault, err := h.vaultOf(ctx, j.SiteID, j.ProjectID, j.hidden)
	if errors.Is(err, ErrUnavailable) {
		return operators.Outcome{}, fmt.Errorf("read secrets: %w", err)
	}
	logs := h.Logs
	if j.silent {
		logs = NoLogs{}
	}
	log := vault.Log(logs.Open(j.Identity, j.created))
	defer log.Close()
	j.Log, j.Vault = log, vault
	var w Workspace
	if err == nil {
		w, err = h.Workspace(ctx, j.Identity, j.workflow)
	}
	if err != nil {
		log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
		return operators.Outcome{Error: engine.ErrorObject(err)}, nil
	}
	defer w.Leave()
	j.Files, j.Commands = w.Files, w.Commands
	o := h.Registry.Run(ctx, h.Evaluator, j.Job)
	o.Error = vault.MaskAll(o.Error)
	if o.Result != nil {
		o.Result.Secret = len(vault.values()) > 0
	}
	return o, nil
}

// Result is the event for the engine of how a run ended.
func Result(by engine.By, run engine.Run, o operators.Outcome) engine.Event {
	switch {
	case o.Later != nil:
		return engine.Later{By: by, Run: run, After: o.Later.After, State: o.Later.State}
	case o.Error != nil:
		return engine.Errored{By: by, Run: run, Error: o.Error}
	}
	r := o.Result
	return engine.Succeeded{By: by, Run: run, Result: engine.Outcome{Subtasks: r.Subtasks,
		Exports: r.Export, Stores: r.Store, ResetStore: r.ResetStore, Secret: r.Secret}}
}

// notifier tells people about a task.
type notifier struct {
	host     *Host
	attempt  *Attempt
	revision string
}

func (n notifier) Notify(ctx context.Context, message string, t *operators.Task) error {
	return n.host.Notices.Notify(ctx, Notice{Message: message, Attempt: *n.attempt, Revision: n.revision, Task: t.TaskName})
}

// required starts attempts for `require>`.
type required struct {
	host *Host
	from *Attempt
}

// StartAttempt implements operators.Workflows.
func (r required) StartAttempt(ctx context.Context, q operators.StartRequest) (operators.StartedAttempt, error) {
	w, err := r.host.requiredWorkflow(ctx, r.from, q)
	if err != nil {
		return operators.StartedAttempt{}, err
	}
	a, err := r.host.Start(ctx, StartRequest{Site: r.from.Site, Workflow: w.ID, SessionTime: q.SessionTime,
		RetryName: q.RetryAttemptName, Params: param.DataMap(q.Params)})
	var e *Error
	switch {
	case err == nil:
		return operators.StartedAttempt{SessionID: a.SessionID, AttemptID: a.ID, New: true}, nil
	case errors.As(err, &e) && e.Existing != nil:
		x := e.Existing
		return operators.StartedAttempt{SessionID: x.SessionID, AttemptID: x.ID, Done: x.Done, Success: x.Success}, nil
	case errors.Is(err, errTooManyAttempts):
		return operators.StartedAttempt{}, operators.ErrTooManyAttempts
	}
	return operators.StartedAttempt{}, err
}

// requiredWorkflow finds the newest definition of the workflow that is asked for.
func (h *Host) requiredWorkflow(ctx context.Context, from *Attempt, q operators.StartRequest) (w Workflow, err error) {
	if q.ProjectName != "" {
		w, err = h.Newest(ctx, from.Site, q.ProjectName, q.Workflow)
	} else {
		var p Project
		if p, err = h.LivingProject(ctx, from.Site, cmp.Or(q.ProjectID, from.Project.ID)); err == nil {
			w, err = h.newestIn(ctx, p, q.Workflow)
		}
	}
	var missing *Error
	if errors.As(err, &missing) {
		return Workflow{}, operators.ErrNoWorkflow
	}
	return w, err
}
