package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"zerodag/engine/param"
)

// Sessions lists sessions, newest first: all sessions, or only those of a project or one of its workflows.
func (c *Client) Sessions(ctx context.Context, project ID, workflow string, p Page) ([]Session, error) {
	var list struct{ Sessions []Session }
	err := c.get(ctx, sessionsOf(project), query("workflow", workflow, "last_id", string(p.Last), "page_size", p.count()), &list)
	return list.Sessions, err
}

// SessionSearch filters sessions, using API values.
type SessionSearch struct {
	Tags, Labels []string // labels as NAME=VALUE
	Status       string   // several are separated by commas
	From, To     string   // session times; To is exclusive
	Text         string
}

// FoundSessions is a page of matching sessions.
type FoundSessions struct {
	Sessions []Session
	Searched int // how many sessions the server read
	Complete bool
	Next     ID // Last for the next page; "" on the last page
}

// SearchSessions lists the sessions that match a search, newest first; "" means any project or workflow.
func (c *Client) SearchSessions(ctx context.Context, project ID, workflow string, s SessionSearch, p Page) (f FoundSessions, err error) {
	q := query("workflow", workflow, "last_id", string(p.Last), "page_size", p.count(), "status", s.Status, "from", s.From, "to", s.To, "q", s.Text)
	q["tag"], q["label"] = s.Tags, s.Labels
	answer := struct {
		*FoundSessions
		Complete *bool
	}{FoundSessions: &f}
	if err := c.get(ctx, sessionsOf(project), q, &answer); err != nil {
		return FoundSessions{}, err
	}
	if answer.Complete == nil {
		return FoundSessions{}, errors.New("this server cannot search sessions by tags, labels, status, times or text: it is older than this program")
	}
	f.Complete = *answer.Complete
	return f, nil
}

func sessionsOf(project ID) string {
	if project == "" {
		return "/api/sessions"
	}
	return path("api", "projects", string(project), "sessions")
}

// Session returns a session.
func (c *Client) Session(ctx context.Context, id ID) (s Session, err error) {
	err = c.get(ctx, path("api", "sessions", string(id)), nil, &s)
	return s, err
}

// Attempts lists attempts, newest first: the last one of each session, or all attempts of one session.
func (c *Client) Attempts(ctx context.Context, session ID, p Page) ([]Attempt, error) {
	var list struct{ Attempts []Attempt }
	at := "/api/attempts"
	if session != "" {
		at = path("api", "sessions", string(session), "attempts")
	}
	err := c.get(ctx, at, query("last_id", string(p.Last), "page_size", p.count()), &list)
	return list.Attempts, err
}

// AllAttempts lists attempts of one project, or of all if project is "", newest first, with the earlier attempts of each
// session.
func (c *Client) AllAttempts(ctx context.Context, project string, p Page) ([]Attempt, error) {
	var list struct{ Attempts []Attempt }
	err := c.get(ctx, "/api/attempts", query("project", project, "include_retried", "true", "last_id", string(p.Last), "page_size", p.count()), &list)
	return list.Attempts, err
}

// Attempt returns an attempt.
func (c *Client) Attempt(ctx context.Context, id ID) (a Attempt, err error) {
	err = c.get(ctx, path("api", "attempts", string(id)), nil, &a)
	return a, err
}

// Tasks lists an attempt's tasks.
func (c *Client) Tasks(ctx context.Context, attempt ID) ([]Task, error) {
	var list struct{ Tasks []Task }
	err := c.get(ctx, path("api", "attempts", string(attempt), "tasks"), nil, &list)
	return list.Tasks, err
}

// Start requests an attempt.
type Start struct {
	Workflow    ID
	SessionTime time.Time
	RetryName   string // "" for none
	Params      *param.Map
	// Resume is the attempt whose results are taken over: of all tasks that succeeded or, with From, of the tasks before a
	// task. "" means none.
	Resume ID
	From   string
	// Priority is the keyword for the attempt's importance among waiting ones; "" means none.
	Priority string
	At       time.Time // when its first task begins; zero means now
	// Labels are strings by which users find the attempt; with Resume they override the earlier attempt's labels.
	Labels *param.Map
}

