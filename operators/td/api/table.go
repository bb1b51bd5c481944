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

// EnsureDatabase creates a database unless it exists. Like Digdag, it checks afterward that it exists, and otherwise
// creates it again.
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

// EnsureNoDatabase deletes a database if it exists.
func (c *Client) EnsureNoDatabase(ctx context.Context, name string) error {
	return unless(http.StatusNotFound, c.change(ctx, "Database", name, post(pathOf("/v3/database/delete", name), nil)))
}

// EnsureTable creates a table unless it exists, like EnsureDatabase.
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

// EnsureNoTable deletes a table if it exists.
func (c *Client) EnsureNoTable(ctx context.Context, database, name string) error {
	return unless(http.StatusNotFound, c.call(ctx, post(pathOf("/v3/table/delete", database, name), nil)))
}

// EnsureRenamed renames a table that existed before, replacing one with the new name. A missing table counts as already
// renamed.
func (c *Client) EnsureRenamed(ctx context.Context, database, from, to string) error {
	return unless(http.StatusNotFound, c.change(ctx, "Table", to,
		post(pathOf("/v3/table/rename", database, from, to), url.Values{"overwrite": {"true"}})))
}

// change makes a call with a name that must be valid.
func (c *Client) change(ctx context.Context, what, name string, r request) error {
	if err := checkName(what, name); err != nil {
		return err
	}
	return c.call(ctx, r)
}

// unless treats a response as successful if the intended state already holds.
func unless(status int, err error) error {
	if Is(err, status) {
		return nil
	}
	return err
}

var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9_]+)$`) })

// checkName refuses names that the service does not accept.
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

// HasTable reports whether a table exists; false if its database does not exist.
func (c *Client) HasTable(ctx context.Context, database, name string) (bool, error) {
	var answer struct {
		Tables []named `json:"tables"`
	}
	err := unless(http.StatusNotFound, c.read(ctx, get(pathOf("/v3/table/list", database), nil), &answer))
	return has(answer.Tables, name), err
}
