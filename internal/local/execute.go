package local

import (
	"context"
	"io"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/execution"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

func (h *Host) acquire() {
	if h.slots != nil {
		h.slots <- struct{}{}
	}
}

func (h *Host) release() {
	if h.slots != nil {
		<-h.slots
	}
}

// job collects everything that a run can see. It reads the state, so it must be called on the attempt's goroutine; the
// contents of the job do not change later.
func (a *Attempt) job(ctx context.Context, run engine.Run) *run.Job {
	h := a.host
	j := execution.JobOf(&h.Runtime, a.State, run.Task, operators.Task{
		Identity: operators.Identity{
			ProjectID: h.Project.ID, ProjectName: h.Project.Name, Revision: h.Project.Revision, Workflow: a.request.Workflow, SessionID: a.session.id,
			SessionUUID: a.session.uuid, SessionTime: a.request.SessionTime, Zone: a.zone, AttemptID: a.ID, RetryAttemptName: a.request.RetryAttemptName,
		},
		Now: a.now, TaskLimit: h.taskLimit(), Notifier: h.Notifier, Variables: h.Variables,
		Workflows: starter(func(_ context.Context, r operators.StartRequest) (operators.StartedAttempt, error) {
			return h.startRequired(ctx, r)
		}),
	})
	j.Log, j.EvalStored = h.Log(j.Identity), a.evalStored
	return j
}

// starter lets a task start other attempts, which live as long as the host's caller wants, not just as long as the run
// that requested them.
type starter func(context.Context, operators.StartRequest) (operators.StartedAttempt, error)

func (s starter) StartAttempt(ctx context.Context, r operators.StartRequest) (operators.StartedAttempt, error) {
	return s(ctx, r)
}

func (h *Host) taskLimit() int {
	if h.Limit == 0 {
		return engine.DefaultLimit
	}
	return h.Limit
}

// execute performs one run, with its own files and secrets.
func (h *Host) execute(ctx context.Context, j *run.Job) run.Outcome {
	if h.Before != nil && !j.Prepare {
		if r := h.Before(j); r != nil {
			j.MarkData(r)
			return run.Outcome{Result: r}
		}
	}
	if c, ok := j.Log.(io.Closer); ok {
		defer c.Close()
	}
	log := h.vault.Log(unclosed{j.Log})
	defer log.Close() // writes the text in its buffer
	j.Log, j.Vault = log, h.vault
	if j.Prepare { // preparing needs no files
		o := run.Run(ctx, h.Registry, h.Evaluator, j)
		o.Error = h.vault.MaskAll(o.Error)
		if o.Prepared != nil && o.Prepared.Outputs != nil {
			o.Prepared.Outputs = h.vault.MaskAll(o.Prepared.Outputs)
		}
		return o
	}
	w, err := h.Workspace(ctx, j.Identity, host.Workflow{})
	if err != nil {
		j.Log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
		return run.Outcome{Error: engine.ErrorObject(err)}
	}
	defer w.Leave()
	j.Files, j.RunFolder, j.Commands = w.Files, w.RunFolder, w.Commands
	o := run.Run(ctx, h.Registry, h.Evaluator, j)
	o.Error = h.vault.MaskAll(o.Error)
	return o
}

// unclosed is a log that its owner closes.
type unclosed struct{ operators.Log }

func (unclosed) Close() error { return nil }

// finish passes a run's outcome to the engine.
func (a *Attempt) finish(ctx context.Context, run engine.Run, o run.Outcome) {
	delete(a.stop, run.Task)
	a.heedKill(ctx)
	a.step(ctx, execution.Result(a.guard(), run, o))
}

// startRequired starts an attempt for `require>`, whose state is read right away.
func (h *Host) startRequired(ctx context.Context, r operators.StartRequest) (operators.StartedAttempt, error) {
	if r.ProjectID != 0 && r.ProjectID != h.Project.ID || r.ProjectName != "" && r.ProjectName != h.Project.Name {
		return operators.StartedAttempt{}, operators.ErrNoWorkflow
	}
	a, fresh, err := h.start(ctx, Request{Workflow: r.Workflow, SessionTime: r.SessionTime,
		RetryAttemptName: r.RetryAttemptName, Params: param.DataMap(r.Params)})
	if err != nil {
		return operators.StartedAttempt{}, err
	}
	done, success := a.result()
	return operators.StartedAttempt{SessionID: a.session.id, AttemptID: a.ID, New: fresh, Done: done, Success: success}, nil
}
