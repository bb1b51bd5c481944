package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
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
	// LastLines are the last lines that a task printed, for people who are told that it failed.
	LastLines func(ctx context.Context, a host.Attempt, task string) []string
	// Config is the system configuration below "config.", for operators.
	Config *param.Map
	// Stored says whose stored values are evaluated again: those of projects that ask for it.
	Stored operators.Stored
	// Steady is the time by a clock that is never set; nil: there is none.
	Steady func() time.Time
	// Workspace gives one run of a task the project's files.
	Workspace func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error)
	// Prewarm is told, when the task of id begins, of a sandbox that is slow to start and in which
	// a command is likely to run after that task.
	Prewarm func(ctx context.Context, id operators.Identity, s operators.Sandbox)
}

func (r *Runtime) execute(ctx context.Context, j *job) (operators.Outcome, error) {
	secrets, err := vault.Of(ctx, r.Secrets, j.SiteID, j.ProjectID, j.hidden)
	if later := j.Postponed(err); later != nil {
		return j.waiting(later) // what is to be left out of the log is not known
	}
	logs := r.Logs
	if j.silent {
		logs = host.NoLogs{}
	}
	log := secrets.Log(logs.Open(j.Identity, j.created))
	j.Log, j.Vault = log, secrets
	o, err := r.logged(ctx, j, secrets, err)
	o.LogIncomplete = log.Close() != nil
	return o, err
}

// logged is execute with a log that is open. secrets may be missing for the reason err.
func (r *Runtime) logged(ctx context.Context, j *job, secrets *vault.Vault, err error) (operators.Outcome, error) {
	if j.Prepare { // which needs no files
		if over, err := j.beginning(ctx); err != nil || over {
			return r.ended(j, err)
		}
		o := r.Registry.Run(ctx, r.Evaluator, j.Job)
		o.Error = secrets.MaskAll(o.Error)
		return o, nil
	}
	var space host.Workspace
	if err == nil {
		space, err = r.Workspace(ctx, j.Identity, j.workflow)
	}
	if later := j.Postponed(err); later != nil {
		return j.waiting(later)
	}
	if err != nil {
		j.Log.Line(operators.Error, "OperatorManager", "Task failed with unexpected error: "+err.Error())
		return operators.Outcome{Error: engine.ErrorObject(err)}, nil
	}
	defer space.Leave()
	j.Files, j.Commands = space.Files, space.Commands
	if over, err := j.beginning(ctx); err != nil || over {
		return r.ended(j, err)
	}
	o := r.Registry.Run(ctx, r.Evaluator, j.Job)
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

// beginning is called when all is there that the run needs. over: it was ended before it began.
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

// ended is the outcome of a run that a kill kept from beginning. It asks for another run, which the engine turns into a run that
// cleans up after the earlier ones.
func (r *Runtime) ended(j *job, err error) (operators.Outcome, error) {
	switch {
	case err != nil:
		return operators.Outcome{}, err
	case j.Prepare || r.Registry.LeavesNothing(j.Job):
		return operators.Outcome{Error: engine.ErrorObject(operators.ErrEnded)}, nil
	}
	return operators.Outcome{Later: &operators.Later{State: j.State}}, nil
}

// waiting is the end of a run that met a store which was away: it is made again later. One that
// cleans up after a kill is not, since the engine does not let it wait: its caller does.
func (j *job) waiting(later *operators.Later) (operators.Outcome, error) {
	if j.Cancel {
		return operators.Outcome{}, fmt.Errorf("clean up after the kill: %w", later.Err)
	}
	return operators.Outcome{Later: later}, nil
}
