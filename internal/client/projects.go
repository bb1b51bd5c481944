package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Page selects a part of a list. For zero values, the server chooses.
type Page struct {
	Last  ID // the id before the first element
	Count int
}

func (p Page) count() string {
	if p.Count == 0 {
		return ""
	}
	return strconv.Itoa(p.Count)
}

// Projects lists projects whose names contain pattern.
func (c *Client) Projects(ctx context.Context, p Page, pattern string) ([]Project, error) {
	var list struct{ Projects []Project }
	err := c.get(ctx, "/api/projects", query("last_id", string(p.Last), "count", p.count(), "name_pattern", pattern), &list)
	return list.Projects, err
}

// AllProjects lists all projects, page by page.
func (c *Client) AllProjects(ctx context.Context) (all []Project, err error) {
	var page Page
	for {
		more, err := c.Projects(ctx, page, "")
		if err != nil || len(more) == 0 || more[len(more)-1].ID == page.Last {
			return all, err // the server may not support pages
		}
		all = append(all, more...)
		page.Last = more[len(more)-1].ID
	}
}

// Project returns the project with the given name.
func (c *Client) Project(ctx context.Context, name string) (Project, error) {
	var list struct{ Projects []Project }
	q := query()
	q.Set("name", name)
	if err := c.get(ctx, "/api/projects", q, &list); err != nil {
		return Project{}, err
	}
	if len(list.Projects) == 0 {
		return Project{}, missing(Unknown{Kind: "project", Name: name}, "")
	}
	return list.Projects[0], nil
}

// Delete deletes a project.
func (c *Client) Delete(ctx context.Context, id ID) (p Project, err error) {
	err = c.send(ctx, http.MethodDelete, path("api", "projects", string(id)), nil, nil, &p)
	return p, err
}

// PauseProject keeps attempts of a project from starting until UnpauseProject is called, and returns the updated
// project.
func (c *Client) PauseProject(ctx context.Context, id ID, reason string) (p Project, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "projects", string(id), "pause"), nil, pauseBody{reason}, &p)
	return p, err
}

// UnpauseProject lets attempts of a project start again, and returns the updated project.
func (c *Client) UnpauseProject(ctx context.Context, id ID) (p Project, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "projects", string(id), "unpause"), nil, struct{}{}, &p)
	return p, err
}

// Revisions lists revisions of a project, newest first, beginning before last; "" begins with the newest.
func (c *Client) Revisions(ctx context.Context, project, last ID) ([]Revision, error) {
	var list struct{ Revisions []Revision }
	err := c.get(ctx, path("api", "projects", string(project), "revisions"), query("last_id", string(last)), &list)
	return list.Revisions, err
}

// Workflows lists the newest definitions of all projects.
func (c *Client) Workflows(ctx context.Context, p Page, order, pattern string) ([]Workflow, error) {
	var list struct{ Workflows []Workflow }
	err := c.get(ctx, "/api/workflows", query("last_id", string(p.Last), "count", p.count(), "order", order, "name_pattern", pattern), &list)
	return list.Workflows, err
}

// ProjectWorkflows lists a revision's definitions; "" means the newest revision.
func (c *Client) ProjectWorkflows(ctx context.Context, project ID, revision string) ([]Workflow, error) {
	var list struct{ Workflows []Workflow }
	err := c.get(ctx, path("api", "projects", string(project), "workflows"), query("revision", revision), &list)
	return list.Workflows, err
}

// Workflow returns a revision's definition with the given name; revision "" means the newest.
func (c *Client) Workflow(ctx context.Context, project ID, name, revision string) (Workflow, error) {
	var list struct{ Workflows []Workflow }
	q := query("revision", revision)
	q.Set("name", name)
	if err := c.get(ctx, path("api", "projects", string(project), "workflows"), q, &list); err != nil {
		return Workflow{}, err
	}
	unknown := Unknown{Kind: "workflow", Project: project, Name: name}
	switch {
	case len(list.Workflows) > 0:
		return list.Workflows[0], nil
	case revision != "":
		return Workflow{}, missing(unknown, fmt.Sprintf(" in revision = %s of project id = %s", revision, project))
	}
	return Workflow{}, missing(unknown, fmt.Sprintf(" in the latest revision of project id = %s", project))
}

// SessionTime converts a time into a workflow's zone. text is a time with or without an offset; mode is "", "hour",
// "day", "schedule" or "next_schedule".
func (c *Client) SessionTime(ctx context.Context, workflow ID, text, mode string) (t SessionTime, err error) {
	err = c.get(ctx, path("api", "workflows", string(workflow), "truncated_session_time"), query("session_time", text, "mode", mode), &t)
	return t, err
}

// instant formats a time for requests.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
