package attempts

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// attemptList responds with attempts; for a page size of 0 it does not query the store.
func attemptList(c *endpoint.Call, q host.AttemptQuery) (any, error) {
	var list []host.Attempt
	if q.Count > 0 {
		var err error
		q.Bytes = wire.MostListed
		if list, err = c.Node.Attempts(c.Ctx(), q); err != nil {
			return nil, err
		}
	}
	return wire.Collection("attempts", list, wire.AttemptOf), nil
}

func getAttempts(c *endpoint.Call) (any, error) {
	last, size, err := c.Page(c.Limits.Attempts)
	if err != nil {
		return nil, err
	}
	q := host.AttemptQuery{Site: c.Actor.Site, Retried: c.Flag("include_retried"), Before: last, Count: size}
	if project, given := c.Arg("project"); given {
		p, err := c.ProjectNamed(project)
		if err != nil {
			return nil, err
		}
		q.Project = p.ID
		name, byName := c.Arg("workflow") // ignored without a project, as in Digdag's recorded responses
		if q.Workflow = name; byName && name == "" {
			q.Count = 0
		}
	}
	return attemptList(c, q)
}

func getAttempt(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	shown, err := withPause(c.Ctx(), c, a)
	if err != nil {
		return nil, err
	}
	outputs, err := c.Node.Outputs(c.Ctx(), a)
	if err != nil {
		return nil, err
	}
	if outputs != nil {
		shown.Outputs = &wire.Object{Map: outputs}
	}
	return shown, nil
}

// withPause shows an attempt and who paused it.
func withPause(ctx context.Context, c *endpoint.Call, a host.Attempt) (wire.Attempt, error) {
	shown := wire.AttemptOf(a)
	p, err := c.Node.Paused(ctx, a)
	if p != nil {
		shown.Paused = &wire.Paused{By: p.By, At: wire.Moment(p.At), Reason: p.Reason}
	}
	return shown, err
}

func getRetries(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	list, err := c.Node.Attempts(c.Ctx(), host.AttemptQuery{Site: c.Actor.Site, Session: a.SessionID, Retried: true, Bytes: wire.MostListed})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y host.Attempt) int { return cmp.Compare(x.Index, y.Index) })
	return wire.Collection("attempts", list, wire.AttemptOf), nil
}

func startAttempt(c *endpoint.Call) (any, error) {
	r, err := startRequest(c)
	if err != nil {
		return nil, err
	}
	a, err := c.Node.Start(c.Ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", r.Workflow)
	}
	c.Target = "attempt " + strconv.FormatInt(a.ID, 10)
	shown := wire.AttemptOf(a)
	shown.Warnings = c.Node.StartWarnings(c.Ctx(), c.Actor.Site, r.Workflow, r.Params)
	return shown, nil
}

// checkStart responds like startAttempt, but starts nothing.
func checkStart(c *endpoint.Call) (any, error) {
	r, err := startRequest(c)
	if err != nil {
		return nil, err
	}
	p, err := c.Node.PlanStart(c.Ctx(), r)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", r.Workflow)
	}
	return wire.StartPlan{Params: wire.Object{Map: p.Params}, Warnings: append([]string{}, p.Warnings...)}, nil
}

// startRequest reads the body of a start.
func startRequest(c *endpoint.Call) (catalogue.StartRequest, error) {
	var b wire.StartBody
	c.MostBody = wire.MostStart
	if err := c.Read(&b, false); err != nil {
		return catalogue.StartRequest{}, err
	}
	if err := b.Check(); err != nil {
		return catalogue.StartRequest{}, err
	}
	r := catalogue.StartRequest{Site: c.Actor.Site, Workflow: int64(*b.WorkflowID), SessionTime: b.SessionTime.Truncate(time.Second),
		Params: b.Params, Resume: b.Resume.Request(), Labels: b.Labels, Outside: c.Outside()}
	if b.RetryAttemptName != nil {
		r.RetryName = string(*b.RetryAttemptName)
	}
	if b.Priority != nil {
		r.Priority = *b.Priority
	}
	if b.At != nil {
		r.At = b.At.Time
	}
	c.Target = "workflow " + strconv.FormatInt(r.Workflow, 10)
	return r, nil
}

func killAttempt(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	c.Target = "attempt " + c.Vars["id"]
	before, err := c.Node.Kill(c.Ctx(), c.Actor.Site, a.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "session attempt id=%d", a.ID)
	}
	return wire.AttemptOf(before), nil
}

func pauseAttempt(c *endpoint.Call) (any, error) {
	reason, err := c.Reason()
	if err != nil {
		return nil, err
	}
	return changePause(c, func(a host.Attempt) (host.Attempt, error) {
		return c.Node.Pause(c.Ctx(), a.Site, a.ID, c.Actor.Name, reason)
	})
}

func unpauseAttempt(c *endpoint.Call) (any, error) {
	return changePause(c, func(a host.Attempt) (host.Attempt, error) { return c.Node.Unpause(c.Ctx(), a.Site, a.ID) })
}

func changePause(c *endpoint.Call, change func(host.Attempt) (host.Attempt, error)) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	c.Target = "attempt " + c.Vars["id"]
	before, err := change(a)
	if err != nil {
		return nil, wire.OrMissing(err, "session attempt id=%d", a.ID)
	}
	return withPause(c.Ctx(), c, before)
}

func forkAttempt(c *endpoint.Call) (any, error) {
	var b wire.ForkBody
	c.MostBody = wire.MostStart
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	switch {
	case b.Seq == nil:
		return nil, wire.NotSet("seq")
	case b.RetryAttemptName == nil || *b.RetryAttemptName == "":
		return nil, wire.NotSet("retryAttemptName")
	}
	if err := names.Retry(*b.RetryAttemptName); err != nil {
		return nil, err
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	c.Target = "attempt " + c.Vars["id"]
	fork, err := c.Node.Fork(c.Ctx(), a, catalogue.ForkRequest{Seq: int64(*b.Seq), RetryName: *b.RetryAttemptName, Params: b.Params, Outside: c.Outside()})
	if err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", *b.Seq, a.ID)
	}
	c.Target += " as attempt " + strconv.FormatInt(fork.ID, 10)
	return wire.AttemptOf(fork), nil
}

func getCause(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	task, message, err := c.Console.Cause(c.Ctx(), a)
	if err != nil {
		return nil, err
	}
	answer := wire.Cause{Task: wire.TextOrNull(task), Message: wire.TextOrNull(wire.Beginning(message)), Lines: []string{}}
	if task != "" {
		answer.Lines = append(answer.Lines, c.Node.LastLines(c.Ctx(), a, task)...)
	}
	return answer, nil
}