// ExistsError means that the session already has an attempt of that name.
type ExistsError struct {
	Attempt Attempt
	StatusError
}

// Start starts an attempt. If the session already has an attempt of that name, it returns an *ExistsError with that
// attempt.
func (c *Client) Start(ctx context.Context, s Start) (a Attempt, err error) {
	err = c.send(ctx, http.MethodPut, "/api/attempts", nil, s.body(), &a)
	return a, existing(err)
}

// StartPlan is what a start would do.
type StartPlan struct {
	Params   *param.Map `json:"params"`
	Warnings []string   `json:"warnings"`
}

// CheckStart fails if Start would fail, and starts nothing. A server that cannot check, such as a Digdag server,
// responds that the address is missing (IsMissing).
func (c *Client) CheckStart(ctx context.Context, s Start) (p StartPlan, err error) {
	err = c.send(ctx, http.MethodPost, "/api/x/start-check", nil, s.body(), &p)
	return p, existing(err)
}

func (s *Start) body() any {
	type resume struct {
		Mode    string `json:"mode"`
		Attempt ID     `json:"attemptId"`
		From    string `json:"from,omitempty"`
	}
	body := struct {
		Workflow    ID         `json:"workflowId"`
		SessionTime string     `json:"sessionTime"`
		RetryName   *string    `json:"retryAttemptName"`
		Params      *param.Map `json:"params"`
		Resume      *resume    `json:"resume"`
		Priority    string     `json:"priority,omitempty"`
		At          string     `json:"at,omitempty"`
		Labels      *param.Map `json:"labels,omitempty"`
	}{Workflow: s.Workflow, SessionTime: instant(s.SessionTime), Params: s.Params, Priority: s.Priority, Labels: s.Labels}
	if !s.At.IsZero() {
		body.At = instant(s.At)
	}
	if s.RetryName != "" {
		body.RetryName = &s.RetryName
	}
	switch {
	case s.From != "":
		body.Resume = &resume{"from", s.Resume, s.From}
	case s.Resume != "":
		body.Resume = &resume{"failed", s.Resume, ""}
	}
	return body
}

// existing turns a conflict error into an *ExistsError if it contains the attempt.
func existing(err error) error {
	var status *StatusError
	if errors.As(err, &status) && status.Status == http.StatusConflict {
		exists := &ExistsError{StatusError: *status}
		if json.Unmarshal([]byte(status.Body), &exists.Attempt) == nil && exists.Attempt.ID != "" {
			return exists
		}
	}
	return err
}

// Rerun selects what another attempt of a session takes over from an earlier one, and which tasks it runs.
type Rerun struct {
	Mode        string     `json:"mode"`           // "failed", "from", "only" or "all"
	From        string     `json:"from,omitempty"` // the task that mode "from" begins with
	Only        string     `json:"only,omitempty"` // the single task that mode "only" runs
	Until       string     `json:"until,omitempty"`
	MarkSuccess []string   `json:"markSuccess,omitempty"`
	Revision    *string    `json:"revision"` // nil: that of the earlier attempt; "": the newest
	Params      *param.Map `json:"params,omitempty"`
	Priority    string     `json:"priority,omitempty"`
	RetryName   string     `json:"retryAttemptName"`
}

// RerunPlan is what a rerun would do.
type RerunPlan struct {
	Workflow Ref        `json:"workflow"`
	Revision string     `json:"revision"`
	Carried  RerunTasks `json:"carried"`
	Runs     RerunTasks `json:"runs"`
	Gone     int        `json:"gone"` // the number of results for which the workflow no longer has a task
}

// RerunTasks holds a plan's tasks, up to the limit for one response, and their total number.
type RerunTasks struct {
	Total int         `json:"total"`
	Rows  []RerunTask `json:"rows"`
}

