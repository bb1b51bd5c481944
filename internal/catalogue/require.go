package catalogue

import (
	"cmp"
	"context"
	"errors"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// Require starts an attempt for a task's `require>`, or finds the existing one. from is the task's attempt.
func (c *Catalogue) Require(ctx context.Context, from host.Attempt, q operators.StartRequest) (operators.StartedAttempt, error) {
	w, err := c.requiredWorkflow(ctx, from, q)
	if err != nil {
		return operators.StartedAttempt{}, err
	}
	a, err := c.Start(ctx, StartRequest{Site: from.Site, Workflow: w.ID, SessionTime: q.SessionTime,
		RetryName: q.RetryAttemptName, Once: true, Params: param.DataMap(q.Params)})
	var e *host.Error
	switch {
	case err == nil:
		return operators.StartedAttempt{SessionID: a.SessionID, AttemptID: a.ID, New: true}, nil
	case errors.As(err, &e) && e.Existing != nil:
		x := e.Existing
		return operators.StartedAttempt{SessionID: x.SessionID, AttemptID: x.ID, Done: x.Done, Success: x.Success}, nil
	case errors.Is(err, host.ErrTooManyAttempts), errors.Is(err, host.ErrAtLimit):
		return operators.StartedAttempt{}, operators.ErrTooManyAttempts
	case errors.Is(err, host.ErrPaused):
		return operators.StartedAttempt{}, operators.ErrPaused
	}
	return operators.StartedAttempt{}, err
}

// requiredWorkflow finds the newest definition of the requested workflow.
func (c *Catalogue) requiredWorkflow(ctx context.Context, from host.Attempt, q operators.StartRequest) (w host.Workflow, err error) {
	if q.ProjectName != "" {
		w, err = c.Newest(ctx, from.Site, q.ProjectName, q.Workflow)
	} else {
		var p host.Project
		if p, err = c.LivingProject(ctx, from.Site, cmp.Or(q.ProjectID, from.Project.ID)); err == nil {
			w, err = c.newestIn(ctx, p, q.Workflow)
		}
	}
	var missing *host.Error
	if errors.As(err, &missing) {
		return host.Workflow{}, operators.ErrNoWorkflow
	}
	return w, err
}
