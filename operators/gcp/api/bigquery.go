package api

import (
	"context"
	"net/http"
	"net/url"

	"zerodag/engine/param"
)

// InsertJob starts a job: a resource Job with a reference of its own. A 409 says that BigQuery has
// the job already. The answer is the job as it is now; one that is *Unreadable says that it was started.
func (c *Client) InsertJob(ctx context.Context, project string, job *param.Map) (*param.Map, error) {
	r := c.bigQuery(http.MethodPost, "projects", project, "jobs")
	r.body = job
	return c.read(ctx, r)
}

// Job returns a job. location is where it runs, "" lets BigQuery look in the US and the EU.
func (c *Client) Job(ctx context.Context, project, id, location string) (*param.Map, error) {
	r := c.bigQuery(http.MethodGet, "projects", project, "jobs", id)
	r.query = at(location)
	return c.read(ctx, r)
}

// CancelJob asks for the end of a job. One that is over stays as it is.
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

// EnsureDataset makes a dataset, a resource Dataset, unless there is one of its name.
func (c *Client) EnsureDataset(ctx context.Context, project string, dataset *param.Map) error {
	r := c.bigQuery(http.MethodPost, "projects", project, "datasets")
	r.body = dataset
	_, err := c.call(ctx, r)
	return unless(err, http.StatusConflict)
}

// EnsureNoDataset deletes a dataset with all that is in it, if it is there.
func (c *Client) EnsureNoDataset(ctx context.Context, project, dataset string) error {
	r := c.bigQuery(http.MethodDelete, "projects", project, "datasets", dataset)
	r.query = url.Values{"deleteContents": {"true"}}
	_, err := c.call(ctx, r)
	return unless(err, http.StatusNotFound)
}

// EnsureTable makes a table, a resource Table, unless there is one of its name.
func (c *Client) EnsureTable(ctx context.Context, project, dataset string, table *param.Map) error {
	r := c.bigQuery(http.MethodPost, "projects", project, "datasets", dataset, "tables")
	r.body = table
	_, err := c.call(ctx, r)
	return unless(err, http.StatusConflict)
}

// EnsureNoTable deletes a table, if it is there.
func (c *Client) EnsureNoTable(ctx context.Context, project, dataset, table string) error {
	_, err := c.call(ctx, c.bigQuery(http.MethodDelete, "projects", project, "datasets", dataset, "tables", table))
	return unless(err, http.StatusNotFound)
}

// unless is nil for an answer with a status that says that things are as they were to become.
func unless(err error, status int) error {
	if Is(err, status) {
		return nil
	}
	return err
}
