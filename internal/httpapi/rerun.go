package httpapi

import (
	"strconv"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

func rerunAttempt(c *call) (any, error) {
	var b wire.RerunBody
	c.mostBody = wire.MostStart
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.Request()
	if err != nil {
		return nil, err
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	r.Outside, c.dry, c.target = c.outside(), b.DryRun.Yes, "attempt "+c.vars["id"]
	if b.Revision != nil {
		if r.Workflow, err = c.workflowIn(a, *b.Revision); err != nil {
			return nil, err
		}
	}
	if b.DryRun.Yes {
		p, err := c.Node.PlanRerun(c.ctx(), a, r)
		if err != nil {
			return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
		}
		return wire.Rerun{Plan: &wire.RerunPlan{Workflow: wire.IDName{ID: wire.ID(p.Workflow.ID), Name: p.Workflow.Name}, Revision: p.Workflow.Revision.Name, Carried: wire.RerunTasksOf(p.Carried), Runs: wire.RerunTasksOf(p.Runs), Gone: p.Gone}}, nil
	}
	started, err := c.Node.Rerun(c.ctx(), a, r)
	if err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
	}
	c.target += " as attempt " + strconv.FormatInt(started.ID, 10)
	shown := wire.AttemptOf(started)
	shown.Warnings = c.Node.StartWarnings(c.ctx(), started.Site, started.Workflow.ID, r.Params)
	return wire.Rerun{Attempt: &shown}, nil
}

// workflowIn is the definition of an attempt's workflow in another revision; "" is the newest.
func (c *call) workflowIn(a host.Attempt, revision string) (int64, error) {
	p, err := c.Node.Project(c.ctx(), c.actor.Site, a.Project.ID)
	if err != nil {
		return 0, wire.OrMissing(err, "project id=%d", a.Project.ID)
	}
	r := p.Latest
	if revision != "" {
		list, err := c.Node.Revisions(c.ctx(), host.RevisionQuery{Site: c.actor.Site, Project: p.ID, Name: revision, Count: 1})
		if err != nil {
			return 0, err
		}
		if len(list) == 0 {
			return 0, wire.Missing("revision name=%s in project id=%d", revision, p.ID)
		}
		r = list[0]
	}
	w, err := c.definition(r, a.Workflow.Name)
	return w.ID, err
}
