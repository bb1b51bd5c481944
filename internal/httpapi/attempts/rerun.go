package attempts

import (
	"strconv"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func rerunAttempt(c *endpoint.Call) (any, error) {
	var b wire.RerunBody
	c.MostBody = wire.MostStart
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.Request()
	if err != nil {
		return nil, err
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	r.Outside, c.Dry, c.Target = c.Outside(), b.DryRun.Yes, "attempt "+c.Vars["id"]
	if b.Revision != nil {
		if r.Workflow, err = workflowIn(c, a, *b.Revision); err != nil {
			return nil, err
		}
	}
	if b.DryRun.Yes {
		p, err := c.Node.PlanRerun(c.Ctx(), a, r)
		if err != nil {
			return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
		}
		return wire.Rerun{Plan: &wire.RerunPlan{Workflow: wire.IDName{ID: wire.ID(p.Workflow.ID), Name: p.Workflow.Name}, Revision: p.Workflow.Revision.Name, Carried: wire.RerunTasksOf(p.Carried), Runs: wire.RerunTasksOf(p.Runs), Gone: p.Gone}}, nil
	}
	started, err := c.Node.Rerun(c.Ctx(), a, r)
	if err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
	}
	c.Target += " as attempt " + strconv.FormatInt(started.ID, 10)
	shown := wire.AttemptOf(started)
	shown.Warnings = c.Node.StartWarnings(c.Ctx(), started.Site, started.Workflow.ID, r.Params)
	return wire.Rerun{Attempt: &shown}, nil
}

// workflowIn returns the definition of an attempt's workflow in another revision; "" means the newest.
func workflowIn(c *endpoint.Call, a host.Attempt, revision string) (int64, error) {
	p, err := c.Node.Project(c.Ctx(), c.Actor.Site, a.Project.ID)
	if err != nil {
		return 0, wire.OrMissing(err, "project id=%d", a.Project.ID)
	}
	r := p.Latest
	if revision != "" {
		if r, err = c.RevisionNamed(p.ID, revision); err != nil {
			return 0, err
		}
	}
	w, err := c.Definition(r, a.Workflow.Name)
	return w.ID, err
}
