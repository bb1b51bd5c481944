package delivery

import (
	"context"
	"errors"
	"fmt"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/vault"
	"zerodag/operators"
	"zerodag/operators/run"
)

// execute performs one run, with separate files, log and secrets. An error means that a store was not available, and
// that the caller must retry the run.
func (w *Worker) execute(ctx context.Context, j *job) (run.Outcome, error) {
	w.runs.Add(1)
	w.running.Add(1)
	defer w.running.Add(-1)
	secrets, err := vault.Of(ctx, w.Secrets, j.SiteID, j.ProjectID, j.hidden)
	if later := j.Postponed(err); later != nil {
		return j.waiting(later) // the secrets that must be masked in the log are unknown
	}
	logs := w.Logs
	if j.silent {
		logs = host.NoLogs{}
	}
	log := secrets.Log(logs.Open(j.Identity, j.created))
	j.Log, j.Vault = log, secrets
	o, err := w.logged(ctx, j, secrets, err)
	o.LogIncomplete = log.Close() != nil
	return o, err
}

// logged is execute with an open log. If secrets are missing, err is the reason.
func (w *Worker) logged(ctx context.Context, j *job, secrets *vault.Vault, err error) (run.Outcome, error) {
	if j.Prepare { // preparing needs no files
		if over, err := j.beginning(ctx); err != nil || over {
			return w.ended(j, err)
		}
		o := run.Run(ctx, w.Registry, w.Evaluator, j.Job)
		o.Error = secrets.MaskAll(o.Error)
		return o, nil
	}
	var space host.Workspace
	if err == nil {
		space, err = w.Workspace(ctx, j.Identity, j.workflow)
	}
	if later := j.Postponed(err); later != nil {
		return j.waiting(later)
	}
	if err != nil {
		j.Log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
		return run.Outcome{Error: engine.ErrorObject(err)}, nil
	}
	defer space.Leave()
	j.Files, j.RunFolder, j.Commands = space.Files, space.RunFolder, space.Commands
	if over, err := j.beginning(ctx); err != nil || over {
		return w.ended(j, err)
	}
	o := run.Run(ctx, w.Registry, w.Evaluator, j.Job)
	if o.Error != nil && space.Wrong != nil {
		if later := j.Postponed(space.Wrong()); later != nil {
			return j.waiting(later)
		}
	}
	if o.Later != nil && errors.Is(o.Later.Err, host.ErrUnavailable) {
		return j.waiting(o.Later)
	}
	o.Error = secrets.MaskAll(o.Error)
	if o.Result != nil {
		o.Result.Secret = secrets.Gave()
	}
	return o, nil
}

// beginning is called when the run has everything that it needs. over means that the run was ended before it began.
func (j *job) beginning(ctx context.Context) (over bool, err error) {
	if j.begins == nil {
		return false, nil
	}
	err = j.begins(ctx)
	if errors.Is(err, operators.ErrEnded) {
		return true, nil
	}
	return false, err
}

// ended returns the outcome of a run that did not begin because of a kill. It requests another run, which the engine
// turns into a cleanup after the earlier runs.
func (w *Worker) ended(j *job, err error) (run.Outcome, error) {
	switch {
	case err != nil:
		return run.Outcome{}, err
	case j.Prepare || run.LeavesNothing(w.Registry, j.Job):
		return run.Outcome{Error: engine.ErrorObject(operators.ErrEnded)}, nil
	}
	return run.Outcome{Later: &operators.Later{State: j.State}}, nil
}

// waiting returns the outcome of a run for which a store was unavailable: the run is retried later. For a run that
// cleans up after a kill it returns an error instead, because the engine does not let such a run wait; the caller
// retries it.
func (j *job) waiting(later *operators.Later) (run.Outcome, error) {
	if j.Cancel {
		return run.Outcome{}, fmt.Errorf("clean up after the kill: %w", later.Err)
	}
	return run.Outcome{Later: later}, nil
}
