package httpapi

import (
	"strconv"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// fillBody asks for a backfill that is one thing.
type fillBody struct {
	WorkflowID *whole     `json:"workflowId"`
	Name       *words     `json:"name"`
	From       string     `json:"from"`
	To         string     `json:"to"`
	Count      *whole     `json:"count"`
	Dates      []string   `json:"dates"`
	Every      string     `json:"every"`
	Parallel   *whole     `json:"parallel"`
	Order      string     `json:"order"`
	Existing   string     `json:"existing"`
	Priority   string     `json:"priority"`
	Params     *param.Map `json:"params"`
	DryRun     choice     `json:"dryRun"`
}

// request checks the body; a name is made where it has none.
func (b *fillBody) request() (catalogue.FillRequest, error) {
	r := catalogue.FillRequest{Name: host.NewUUID(), From: b.From, To: b.To, Dates: b.Dates, Every: b.Every, Order: b.Order, Existing: b.Existing, Priority: b.Priority, Params: b.Params}
	if b.WorkflowID == nil {
		return r, notSet("workflowId")
	}
	r.Workflow = int64(*b.WorkflowID)
	if b.Name != nil {
		r.Name = string(*b.Name)
	}
	for _, n := range []struct {
		name  string
		given *whole
		to    *int
	}{{"count", b.Count, &r.Count}, {"parallel", b.Parallel, &r.Parallel}} {
		if n.given == nil {
			continue
		}
		if *n.to = int(*n.given); *n.to < 1 {
			return r, invalid("%s must be 1 or more but is %d", n.name, *n.given)
		}
	}
	return r, nil
}

type restFill struct {
	ID             id            `json:"id"`
	Name           string        `json:"name"`
	Status         string        `json:"status"`
	Project        idName        `json:"project"`
	Workflow       nameOptID     `json:"workflow"`
	AttemptName    string        `json:"retryAttemptName"`
	Parallel       int           `json:"parallel"`
	Order          string        `json:"order"`
	Existing       *string       `json:"existing"`
	Priority       string        `json:"priority"`
	Params         object        `json:"params"`
	FirstSession   string        `json:"firstSessionTime"`
	LastSession    string        `json:"lastSessionTime"`
	Sessions       int           `json:"sessions"`
	NotBegun       int           `json:"notBegun"`
	Running        []restFillRun `json:"running"`
	Succeeded      int           `json:"succeeded"`
	Failed         int           `json:"failed"`
	LeftOut        int           `json:"leftOut"`
	FailedAttempts []id          `json:"failedAttempts"`
	Why            *string       `json:"why"`
	CreatedAt      moment        `json:"createdAt"`
	UpdatedAt      moment        `json:"updatedAt"`
	FinishedAt     moment        `json:"finishedAt"`
}

// restFillRun is a session that has begun. Its attempt is not known for a moment.
type restFillRun struct {
	SessionTime string `json:"sessionTime"`
	AttemptID   *id    `json:"attemptId"`
	Since       moment `json:"since"`
}

func backfill(b host.Backfill) restFill {
	plan, state := b.Plan, b.State
	order := catalogue.OrderAscending
	if plan.Descending {
		order = catalogue.OrderDescending
	}
	r := restFill{ID: id(b.ID), Name: b.Name, Status: b.Status(), Project: named(b.Project), Workflow: optional(b.Workflow), AttemptName: b.AttemptName(), Parallel: plan.Parallel,
		Order: order, Existing: textOrNull(plan.Existing), Priority: keys.PriorityName(plan.Priority), Params: object{plan.Params}, Sessions: len(plan.Sessions), NotBegun: len(plan.Sessions) - state.Begun,
		Succeeded: state.Succeeded, Failed: state.Failed, LeftOut: state.LeftOut, Why: textOrNull(state.Why), CreatedAt: moment(b.CreatedAt), UpdatedAt: moment(b.UpdatedAt), FinishedAt: moment(b.FinishedAt)}
	if n := len(plan.Sessions); n > 0 {
		r.FirstSession, r.LastSession = offsetTime(plan.Sessions[0], plan.Zone), offsetTime(plan.Sessions[n-1], plan.Zone)
	}
	r.FailedAttempts = each(state.FailedAttempts, func(a int64) id { return id(a) })
	r.Running = each(state.Running, func(x host.BackfillRun) restFillRun {
		run := restFillRun{SessionTime: offsetTime(plan.Sessions[x.Session], plan.Zone), Since: moment(x.Since)}
		if x.Attempt != 0 {
			run.AttemptID = new(id(x.Attempt))
		}
		return run
	})
	return r
}

// restFilled answers a request.
type restFilled struct {
	Backfill *restFill     `json:"backfill"` // that was started; null for a dry run
	Plan     *restFillPlan `json:"plan"`     // of a dry run
	Warnings []string      `json:"warnings,omitempty"`
}

type restFillPlan struct {
	Workflow idName            `json:"workflow"`
	Total    int               `json:"total"`
	LeftOut  int               `json:"leftOut"`
	Rows     []restFillSession `json:"rows"`
}

type restFillSession struct {
	SessionTime string `json:"sessionTime"`
	Last        *brief `json:"last"`
	LeftOut     bool   `json:"leftOut"`
}

// mostFillRows bounds the sessions of a plan that are shown.
const mostFillRows = 1000

func fillPlan(p catalogue.FillPlan) *restFillPlan {
	r := &restFillPlan{Workflow: idName{id(p.Workflow.ID), p.Workflow.Name}, Total: len(p.Sessions)}
	for _, s := range p.Sessions {
		if s.LeftOut {
			r.LeftOut++
		}
	}
	r.Rows = each(p.Sessions[:min(len(p.Sessions), mostFillRows)], func(s catalogue.FillSession) restFillSession {
		row := restFillSession{SessionTime: offsetTime(s.Time, p.Plan.Zone), LeftOut: s.LeftOut}
		if s.Last != nil {
			row.Last = new(briefly(*s.Last))
		}
		return row
	})
	return r
}

func postBackfill(c *call) (any, error) {
	var b fillBody
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	r, err := b.request()
	if err != nil {
		return nil, err
	}
	r.Site, r.Outside, c.dry, c.target = c.actor.Site, c.outside(), b.DryRun.yes, "workflow "+strconv.FormatInt(r.Workflow, 10)
	if b.DryRun.yes {
		p, err := c.Node.PlanFill(c.ctx(), r)
		if err != nil {
			return nil, err
		}
		return restFilled{Plan: fillPlan(p), Warnings: c.Node.StartWarnings(c.ctx(), r.Site, r.Workflow, r.Params)}, nil
	}
	started, err := c.Node.StartFill(c.ctx(), r)
	if err != nil {
		return nil, err
	}
	c.target += " as backfill " + strconv.FormatInt(started.ID, 10)
	return restFilled{Backfill: new(backfill(started)), Warnings: c.Node.StartWarnings(c.ctx(), r.Site, r.Workflow, r.Params)}, nil
}

// fillPage is the largest page of backfills.
const fillPage = 100

func getBackfills(c *call) (any, error) {
	last, size, err := c.page(fillPage)
	if err != nil {
		return nil, err
	}
	q := host.BackfillQuery{Site: c.actor.Site, Workflow: c.text("workflow"), Open: c.flag("open"), Before: last, Count: size}
	name, given := c.arg("project")
	switch {
	case given:
		p, err := c.byName(name)
		if err != nil {
			return nil, err
		}
		q.Project = p.ID
	case q.Workflow != "":
		return nil, invalid("workflow= goes with project=")
	}
	var list []host.Backfill
	if size > 0 {
		if list, err = c.Node.Backfills(c.ctx(), q); err != nil {
			return nil, err
		}
	}
	return map[string][]restFill{"backfills": each(list, backfill)}, nil
}

func getBackfill(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	b, err := c.Node.OneBackfill(c.ctx(), c.actor.Site, n)
	if err != nil {
		return nil, err
	}
	return backfill(b), nil
}

func (c *call) holdBackfill(held bool) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	c.target = "backfill " + c.vars["id"]
	b, err := c.Node.HoldBackfill(c.ctx(), c.actor.Site, n, held)
	if err != nil {
		return nil, err
	}
	return backfill(b), nil
}

func killBackfill(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	c.target = "backfill " + c.vars["id"]
	b, err := c.Node.KillBackfill(c.ctx(), c.actor.Site, n)
	if err != nil {
		return nil, err
	}
	return backfill(b), nil
}
