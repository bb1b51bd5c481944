package endpoint

import (
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// LivingProject returns the project in the path unless it is deleted.
func (c *Call) LivingProject() (host.Project, error) {
	n, err := c.ID("id")
	if err != nil {
		return host.Project{}, err
	}
	p, err := c.Node.Project(c.Ctx(), c.Actor.Site, n)
	if err != nil {
		return p, wire.OrMissing(err, "project id=%d", n)
	}
	if !p.DeletedAt.IsZero() {
		return p, &host.Error{Code: host.Missing, Message: "Project id=" + c.Vars["id"] + " is already deleted at " + preciseInstant(p.DeletedAt)}
	}
	return p, nil
}

// preciseInstant writes fractions of a second in as many groups of three digits as necessary.
func preciseInstant(t time.Time) string {
	t = t.UTC()
	for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"} {
		s := t.Format(layout)
		if back, err := time.Parse(time.RFC3339Nano, s); err == nil && back.Equal(t) {
			return s
		}
	}
	return t.Format("2006-01-02T15:04:05.000000000Z")
}

// ProjectNamed returns the project with the given name unless it is deleted.
func (c *Call) ProjectNamed(name string) (host.Project, error) {
	list, err := c.Node.Projects(c.Ctx(), host.ProjectQuery{Site: c.Actor.Site, Name: name, Count: 1})
	if err == nil && (len(list) == 0 || name == "") {
		err = wire.Missing("project name=%s", name)
	}
	if err != nil {
		return host.Project{}, err
	}
	return list[0], nil
}

// RevisionAsked returns the revision of a project that the request names, or else the newest.
func (c *Call) RevisionAsked(p host.Project) (host.Revision, error) {
	name, given := c.Arg("revision")
	if !given {
		return p.Latest, nil
	}
	if name == "" {
		return host.Revision{}, wire.Missing("revision name= in project id=%d", p.ID)
	}
	return c.RevisionNamed(p.ID, name)
}

// RevisionNamed returns a revision of a project by its name.
func (c *Call) RevisionNamed(project int64, name string) (host.Revision, error) {
	list, err := c.Node.Revisions(c.Ctx(), host.RevisionQuery{Site: c.Actor.Site, Project: project, Name: name, Count: 1})
	if err == nil && len(list) == 0 {
		err = wire.Missing("revision name=%s in project id=%d", name, project)
	}
	if err != nil {
		return host.Revision{}, err
	}
	return list[0], nil
}

// Definition returns the definition with the given name in a revision.
func (c *Call) Definition(r host.Revision, name string) (host.Workflow, error) {
	list, err := c.Definitions(r, name, name != "")
	if err == nil && (len(list) == 0 || name == "") {
		err = wire.Missing("workflow name=%s in revision id=%d", name, r.ID)
	}
	if err != nil {
		return host.Workflow{}, err
	}
	return list[0], nil
}

// Definitions returns all definitions of a revision, or the one with the given name.
func (c *Call) Definitions(r host.Revision, name string, byName bool) ([]host.Workflow, error) {
	q := host.WorkflowQuery{Site: c.Actor.Site, Revision: r.ID}
	if byName {
		q.Name, q.Count = name, 1
	}
	return c.Node.Workflows(c.Ctx(), q)
}

// AttemptOf returns the attempt in the path.
func (c *Call) AttemptOf(variable string) (host.Attempt, error) {
	n, err := c.ID(variable)
	if err != nil {
		return host.Attempt{}, err
	}
	a, err := c.Node.Attempt(c.Ctx(), c.Actor.Site, n)
	return a, wire.OrMissing(err, "session attempt id=%d", n)
}
