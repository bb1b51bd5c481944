package catalogue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// Require starts an attempt for `require>` of a task of from, or finds the one that is there.
func (c *Catalogue) Require(ctx context.Context, from host.Attempt, q operators.StartRequest) (operators.StartedAttempt, error) {
	w, err := c.requiredWorkflow(ctx, from, q)
	if err != nil {
		return operators.StartedAttempt{}, err
	}
	if err := c.known(ctx, w, q.SessionTime); err != nil {
		return operators.StartedAttempt{}, err
	}
	a, err := c.Start(ctx, StartRequest{Site: from.Site, Workflow: w.ID, SessionTime: q.SessionTime,
		RetryName: q.RetryAttemptName, Params: param.DataMap(q.Params)})
	var e *host.Error
	switch {
	case err == nil:
		return operators.StartedAttempt{SessionID: a.SessionID, AttemptID: a.ID, New: true}, nil
	case errors.As(err, &e) && e.Existing != nil:
		x := e.Existing
		return operators.StartedAttempt{SessionID: x.SessionID, AttemptID: x.ID, Done: x.Done, Success: x.Success}, nil
	case errors.Is(err, host.ErrTooManyAttempts):
		return operators.StartedAttempt{}, operators.ErrTooManyAttempts
	}
	return operators.StartedAttempt{}, err
}

// known is an error about a session that may have been and was removed: to start it would be to run it
// twice.
func (c *Catalogue) known(ctx context.Context, w host.Workflow, session time.Time) error {
	keep := c.o.Limits.KeepAttempts
	session = session.Truncate(time.Second)
	if keep <= 0 || !session.Before(c.o.Now().Add(-keep)) {
		return nil
	}
	last, err := c.o.Sessions.LastSession(ctx, w.Project.ID, w.Name, session.Add(time.Second))
	if err != nil || last.Equal(session) {
		return err
	}
	return host.Invalidf("the session %s of workflow %s is older than what is kept (%v), so it is not known whether it ran: start it by hand if it should", session.UTC().Format(time.RFC3339), w.Name, keep)
}

// requiredWorkflow finds the newest definition of the workflow that is asked for.
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
