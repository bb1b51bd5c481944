package client

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Columns holds tasks as one list per property: row i of every list describes the same task. Tasks are numbered from 1,
// the root, within the attempt; times are milliseconds since 1970, 0 for none.
type Columns struct {
	ID      []int64  `json:"id"`
	Parent  []int64  `json:"parent"` // 0 for the root
	Name    []string `json:"name"`   // the part that it adds to its parent's full name
	State   []string `json:"state"`
	Started []int64  `json:"started"` // when it was first sent to a worker
	Changed []int64  `json:"changed"` // when its state last changed
}

// Len returns the number of tasks; 0 if the lists have different lengths.
func (c *Columns) Len() int {
	n := len(c.ID)
	for _, other := range []int{len(c.Parent), len(c.Name), len(c.State), len(c.Started), len(c.Changed)} {
		if other != n {
			return 0
		}
	}
	return n
}

// Outline is a page of an attempt's tasks without their parameters.
type Outline struct {
	Seq   *int64  `json:"seq"` // the last entry of the history that the tasks reflect; nil if nothing changes
	Tasks Columns `json:"tasks"`
	Next  *int64  `json:"next"` // the value of after for the next page; nil on the last page
}

// Change is an entry in an attempt's history: the tasks that it created, and the new states of changed tasks.
type Change struct {
	Seq   int64    `json:"seq"`
	At    int64    `json:"at"` // milliseconds since 1970
	Made  *Columns `json:"made"`
	Task  []int64  `json:"task"`
	State []string `json:"state"`
}

// Changes is a page of changes, in order.
type Changes struct {
	Changes []Change `json:"changes"`
	Next    int64    `json:"next"` // the value of after for the following changes
	More    bool     `json:"more"` // more changes are already available
	Done    bool     `json:"done"` // the attempt has ended, and no more changes follow
}

// Outline returns an attempt's tasks with numbers above after. Older servers and Digdag have no such address: IsMissing
// is true for their error.
func (c *Client) Outline(ctx context.Context, attempt ID, after int64) (o Outline, err error) {
	err = c.get(ctx, path("api", "x", "attempts", string(attempt), "outline"), query("after", strconv.FormatInt(after, 10)), &o)
	return o, err
}

// Changes returns the changes to an attempt's tasks after an entry in its history.
func (c *Client) Changes(ctx context.Context, attempt ID, after int64) (p Changes, err error) {
	err = c.get(ctx, path("api", "x", "attempts", string(attempt), "changes"), query("after", strconv.FormatInt(after, 10)), &p)
	return p, err
}

// FileText returns the text of a revision's file; found is false if the file is not text or is too large for one
// response.
func (c *Client) FileText(ctx context.Context, project ID, revision, name string) (text string, found bool, err error) {
	var file struct{ Text *string }
	at := path(append([]string{"api", "x", "projects", string(project), "files"}, strings.Split(name, "/")...)...)
	if err := c.get(ctx, at, query("revision", revision), &file); err != nil || file.Text == nil {
		return "", false, err
	}
	return *file.Text, true, nil
}

// Definition returns a workflow of any revision by its number.
func (c *Client) Definition(ctx context.Context, id ID) (w Workflow, err error) {
	err = c.get(ctx, path("api", "workflows", string(id)), nil, &w)
	return w, err
}

// Moment converts milliseconds since 1970 to a time; 0 becomes the zero time.
func Moment(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}
