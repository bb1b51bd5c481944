package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
)

// EnsureDatabase makes a database unless it is there. Like the original it looks whether it is
// there afterwards and makes it once more when it is not.
func (c *Client) EnsureDatabase(ctx context.Context, name string) error {
	create := func() error {
		return unless(http.StatusConflict, c.change(ctx, "Database", name, post(pathOf("/v3/database/create", name), nil)))
	}
	if err := create(); err != nil {
		return err
	}
	there, err := c.hasDatabase(ctx, name)
	if there || err != nil {
		return err
	}
	return create()
}

// EnsureNoDatabase deletes a database if it is there.
func (c *Client) EnsureNoDatabase(ctx context.Context, name string) error {
	return unless(http.StatusNotFound, c.change(ctx, "Database", name, post(pathOf("/v3/database/delete", name), nil)))
}

// EnsureTable makes a table unless it is there, as EnsureDatabase does.
func (c *Client) EnsureTable(ctx context.Context, database, name string) error {
	create := func() error {
		return unless(http.StatusConflict, c.change(ctx, "Table", name, post(pathOf("/v3/table/create", database, name, "log"), nil)))
	}
	if err := create(); err != nil {
		return err
	}
	there, err := c.HasTable(ctx, database, name)
	if there || err != nil {
		return err
	}
	return create()
}

// EnsureNoTable deletes a table if it is there.
func (c *Client) EnsureNoTable(ctx context.Context, database, name string) error {
	return unless(http.StatusNotFound, c.call(ctx, post(pathOf("/v3/table/delete", database, name), nil)))
}

// EnsureRenamed gives a table that was there another name, in place of one that has it. One that
// is not there any more was renamed before.
func (c *Client) EnsureRenamed(ctx context.Context, database, from, to string) error {
	return unless(http.StatusNotFound, c.change(ctx, "Table", to,
		post(pathOf("/v3/table/rename", database, from, to), url.Values{"overwrite": {"true"}})))
}

// change makes a call with a name that is to be a good one.
func (c *Client) change(ctx context.Context, what, name string, r request) error {
	if err := checkName(what, name); err != nil {
		return err
	}
	return c.call(ctx, r)
}

// unless takes an answer for a success that says that it is so already.
func unless(status int, err error) error {
	if Is(err, status) {
		return nil
	}
	return err
}

var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9_]+)$`) })

// checkName refuses names that the service does not take.
func checkName(what, name string) error {
	switch {
	case len(name) < 3 || len(name) > 256:
		return &Invalid{fmt.Sprintf("%s name must be 3 to 256 characters but got %d characters: %s", what, len(name), name)}
	case !goodName().MatchString(name):
		return &Invalid{fmt.Sprintf("%s name must follow this pattern %s: %s", what, goodName(), name)}
	}
	return nil
}

type named struct {
	Name string `json:"name"`
}

func has(list []named, name string) bool {
	return slices.ContainsFunc(list, func(n named) bool { return n.Name == name })
}

func (c *Client) hasDatabase(ctx context.Context, name string) (bool, error) {
	var answer struct {
		Databases []named `json:"databases"`
	}
	err := c.read(ctx, get("/v3/database/list", nil), &answer)
	return has(answer.Databases, name), err
}

// HasTable says whether a table is there; one of a database that is not there is not.
func (c *Client) HasTable(ctx context.Context, database, name string) (bool, error) {
	var answer struct {
		Tables []named `json:"tables"`
	}
	err := unless(http.StatusNotFound, c.read(ctx, get(pathOf("/v3/table/list", database), nil), &answer))
	return has(answer.Tables, name), err
}
