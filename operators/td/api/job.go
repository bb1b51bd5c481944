package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Job is a query or a load to start. Empty or nil fields are left to the service.
type Job struct {
	Type      string // "presto", "hive", "trino", "bulkload"
	Database  string
	Query     string
	Priority  int64  // -2 to 2; anything else is 0, as in Digdag
	Retries   *int64 // how many times the service retries
	Pool      string
	Table     string // of a bulk load
	Engine    string // version of the engine
	Scheduled time.Time

	// DomainKey makes repeated requests start only one job.
	DomainKey string

	ResultURL        string // may contain secrets
	ResultConnection int64  // 0 for none
	ResultSettings   string // JSON; may contain secrets

	// Config is the JSON of a bulk load; it may contain secrets.
	Config []byte
}

// Submit starts a job and returns its id. If the domain key was used before, it returns the id of that job.
func (c *Client) Submit(ctx context.Context, j Job) (string, error) {
	r := post(pathOf("/v3/job/issue", j.Type, j.Database), j.form())
	if j.Config != nil {
		r.json = append(append([]byte(`{"config":`), j.Config...), '}')
	}
	return c.start(ctx, r, "job_id")
}

func (j *Job) form() url.Values {
	form := url.Values{"query": {j.Query}, "priority": {"0"}}
	if j.Priority >= -2 && j.Priority <= 2 {
		form.Set("priority", strconv.FormatInt(j.Priority, 10))
	}
	if j.Retries != nil {
		form.Set("retry_limit", strconv.FormatInt(*j.Retries, 10))
	}
	if !j.Scheduled.IsZero() {
		form.Set("scheduled_time", strconv.FormatInt(j.Scheduled.Unix(), 10))
	}
	if j.ResultConnection != 0 {
		form.Set("result_connection_id", strconv.FormatInt(j.ResultConnection, 10))
	}
	for key, value := range map[string]string{"pool_name": j.Pool, "table": j.Table, "engine_version": j.Engine, "domain_key": j.DomainKey,
		"result": j.ResultURL, "result_connection_settings": j.ResultSettings} {
		if value != "" {
			form.Set(key, value)
		}
	}
	return form
}

// start makes a call that starts a job, whose id is under a key of the response.
func (c *Client) start(ctx context.Context, r request, key string) (string, error) {
	var answer map[string]json.RawMessage
	err := c.read(ctx, r, &answer)
	if err != nil {
		return conflicting(err)
	}
	var id Word
	if json.Unmarshal(answer[key], &id) != nil || id == "" {
		return "", &Unreadable{Path: r.path, Why: "it does not name a job"}
	}
	return string(id), nil
}

// conflicting returns the job of an earlier call with the same domain key, if the response names it.
func conflicting(err error) (string, error) {
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict && e.ConflictsWith != "" {
		return e.ConflictsWith, nil
	}
	return "", err
}

// States of finished jobs.
const (
	Succeeded = "success"
	Failed    = "error"
	Killed    = "killed"
)

// Status is a job's state.
type Status string

// Over reports whether the job has ended, successfully or not.
func (s Status) Over() bool { return s == Succeeded || s == Failed || s == Killed }

type jobStatus struct {
	ID     Word   `json:"job_id"`
	Status string `json:"status"`
}

// JobStatus returns a job's state.
func (c *Client) JobStatus(ctx context.Context, id string) (Status, error) {
	var answer jobStatus
	path := pathOf("/v3/job/status", id)
	if err := c.read(ctx, get(path, nil), &answer); err != nil {
		return "", err
	}
	if answer.Status == "" {
		return "", &Unreadable{Path: path, Why: "it has no status"}
	}
	return Status(strings.ToLower(answer.Status)), nil
}

// JobByKey returns the job with a domain key; false if there is none.
func (c *Client) JobByKey(ctx context.Context, key string) (id string, found bool, err error) {
	var answer jobStatus
	err = c.read(ctx, get(pathOf("/v3/job/status_by_domain_key", key), nil), &answer)
	if Is(err, http.StatusNotFound) {
		return "", false, nil
	}
	return string(answer.ID), answer.ID != "", err
}

// JobInfo describes a finished job.
type JobInfo struct {
	Columns []string // of its result, in order; none if it has no result
	Records int64
	Output  string // of the command and of its errors, as in Digdag
}

// JobInfo returns a job's description.
func (c *Client) JobInfo(ctx context.Context, id string) (JobInfo, error) {
	var answer struct {
		Schema  *string `json:"hive_result_schema"`
		Records int64   `json:"num_records"`
		Debug   struct {
			Command string `json:"cmdout"`
			Errors  string `json:"stderr"`
		} `json:"debug"`
	}
	path := pathOf("/v3/job/show", id)
	if err := c.read(ctx, get(path, nil), &answer); err != nil {
		return JobInfo{}, err
	}
	info := JobInfo{Records: answer.Records, Output: answer.Debug.Command + "\n" + answer.Debug.Errors}
	if answer.Schema != nil && *answer.Schema != "" {
		var err error
		if info.Columns, err = columns(*answer.Schema); err != nil {
			return JobInfo{}, &Unreadable{Path: path, Why: "Unexpected hive_result_schema: " + err.Error()}
		}
	}
	return info, nil
}

// columns reads the names from `[["a","bigint"],["b","varchar"]]`.
func columns(schema string) ([]string, error) {
	var pairs [][]any
	if err := json.Unmarshal([]byte(schema), &pairs); err != nil {
		return nil, fmt.Errorf("it is not a list of pairs: %w", err)
	}
	names := make([]string, len(pairs))
	for i, pair := range pairs {
		if len(pair) == 0 {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		name, isText := pair[0].(string)
		if !isText {
			return nil, fmt.Errorf("the name of column %d is not text", i+1)
		}
		names[i] = name
	}
	return names, nil
}

// Kill ends a job; the service ignores the call for a finished job.
func (c *Client) Kill(ctx context.Context, id string) error {
	return c.call(ctx, post(pathOf("/v3/job/kill", id), nil))
}

// Connection returns the id of the connection with the given name.
func (c *Client) Connection(ctx context.Context, name string) (int64, error) {
	var answer struct {
		ID *int64 `json:"id"`
	}
	r := get("/v3/connections/lookup", url.Values{"name": {name}})
	if err := c.read(ctx, r, &answer); err != nil {
		return 0, err
	}
	if answer.ID == nil {
		return 0, &Unreadable{Path: r.path, Why: "it has no id"}
	}
	return *answer.ID, nil
}
