package wire

import (
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/catalogue/filling"
	"zerodag/internal/host"
)

// FillBody requests a backfill with an id.
type FillBody struct {
	WorkflowID *Whole     `json:"workflowId"`
	Name       *Words     `json:"name"`
	From       string     `json:"from"`
	To         string     `json:"to"`
	Count      *Whole     `json:"count"`
	Dates      []string   `json:"dates"`
	Every      string     `json:"every"`
	Parallel   *Whole     `json:"parallel"`
	Order      string     `json:"order"`
	Existing   string     `json:"existing"`
	Priority   string     `json:"priority"`
	Params     *param.Map `json:"params"`
	DryRun     Choice     `json:"dryRun"`
}

// Request checks the body; it generates a name if it has none.
func (b *FillBody) Request() (catalogue.FillRequest, error) {
	r := catalogue.FillRequest{Name: host.NewUUID(), From: b.From, To: b.To, Dates: b.Dates, Every: b.Every, Order: b.Order, Existing: b.Existing, Priority: b.Priority, Params: b.Params}
	if b.WorkflowID == nil {
		return r, NotSet("workflowId")
	}
	r.Workflow = int64(*b.WorkflowID)
	if b.Name != nil {
		r.Name = string(*b.Name)
	}
	for _, n := range []struct {
		name  string
		given *Whole
		to    *int
	}{{"count", b.Count, &r.Count}, {"parallel", b.Parallel, &r.Parallel}} {
		if n.given == nil {
			continue
		}
		if *n.to = int(*n.given); *n.to < 1 {
			return r, Invalid("%s must be 1 or more but is %d", n.name, *n.given)
		}
	}
	return r, nil
}

// Fill is a backfill.
type Fill struct {
	ID             ID        `json:"id"`
	Name           string    `json:"name"`
	Status         string    `json:"status"`
	Project        IDName    `json:"project"`
	Workflow       NameOptID `json:"workflow"`
	AttemptName    string    `json:"retryAttemptName"`
	Parallel       int       `json:"parallel"`
	Order          string    `json:"order"`
	Existing       *string   `json:"existing"`
	Priority       string    `json:"priority"`
	Params         Object    `json:"params"`
	FirstSession   string    `json:"firstSessionTime"`
	LastSession    string    `json:"lastSessionTime"`
	Sessions       int       `json:"sessions"`
	NotBegun       int       `json:"notBegun"`
	Running        []FillRun `json:"running"`
	Succeeded      int       `json:"succeeded"`
	Failed         int       `json:"failed"`
	LeftOut        int       `json:"leftOut"`
	FailedAttempts []ID      `json:"failedAttempts"`
	Why            *string   `json:"why"`
	CreatedAt      Moment    `json:"createdAt"`
	UpdatedAt      Moment    `json:"updatedAt"`
	FinishedAt     Moment    `json:"finishedAt"`
}

// FillRun is a session that has begun. At first, its attempt may still be unknown.
type FillRun struct {
	SessionTime string `json:"sessionTime"`
	AttemptID   *ID    `json:"attemptId"`
	Since       Moment `json:"since"`
}

// BackfillOf shows a backfill.
func BackfillOf(b host.Backfill) Fill {
	plan, state := b.Plan, b.State
	order := filling.OrderAscending
	if plan.Descending {
		order = filling.OrderDescending
	}
	r := Fill{ID: ID(b.ID), Name: b.Name, Status: b.Status(), Project: Named(b.Project), Workflow: Optional(b.Workflow), AttemptName: b.AttemptName(), Parallel: plan.Parallel,
		Order: order, Existing: TextOrNull(plan.Existing), Priority: keys.PriorityName(plan.Priority), Params: Object{plan.Params}, Sessions: len(plan.Sessions), NotBegun: len(plan.Sessions) - state.Begun,
		Succeeded: state.Succeeded, Failed: state.Failed, LeftOut: state.LeftOut, Why: TextOrNull(state.Why), CreatedAt: Moment(b.CreatedAt), UpdatedAt: Moment(b.UpdatedAt), FinishedAt: Moment(b.FinishedAt)}
	if n := len(plan.Sessions); n > 0 {
		r.FirstSession, r.LastSession = OffsetTime(plan.Sessions[0], plan.Zone), OffsetTime(plan.Sessions[n-1], plan.Zone)
	}
	r.FailedAttempts = Each(state.FailedAttempts, func(a int64) ID { return ID(a) })
	r.Running = Each(state.Running, func(x host.BackfillRun) FillRun {
		run := FillRun{SessionTime: OffsetTime(plan.Sessions[x.Session], plan.Zone), Since: Moment(x.Since)}
		if x.Attempt != 0 {
			run.AttemptID = new(ID(x.Attempt))
		}
		return run
	})
	return r
}

// Filled is the response to a request.
type Filled struct {
	Backfill *Fill     `json:"backfill"` // the started backfill; null for a dry run
	Plan     *FillPlan `json:"plan"`     // only for a dry run
	Warnings []string  `json:"warnings,omitempty"`
}

// FillPlan is what a backfill would run.
type FillPlan struct {
	Workflow IDName        `json:"workflow"`
	Total    int           `json:"total"`
	LeftOut  int           `json:"leftOut"`
	Rows     []FillSession `json:"rows"`
}

// FillSession is a session that a backfill would run or skip.
type FillSession struct {
	SessionTime string `json:"sessionTime"`
	Last        *Brief `json:"last"`
	LeftOut     bool   `json:"leftOut"`
}

// MostFillRows limits the sessions of a plan that are shown.
const MostFillRows = 1000

// FillPlanOf shows what a backfill would run; nil for no plan.
func FillPlanOf(p catalogue.FillPlan) *FillPlan {
	r := &FillPlan{Workflow: IDName{ID(p.Workflow.ID), p.Workflow.Name}, Total: len(p.Sessions)}
	for _, s := range p.Sessions {
		if s.LeftOut {
			r.LeftOut++
		}
	}
	r.Rows = Each(p.Sessions[:min(len(p.Sessions), MostFillRows)], func(s catalogue.FillSession) FillSession {
		row := FillSession{SessionTime: OffsetTime(s.Time, p.Plan.Zone), LeftOut: s.LeftOut}
		if s.Last != nil {
			row.Last = new(Briefly(*s.Last))
		}
		return row
	})
	return r
}
