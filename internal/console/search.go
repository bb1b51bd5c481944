package console

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Found holds a site's objects that match a search text.
type Found struct {
	Projects  []host.Project
	Workflows []host.Workflow
	Tasks     []FoundTask
	Session   *host.Session // whose number is the search text
	Attempt   *host.Attempt // whose number is the search text
}

// FoundTask is a task as defined in the newest revision of its workflow.
type FoundTask struct {
	Name     string // full
	Workflow host.Workflow
}

// Maximum number of results of each kind, and of workflows that are searched for tasks.
const (
	mostFound      = 20
	mostLookedInto = 200
)

// Search finds projects and workflows whose names contain a string (case-sensitive), the session and the attempt with
// that number and, if the string begins with +, tasks.
func (c *Console) Search(ctx context.Context, site int64, text string) (f Found, err error) {
	if strings.HasPrefix(text, "+") {
		f.Tasks, err = c.tasksNamed(ctx, site, text)
		return f, err
	}
	if f.Projects, err = c.Catalogue.Projects(ctx, host.ProjectQuery{Site: site, Pattern: text, Count: mostFound}); err != nil {
		return Found{}, err
	}
	if f.Workflows, err = c.Catalogue.Workflows(ctx, host.WorkflowQuery{Site: site, Pattern: text, Count: mostFound}); err != nil {
		return Found{}, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return f, nil //nolint:nilerr // it is not a number
	}
	s, err := c.Catalogue.Session(ctx, site, n)
	if err == nil {
		f.Session = &s
	} else if !errors.Is(err, host.ErrNotFound) {
		return Found{}, err
	}
	a, err := c.Catalogue.Attempt(ctx, site, n)
	if err == nil {
		f.Attempt = &a
	} else if !errors.Is(err, host.ErrNotFound) {
		return Found{}, err
	}
	return f, nil
}

// tasksNamed finds tasks whose full names contain a string.
func (c *Console) tasksNamed(ctx context.Context, site int64, text string) (found []FoundTask, err error) {
	list, err := c.Catalogue.Workflows(ctx, host.WorkflowQuery{Site: site, Count: mostLookedInto})
	for _, w := range list {
		named(w.Config, "+"+w.Name, func(name string) bool {
			if strings.Contains(name, text) {
				found = append(found, FoundTask{name, w})
			}
			return len(found) < mostFound
		})
	}
	return found, err
}

// named passes the full names of the tasks below a task to do until do returns false.
func named(config *param.Map, above string, do func(name string) bool) bool {
	for key, v := range config.All() {
		inner, is := v.(*param.Map)
		if !is || !strings.HasPrefix(key, "+") {
			continue
		}
		if !do(above+key) || !named(inner, above+key, do) {
			return false
		}
	}
	return true
}
