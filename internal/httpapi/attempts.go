package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// attemptOf returns the attempt of the path.
func (c *call) attemptOf(variable string) (host.Attempt, error) {
	n, err := c.id(variable)
	if err != nil {
		return host.Attempt{}, err
	}
	a, err := c.Node.Attempt(c.ctx(), c.actor.Site, n)
	return a, wire.OrMissing(err, "session attempt id=%d", n)
}

// attemptList answers with attempts; a page of none is not asked for.
func (c *call) attemptList(q host.AttemptQuery) (any, error) {
	var list []host.Attempt
	if q.Count > 0 {
		var err error
		q.Bytes = wire.MostListed
		if list, err = c.Node.Attempts(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("attempts", list, wire.AttemptOf), nil
}

func getAttempts(c *call) (any, error) {
	last, size, err := c.page(c.Limits.Attempts)
	if err != nil {
		return nil, err
	}
	q := host.AttemptQuery{Site: c.actor.Site, Retried: c.flag("include_retried"), Before: last, Count: size}
	if project, given := c.arg("project"); given {
		p, err := c.byName(project)
		if err != nil {
			return nil, err
		}
		q.Project = p.ID
		name, byName := c.arg("workflow") // without a project it is ignored, as recorded
		if q.Workflow = name; byName && name == "" {
			q.Count = 0
		}
	}
	return c.attemptList(q)
}

func getAttempt(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	shown, err := c.withPause(c.ctx(), a)
	if err != nil {
		return nil, err
	}
	outputs, err := c.Node.Outputs(c.ctx(), a)
	if err != nil {
		return nil, err
	}
	if outputs != nil {
		shown.Outputs = &wire.Object{Map: outputs}
	}
	return shown, nil
}

// withPause shows an attempt, and who has paused it.
func (c *call) withPause(ctx context.Context, a host.Attempt) (wire.Attempt, error) {
	shown := wire.AttemptOf(a)
	p, err := c.Node.Paused(ctx, a)
	if p != nil {
		shown.Paused = &wire.Paused{By: p.By, At: wire.Moment(p.At), Reason: p.Reason}
	}
	return shown, err
}

func getRetries(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	list, err := c.Node.Attempts(c.ctx(), host.AttemptQuery{Site: c.actor.Site, Session: a.SessionID, Retried: true, Bytes: wire.MostListed})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y host.Attempt) int { return cmp.Compare(x.Index, y.Index) })
	return wire.Collection("attempts", list, wire.AttemptOf), nil
}

// outside says whether the caller's parameters are data: only who may push may give code.
func (c *call) outside() bool { return c.actor.Role < Admin }

func startAttempt(c *call) (any, error) {
	r, err := c.startRequest()
	if err != nil {
		return nil, err
	}
	a, err := c.Node.Start(c.ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", r.Workflow)
	}
	c.target = "attempt " + strconv.FormatInt(a.ID, 10)
	shown := wire.AttemptOf(a)
	shown.Warnings = c.Node.StartWarnings(c.ctx(), c.actor.Site, r.Workflow, r.Params)
	return shown, nil
}

// checkStart answers as startAttempt does, and starts nothing.
func checkStart(c *call) (any, error) {
	r, err := c.startRequest()
	if err != nil {
		return nil, err
	}
	p, err := c.Node.PlanStart(c.ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", r.Workflow)
	}
	return wire.StartPlan{Params: wire.Object{Map: p.Params}, Warnings: slices.Concat([]string{}, p.Warnings)}, nil
}

// startRequest reads the body of a start.
func (c *call) startRequest() (catalogue.StartRequest, error) {
	var b wire.StartBody
	c.mostBody = wire.MostStart
	if err := c.read(&b, false); err != nil {
		return catalogue.StartRequest{}, err
	}
	if err := b.Check(); err != nil {
		return catalogue.StartRequest{}, err
	}
	r := catalogue.StartRequest{Site: c.actor.Site, Workflow: int64(*b.WorkflowID), SessionTime: b.SessionTime.Truncate(time.Second),
		Params: b.Params, Resume: b.Resume.Request(), Labels: b.Labels, Outside: c.outside()}
	if b.RetryAttemptName != nil {
		r.RetryName = string(*b.RetryAttemptName)
	}
	if b.Priority != nil {
		r.Priority = *b.Priority
	}
	if b.At != nil {
		r.At = b.At.Time
	}
	c.target = "workflow " + strconv.FormatInt(r.Workflow, 10)
	return r, nil
}

func killAttempt(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	c.target = "attempt " + c.vars["id"]
	before, err := c.Node.Kill(c.ctx(), c.actor.Site, a.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "session attempt id=%d", a.ID)
	}
	return wire.AttemptOf(before), nil
}

// reason reads why something is paused, from a body that may be missing.
func (c *call) reason() (string, error) {
	var b struct {
		Reason *string `json:"reason"`
	}
	if err := c.read(&b, true); err != nil || b.Reason == nil {
		return "", err
	}
	c.why = *b.Reason
	return c.why, nil
}

func pauseAttempt(c *call) (any, error) {
	reason, err := c.reason()
	if err != nil {
		return nil, err
	}
	return c.changePause(func(a host.Attempt) (host.Attempt, error) {
		return c.Node.Pause(c.ctx(), a.Site, a.ID, c.actor.Name, reason)
	})
}

func unpauseAttempt(c *call) (any, error) {
	return c.changePause(func(a host.Attempt) (host.Attempt, error) { return c.Node.Unpause(c.ctx(), a.Site, a.ID) })
}

func (c *call) changePause(change func(host.Attempt) (host.Attempt, error)) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	c.target = "attempt " + c.vars["id"]
	before, err := change(a)
	if err != nil {
		return nil, wire.OrMissing(err, "session attempt id=%d", a.ID)
	}
	return c.withPause(c.ctx(), before)
}

func forkAttempt(c *call) (any, error) {
	var b wire.ForkBody
	c.mostBody = wire.MostStart
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	switch {
	case b.Seq == nil:
		return nil, wire.NotSet("seq")
	case b.RetryAttemptName == nil || *b.RetryAttemptName == "":
		return nil, wire.NotSet("retryAttemptName")
	}
	if err := catalogue.CheckRetryName(*b.RetryAttemptName); err != nil {
		return nil, err
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	c.target = "attempt " + c.vars["id"]
	fork, err := c.Node.Fork(c.ctx(), a, catalogue.ForkRequest{Seq: int64(*b.Seq), RetryName: *b.RetryAttemptName, Params: b.Params, Outside: c.outside()})
	if err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", *b.Seq, a.ID)
	}
	c.target += " as attempt " + strconv.FormatInt(fork.ID, 10)
	return wire.AttemptOf(fork), nil
}
