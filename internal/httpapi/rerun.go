package httpapi

import (
	"strconv"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

type rerunBody struct {
	Mode             *string    `json:"mode"`
	From             *words     `json:"from"`
	Seq              *whole     `json:"seq"`
	Only             *words     `json:"only"`
	Until            *words     `json:"until"`
	MarkSuccess      []words    `json:"markSuccess"`
	Revision         *string    `json:"revision"`
	RetryAttemptName *words     `json:"retryAttemptName"`
	Params           *param.Map `json:"params"`
	Priority         *string    `json:"priority"`
	DryRun           choice     `json:"dryRun"`
}

// request checks the body; a name is made where it has none.
func (b *rerunBody) request() (catalogue.RerunRequest, error) {
	r := catalogue.RerunRequest{RetryName: host.NewUUID(), Params: b.Params}
	switch {
	case b.Mode == nil:
		return r, notSet("mode")
	case *b.Mode == "from" && b.From == nil:
		return r, notSet("from")
	case *b.Mode == "fork" && b.Seq == nil:
		return r, notSet("seq")
	case *b.Mode != "from" && b.From != nil, *b.Mode != "fork" && b.Seq != nil:
		return r, invalid("from goes with mode from, seq with mode fork")
	case (*b.Mode == "only") != (b.Only != nil), b.Only != nil && *b.Only == "":
		return r, invalid("mode only needs only, the task that runs, and no other mode has it")
	case b.Until != nil && *b.Until == "":
		return r, invalid("until is the name of a task")
	case *b.Mode == "fork" && (b.Until != nil || b.MarkSuccess != nil), *b.Mode == "only" && b.Until != nil:
		return r, invalid("until goes with the modes failed, from and all, markSuccess with these and with only")
	case len(b.MarkSuccess) > mostMarked:
		return r, invalid("markSuccess has more than %d tasks", mostMarked)
	}
	r.Mode, r.Part = *b.Mode, b.part()
	if b.Priority != nil {
		r.Priority = *b.Priority
	}
	if b.From != nil {
		r.From = string(*b.From)
	}
	if b.Seq != nil {
		r.Seq = int64(*b.Seq)
	}
	if b.RetryAttemptName != nil {
		r.RetryName = string(*b.RetryAttemptName)
		return r, catalogue.CheckRetryName(r.RetryName)
	}
	return r, nil
}

// mostMarked is how many tasks one request may mark as success: a group of them is one.
const mostMarked = 100

func (b *rerunBody) part() (p engine.Part) {
	if b.Only != nil {
		p.Only = string(*b.Only)
	}
	if b.Until != nil {
		p.Until = string(*b.Until)
	}
	for _, t := range b.MarkSuccess {
		p.Done = append(p.Done, string(t))
	}
	return p
}

type restRerun struct {
	Attempt *restAttempt   `json:"attempt"` // that was started; null for a dry run
	Plan    *restRerunPlan `json:"plan"`    // of a dry run
}

type restRerunPlan struct {
	Workflow idName         `json:"workflow"`
	Revision string         `json:"revision"`
	Carried  restRerunTasks `json:"carried"`
	Runs     restRerunTasks `json:"runs"`
	Gone     int            `json:"gone"`
}

type restRerunTasks struct {
	Total int             `json:"total"`
	Rows  []restRerunTask `json:"rows"`
}

type restRerunTask struct {
	Name  string `json:"name"`
	Group bool   `json:"group"`
	Made  bool   `json:"made"`
	Took  int64  `json:"took"`

	Skipped    string   `json:"skipped,omitempty"`
	Parameters []string `json:"parameters,omitempty"`
}

// Bounds of each list of a plan.
const (
	mostRerunRows  = 2000
	mostRerunBytes = 1 << 20
)

func rerunTasks(list []catalogue.RerunTask) restRerunTasks {
	shown, bytes := list[:min(len(list), mostRerunRows)], 0
	for i, t := range shown {
		bytes += len(t.Name)
		for _, name := range t.Parameters {
			bytes += len(name)
		}
		if bytes > mostRerunBytes {
			shown = shown[:i]
			break
		}
	}
	return restRerunTasks{len(list), each(shown, func(t catalogue.RerunTask) restRerunTask {
		return restRerunTask{t.Name, t.Group, t.Made, t.Took.Milliseconds(), t.Skipped, t.Parameters}
	})}
}

func rerunAttempt(c *call) (any, error) {
	var b rerunBody
	c.mostBody = mostStart
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.request()
	if err != nil {
		return nil, err
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	r.Outside, c.dry, c.target = c.outside(), b.DryRun.yes, "attempt "+c.vars["id"]
	if b.Revision != nil {
		if r.Workflow, err = c.workflowIn(a, *b.Revision); err != nil {
			return nil, err
		}
	}
	if b.DryRun.yes {
		p, err := c.Node.PlanRerun(c.ctx(), a, r)
		if err != nil {
			return nil, found(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
		}
		return restRerun{Plan: &restRerunPlan{idName{id(p.Workflow.ID), p.Workflow.Name}, p.Workflow.Revision.Name, rerunTasks(p.Carried), rerunTasks(p.Runs), p.Gone}}, nil
	}
	started, err := c.Node.Rerun(c.ctx(), a, r)
	if err != nil {
		return nil, found(err, "entry seq=%d of session attempt id=%d", r.Seq, a.ID)
	}
	c.target += " as attempt " + strconv.FormatInt(started.ID, 10)
	shown := attempt(started)
	shown.Warnings = c.Node.StartWarnings(c.ctx(), started.Site, started.Workflow.ID, r.Params)
	return restRerun{Attempt: &shown}, nil
}

// workflowIn is the definition of an attempt's workflow in another revision; "" is the newest.
func (c *call) workflowIn(a host.Attempt, revision string) (int64, error) {
	p, err := c.Node.Project(c.ctx(), c.actor.Site, a.Project.ID)
	if err != nil {
		return 0, found(err, "project id=%d", a.Project.ID)
	}
	r := p.Latest
	if revision != "" {
		list, err := c.Node.Revisions(c.ctx(), host.RevisionQuery{Site: c.actor.Site, Project: p.ID, Name: revision, Count: 1})
		if err != nil {
			return 0, err
		}
		if len(list) == 0 {
			return 0, missing("revision name=%s in project id=%d", revision, p.ID)
		}
		r = list[0]
	}
	w, err := c.definition(r, a.Workflow.Name)
	return w.ID, err
}
