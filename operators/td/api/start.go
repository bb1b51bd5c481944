package api

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// RunSaved starts a saved query by its name.
func (c *Client) RunSaved(ctx context.Context, name string, at time.Time, domainKey string) (string, error) {
	r := post(pathOf("/v3/schedule/run", name, strconv.FormatInt(at.Unix(), 10)), url.Values{"domain_key": {domainKey}})
	var answer struct {
		Jobs []struct {
			ID Word `json:"job_id"`
		} `json:"jobs"`
	}
	if err := c.read(ctx, r, &answer); err != nil {
		return conflicting(err)
	}
	if len(answer.Jobs) == 0 || answer.Jobs[0].ID == "" {
		return "", &Unreadable{Path: r.path, Why: "it does not name a job"}
	}
	return string(answer.Jobs[0].ID), nil
}

// RunSavedID starts a saved query by its number.
func (c *Client) RunSavedID(ctx context.Context, number int64, at time.Time, domainKey string) (string, error) {
	return c.start(ctx, request{method: "POST", path: pathOf("/v4/queries", strconv.FormatInt(number, 10), "jobs"),
		json: object("scheduled_time", at.UTC().Format("2006-01-02T15:04:05Z"), "domain_key", domainKey)}, "id")
}

// RunSession starts a bulk load that is saved under a name.
func (c *Client) RunSession(ctx context.Context, name string, at time.Time, domainKey string) (string, error) {
	return c.start(ctx, request{method: "POST", path: pathOf("/v3/bulk_loads", name, "jobs"),
		json: object("scheduled_time", strconv.FormatInt(at.Unix(), 10), "domain_key", domainKey)}, "job_id")
}

// object returns a JSON object of string values.
func object(pairs ...string) []byte {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // text is always valid JSON
	}
	return text
}

// TableExport describes a table's export to S3.
type TableExport struct {
	Database, Table      string
	From, To             time.Time
	Format               string // "jsonl.gz"
	Bucket, Prefix       string
	AccessKey, SecretKey string // secrets
	Pool                 string
	DomainKey            string
}

// ExportTable starts a table export.
func (c *Client) ExportTable(ctx context.Context, e TableExport) (string, error) {
	form := url.Values{
		"from": {strconv.FormatInt(e.From.Unix(), 10)}, "to": {strconv.FormatInt(e.To.Unix(), 10)},
		"file_prefix": {e.Prefix}, "file_format": {e.Format}, "storage_type": {"s3"}, "bucket": {e.Bucket},
		"access_key_id": {e.AccessKey}, "secret_access_key": {e.SecretKey}, "domain_key": {e.DomainKey},
	}
	if e.Pool != "" {
		form.Set("pool_name", e.Pool)
	}
	return c.start(ctx, post(pathOf("/v3/export/run", e.Database, e.Table), form), "job_id")
}

// ExportResult starts the export of a job's result through a connection. There is no domain key here: a repeated
// request exports twice.
func (c *Client) ExportResult(ctx context.Context, job string, connection int64, settings string) (string, error) {
	r := post(pathOf("/v3/job/result_export", job),
		url.Values{"result_connection_id": {strconv.FormatInt(connection, 10)}, "result_connection_settings": {settings}})
	r.once = true
	return c.start(ctx, r, "job_id")
}

// PartialDelete starts the deletion of the rows in a range of hours; from and to are full hours.
func (c *Client) PartialDelete(ctx context.Context, database, table string, from, to time.Time, domainKey string) (string, error) {
	return c.start(ctx, post(pathOf("/v3/table/partialdelete", database, table),
		url.Values{"from": {strconv.FormatInt(from.Unix(), 10)}, "to": {strconv.FormatInt(to.Unix(), 10)}, "domain_key": {domainKey}}), "job_id")
}
