// Package api calls the REST APIs of BigQuery and Cloud Storage as far as operators need them: jobs, datasets, tables,
// and metadata of an object.
//
// The operators in operators/gcp use it, with the HTTP client of their task. Each method is one API call; it must never
// wait, and never repeat a request that may have taken effect: the caller decides about that with Temporary. Requests
// are trees, since much of their content comes from workflows and is passed to Google unchanged.
package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zerodag/engine/param"
)

// Client calls the APIs as one account.
type Client struct {
	// HTTP is the task's own client, which follows no redirect.
	HTTP *http.Client
	// Credential identifies the account that makes the calls. Errors never contain any part of it.
	Credential *Credential
	// Scope limits what the calls may do, as named by Google.
	Scope string
	// BigQuery and Storage are the addresses of the APIs without a path; "" is Google's default.
	BigQuery, Storage string

	token string // for the calls of this client
}

// Google's default addresses.
const (
	bigQueryAddress = "https://bigquery.googleapis.com"
	storageAddress  = "https://storage.googleapis.com"
)

// Limits on a response, and on the duration of a call.
const (
	mostAnswer = 32 << 20
	longest    = time.Minute
)

// request is one call.
type request struct {
	method, base, path string
	query              url.Values
	body               *param.Map // nil for none
}

// pathOf joins the segments of a path, each escaped.
func pathOf(begin string, segments ...string) string {
	for i, s := range segments {
		if i%2 == 1 { // resource types and names alternate
			s = url.PathEscape(s)
		}
		begin += "/" + s
	}
	return begin
}

// read makes a call and returns its JSON response.
func (c *Client) read(ctx context.Context, r request) (*param.Map, error) {
	text, err := c.call(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := param.ParseJSON(string(text))
	if err != nil {
		return nil, &Unreadable{Path: r.path, Why: err.Error()}
	}
	m, isMap := v.(*param.Map)
	if !isMap {
		return nil, &Unreadable{Path: r.path, Why: "it is not a JSON object"}
	}
	return m, nil
}

// call makes a call and returns the content of a successful response.
func (c *Client) call(ctx context.Context, r request) ([]byte, error) {
	bounded, end := context.WithTimeoutCause(ctx, longest, errSilent)
	defer end()
	text, err := c.send(bounded, r)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return nil, unanswered(r, errSilent)
	}
	return text, err
}

var errSilent = fmt.Errorf("no complete response within %v", longest)

func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	if c.token == "" {
		token, err := c.Credential.token(ctx, c.HTTP, c.Scope)
		if err != nil {
			return nil, err
		}
		c.token = token
	}
	address := r.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var content io.Reader
	if r.body != nil {
		content = bytes.NewReader(param.AppendJSON(nil, r.body))
	}
	h, err := http.NewRequestWithContext(ctx, r.method, address, content)
	if err != nil {
		return nil, unanswered(r, err)
	}
	if r.body != nil {
		h.Header.Set("Content-Type", "application/json; charset=UTF-8")
	}
	h.Header.Set("User-Agent", "zerodag")
	h.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := c.HTTP.Do(h)
	if err != nil {
		return nil, unanswered(r, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, refusal(r, answer, text)
	case err != nil:
		return nil, unanswered(r, err)
	case len(text) > mostAnswer:
		return nil, &Unreadable{Path: r.path, Why: fmt.Sprintf("it is longer than %d MiB", mostAnswer>>20)}
	}
	return text, nil
}

// bigQuery returns a request to the BigQuery API.
func (c *Client) bigQuery(method string, segments ...string) request {
	base := c.BigQuery
	if base == "" {
		base = bigQueryAddress
	}
	return request{method: method, base: strings.TrimSuffix(base, "/"), path: pathOf("/bigquery/v2", segments...)}
}
