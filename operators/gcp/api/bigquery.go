package api

import (
	"context"
	"net/http"
	"net/url"

	"zerodag/engine/param"
)

// InsertJob starts a job, given as a Job resource with its own reference. A 409 means that BigQuery already has the
// job. It returns the current state of the job; an *Unreadable error means that it was started.
func (c *Client) InsertJob(ctx context.Context, project string, job *param.Map) (*param.Map, error) {
	r := c.bigQuery(http.MethodPost, "projects", project, "jobs")
	r.body = job
	return c.read(ctx, r)
}

// Job returns a job. location is where it runs; with "", BigQuery searches the US and the EU.
func (c *Client) Job(ctx context.Context, project, id, location string) (*param.Map, error) {
	r := c.bigQuery(http.MethodGet, "projects", project, "jobs", id)
	r.query = at(location)
	return c.read(ctx, r)
}

// CancelJob requests a job's cancellation. A finished job is unchanged.
func (c *Client) CancelJob(ctx context.Context, project, id, location string) error {
	r := c.bigQuery(http.MethodPost, "projects", project, "jobs", id, "cancel")
	r.query = at(location)
	_, err := c.call(ctx, r)
	return err
}

func at(location string) url.Values {
	if location == "" {
		return nil
	}
	return url.Values{"location": {location}}
}

// EnsureDataset creates a dataset, given as a Dataset resource, unless one with its name exists.
func (c *Client) EnsureDataset(ctx context.Context, project string, dataset *param.Map) error {
	r := c.bigQuery(http.MethodPost, "projects", project, "datasets")
	r.body = dataset
	_, err := c.call(ctx, r)
	return unless(err, http.StatusConflict)
}

// EnsureNoDataset deletes a dataset with all its contents, if it exists.
func (c *Client) EnsureNoDataset(ctx context.Context, project, dataset string) error {
	r := c.bigQuery(http.MethodDelete, "projects", project, "datasets", dataset)
	r.query = url.Values{"deleteContents": {"true"}}
	_, err := c.call(ctx, r)
	return unless(err, http.StatusNotFound)
}

// EnsureTable creates a table, given as a Table resource, unless one with its name exists.
func (c *Client) EnsureTable(ctx context.Context, project, dataset string, table *param.Map) error {
	r := c.bigQuery(http.MethodPost, "projects", project, "datasets", dataset, "tables")
	r.body = table
	_, err := c.call(ctx, r)
	return unless(err, http.StatusConflict)
}

// EnsureNoTable deletes a table, if it exists.
func (c *Client) EnsureNoTable(ctx context.Context, project, dataset, table string) error {
	_, err := c.call(ctx, c.bigQuery(http.MethodDelete, "projects", project, "datasets", dataset, "tables", table))
	return unless(err, http.StatusNotFound)
}

// unless returns nil for a status that means that the intended state already holds.
func unless(err error, status int) error {
	if Is(err, status) {
		return nil
	}
	return err
}