// RerunTask is a task of a plan.
type RerunTask struct {
	Name    string `json:"name"`
	Group   bool   `json:"group"`
	Made    bool   `json:"made"` // created by another task, at run time
	Took    int64  `json:"took"` // its duration in milliseconds, in the earlier attempt
	Skipped string `json:"skipped,omitempty"`
	// Parameters lists the names of the parameters that a task that is taken over passes to later tasks.
	Parameters []string `json:"parameters,omitempty"`
}

// Rerun starts another attempt of the given attempt's session. If the session already has an attempt of that name, it
// returns an *ExistsError with that attempt.
func (c *Client) Rerun(ctx context.Context, id ID, r Rerun) (Attempt, error) {
	var answer struct{ Attempt Attempt }
	err := c.send(ctx, http.MethodPost, path("api", "x", "attempts", string(id), "rerun"), nil, r, &answer)
	return answer.Attempt, existing(err)
}

// PlanRerun returns what Rerun would do, and starts nothing.
func (c *Client) PlanRerun(ctx context.Context, id ID, r Rerun) (RerunPlan, error) {
	body := struct {
		Rerun
		DryRun bool `json:"dryRun"`
	}{r, true}
	var answer struct{ Plan RerunPlan }
	err := c.send(ctx, http.MethodPost, path("api", "x", "attempts", string(id), "rerun"), nil, body, &answer)
	return answer.Plan, err
}

// Kill requests that an attempt be killed, and returns it as it was before.
func (c *Client) Kill(ctx context.Context, id ID) (a Attempt, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "attempts", string(id), "kill"), nil, struct{}{}, &a)
	return a, err
}

// Pause keeps new work from beginning in an attempt until Unpause, and returns the attempt as it was before.
func (c *Client) Pause(ctx context.Context, id ID, reason string) (a Attempt, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "attempts", string(id), "pause"), nil, pauseBody{reason}, &a)
	return a, err
}

type pauseBody struct {
	Reason string `json:"reason,omitempty"`
}

// Unpause lets a paused attempt continue.
func (c *Client) Unpause(ctx context.Context, id ID) (a Attempt, err error) {
	err = c.send(ctx, http.MethodPost, path("api", "attempts", string(id), "unpause"), nil, struct{}{}, &a)
	return a, err
}

// Fork describes a fork of an attempt.
type Fork struct {
	Entry     int64 // an entry in the attempt's history: tasks that had succeeded by then are taken over
	RetryName string
}

// Fork starts another attempt of the session, with the same revision and parameters, that takes over the tasks that had
// succeeded at some point of this attempt.
func (c *Client) Fork(ctx context.Context, id ID, f Fork) (a Attempt, err error) {
	body := struct {
		Seq       int64  `json:"seq"`
		RetryName string `json:"retryAttemptName"`
	}{f.Entry, f.RetryName}
	err = c.send(ctx, http.MethodPost, path("api", "attempts", string(id), "fork"), nil, body, &a)
	return a, err
}

// LogFiles lists an attempt's log files for the tasks whose names begin with prefix.
func (c *Client) LogFiles(ctx context.Context, attempt ID, prefix string) ([]LogFile, error) {
	return c.logFiles(ctx, attempt, prefix, "")
}

// LogLinks is like LogFiles, but its links make a browser show the files as text. Log cannot read them.
func (c *Client) LogLinks(ctx context.Context, attempt ID, prefix string) ([]LogFile, error) {
	return c.logFiles(ctx, attempt, prefix, "text")
}

func (c *Client) logFiles(ctx context.Context, attempt ID, prefix, links string) ([]LogFile, error) {
	var list struct{ Files []LogFile }
	q := query("task", prefix, "links", links)
	if prefix == "" {
		q.Set("every", "true")
	}
	if c.NoDirect {
		q.Set("direct_download", "false")
	}
	err := c.get(ctx, path("api", "logs", string(attempt), "files"), q, &list)
	return list.Files, err
}
