package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Schedules lists one project's schedules, or all schedules if project is "".
func (c *Client) Schedules(ctx context.Context, project, last ID) ([]Schedule, error) {
	var list struct{ Schedules []Schedule }
	at := "/api/schedules"
	if project != "" {
		at = path("api", "projects", string(project), "schedules")
	}
	err := c.get(ctx, at, query("last_id", string(last)), &list)
	return list.Schedules, err
}

// AllSchedules lists all schedules, page by page.
func (c *Client) AllSchedules(ctx context.Context, project ID) (all []Schedule, err error) {
	last := ID("")
	for {
		page, err := c.Schedules(ctx, project, last)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		if page[len(page)-1].ID == last {
			return all, nil // the server does not support pages
		}
		last = page[len(page)-1].ID
	}
}

// Schedule returns a schedule.
func (c *Client) Schedule(ctx context.Context, id ID) (s Schedule, err error) {
	err = c.get(ctx, path("api", "schedules", string(id)), nil, &s)
	return s, err
}

// WorkflowSchedule returns a workflow's schedule.
func (c *Client) WorkflowSchedule(ctx context.Context, project ID, workflow string) (Schedule, error) {
	var list struct{ Schedules []Schedule }
	q := query()
	q.Set("workflow", workflow)
	if err := c.get(ctx, path("api", "projects", string(project), "schedules"), q, &list); err != nil {
		return Schedule{}, err
	}
	if len(list.Schedules) == 0 {
		return Schedule{}, missing(Unknown{Kind: "schedule", Project: project, Name: workflow}, fmt.Sprintf(" in the latest revision of project id = %s", project))
	}
	return list.Schedules[0], nil
}

// Skip describes a move of a schedule: to a time, or past a number of sessions after a time.
type Skip struct {
	To     string // a time with or without an offset
	From   time.Time
	Count  int
	Run    time.Time // when it runs next; zero means the schedule's own time
	DryRun bool
}

// Skip moves a schedule forward and returns it.
func (c *Client) Skip(ctx context.Context, id ID, k Skip) (s Schedule, err error) {
	body := struct {
		NextTime    *string `json:"nextTime"`
		Count       *int    `json:"count"`
		FromTime    *string `json:"fromTime"`
		NextRunTime *string `json:"nextRunTime"`
		DryRun      bool    `json:"dryRun"`
	}{DryRun: k.DryRun}
	if k.To != "" {
		body.NextTime = &k.To
	} else {
		from := instant(k.From)
		body.FromTime, body.Count = &from, &k.Count
	}
	if !k.Run.IsZero() {
		run := instant(k.Run)
		body.NextRunTime = &run
	}
	err = c.send(ctx, http.MethodPost, path("api", "schedules", string(id), "skip"), nil, body, &s)
	return s, err
}

// Backfill requests attempts of past sessions.
type Backfill struct {
	From   time.Time
	Name   string
	Count  *int // nil means all up to the next session
	DryRun bool
}

// Backfill starts the attempts and returns them.
func (c *Client) Backfill(ctx context.Context, id ID, b Backfill) ([]Attempt, error) {
	body := struct {
		From   string `json:"fromTime"`
		Name   string `json:"attemptName"`
		Count  *int   `json:"count"`
		DryRun bool   `json:"dryRun"`
	}{instant(b.From), b.Name, b.Count, b.DryRun}
	var answer struct{ Attempts []Attempt }
	err := c.send(ctx, http.MethodPost, path("api", "schedules", string(id), "backfill"), nil, body, &answer)
	return answer.Attempts, err
}

// Enable lets a schedule run again.
func (c *Client) Enable(ctx context.Context, id ID) (s Schedule, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "schedules", string(id), "enable"), nil, struct{}{}, &s)
	return s, err
}

// Disable stops a schedule.
func (c *Client) Disable(ctx context.Context, id ID) (s Schedule, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "schedules", string(id), "disable"), nil, struct{}{}, &s)
	return s, err
}
