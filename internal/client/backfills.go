package client

import (
	"context"
	"net/http"
	"time"

	"zerodag/engine/param"
)

// Fill requests a backfill with an id. The server chooses the values of zero fields.
type Fill struct {
	Workflow ID         `json:"workflowId"`
	Name     string     `json:"name"`
	From     string     `json:"from,omitempty"`
	To       string     `json:"to,omitempty"`
	Count    int        `json:"count,omitempty"`
	Dates    []string   `json:"dates,omitempty"`
	Every    string     `json:"every,omitempty"`
	Parallel int        `json:"parallel,omitempty"`
	Order    string     `json:"order,omitempty"`
	Existing string     `json:"existing,omitempty"`
	Priority string     `json:"priority,omitempty"`
	Params   *param.Map `json:"params,omitempty"`
	DryRun   bool       `json:"dryRun,omitempty"`
}

// Filling is a backfill with an id, together with its progress.
type Filling struct {
	ID             ID           `json:"id"`
	Name           string       `json:"name"`
	Status         string       `json:"status"`
	Project        Ref          `json:"project"`
	Workflow       Ref          `json:"workflow"`
	AttemptName    string       `json:"retryAttemptName"`
	Parallel       int          `json:"parallel"`
	Order          string       `json:"order"`
	Existing       *string      `json:"existing"`
	Priority       string       `json:"priority"`
	Params         *param.Map   `json:"params"`
	First          time.Time    `json:"firstSessionTime"`
	Last           time.Time    `json:"lastSessionTime"`
	Sessions       int          `json:"sessions"`
	NotBegun       int          `json:"notBegun"`
	Running        []FillingRun `json:"running"`
	Succeeded      int          `json:"succeeded"`
	Failed         int          `json:"failed"`
	LeftOut        int          `json:"leftOut"`
	FailedAttempts []ID         `json:"failedAttempts"`
	Why            *string      `json:"why"` // why no more sessions can begin
	CreatedAt      time.Time    `json:"createdAt"`
	UpdatedAt      time.Time    `json:"updatedAt"`
	FinishedAt     *time.Time   `json:"finishedAt"`
	Warnings       []string     `json:"-"` // about parameters, given when it started
}

// Waiting returns how many sessions of Running have no attempt yet: they will begin shortly, or when nothing blocks
// them any longer.
func (b Filling) Waiting() (n int) {
	for _, r := range b.Running {
		if r.AttemptID == nil {
			n++
		}
	}
	return n
}

// FillingRun is a backfill session that has begun or must begin now, and that has not ended.
type FillingRun struct {
	SessionTime time.Time `json:"sessionTime"`
	AttemptID   *ID       `json:"attemptId"` // nil: it is about to be created, or cannot be created now
	Since       time.Time `json:"since"`
}

// FillPlan is what a backfill would start.
type FillPlan struct {
	Workflow Ref `json:"workflow"`
	Total    int `json:"total"`
	LeftOut  int `json:"leftOut"`
	Rows     []struct {
		SessionTime time.Time `json:"sessionTime"`
		Last        *struct { // the last attempt of the session
			ID     ID     `json:"id"`
			Status string `json:"status"`
		} `json:"last"`
		LeftOut bool `json:"leftOut"`
	} `json:"rows"` // the first ones
	Warnings []string `json:"-"` // about parameters
}

type filled struct {
	Backfill Filling  `json:"backfill"`
	Plan     FillPlan `json:"plan"`
	Warnings []string `json:"warnings"`
}

// Fill starts a backfill.
func (c *Client) Fill(ctx context.Context, f Fill) (Filling, error) {
	var answer filled
	err := c.send(ctx, http.MethodPost, "/api/backfills", nil, f, &answer)
	answer.Backfill.Warnings = answer.Warnings
	return answer.Backfill, err
}

// PlanFill returns what Fill would start.
func (c *Client) PlanFill(ctx context.Context, f Fill) (FillPlan, error) {
	f.DryRun = true
	var answer filled
	err := c.send(ctx, http.MethodPost, "/api/backfills", nil, f, &answer)
	answer.Plan.Warnings = answer.Warnings
	return answer.Plan, err
}

// Fillings lists a page of backfills with an id, in descending order: those of a project and one of its workflows, or
// all backfills.
func (c *Client) Fillings(ctx context.Context, project, workflow string, open bool, last ID) ([]Filling, error) {
	var list struct{ Backfills []Filling }
	only := ""
	if open {
		only = "true"
	}
	err := c.get(ctx, "/api/backfills", query("project", project, "workflow", workflow, "open", only, "last_id", string(last)), &list)
	return list.Backfills, err
}

// Filling returns a backfill.
func (c *Client) Filling(ctx context.Context, id ID) (f Filling, err error) {
	err = c.get(ctx, path("api", "backfills", string(id)), nil, &f)
	return f, err
}

// ChangeFilling pauses, resumes or kills a backfill.
func (c *Client) ChangeFilling(ctx context.Context, id ID, action string) (f Filling, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "backfills", string(id), action), nil, struct{}{}, &f)
	return f, err
}
