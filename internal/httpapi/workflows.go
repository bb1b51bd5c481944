package httpapi

import (
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// definition returns the definition of a name in a revision.
func (c *call) definition(r host.Revision, name string) (host.Workflow, error) {
	list, err := c.definitions(r, name, name != "")
	if err == nil && (len(list) == 0 || name == "") {
		err = wire.Missing("workflow name=%s in revision id=%d", name, r.ID)
	}
	if err != nil {
		return host.Workflow{}, err
	}
	return list[0], nil
}

func (c *call) definitions(r host.Revision, name string, byName bool) ([]host.Workflow, error) {
	q := host.WorkflowQuery{Site: c.actor.Site, Revision: r.ID}
	if byName {
		q.Name, q.Count = name, 1
	}
	return c.Node.Workflows(c.ctx(), q)
}

// definitionIn answers with a definition of a project.
func (c *call) definitionIn(p host.Project, name string) (any, error) {
	r, err := c.revisionOf(p)
	if err != nil {
		return nil, err
	}
	w, err := c.definition(r, name)
	if err != nil {
		return nil, err
	}
	return wire.WorkflowOf(w), nil
}

func getProjectWorkflows(c *call) (any, error) {
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	r, err := c.revisionOf(p)
	if err != nil {
		return nil, err
	}
	name, byName := c.arg("name")
	var list []host.Workflow
	if !byName || name != "" {
		if list, err = c.definitions(r, name, byName); err != nil {
			return nil, err
		}
	}
	return wire.Collection("workflows", list, wire.WorkflowOf), nil
}

func getWorkflowByName(c *call) (any, error) {
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	return c.definitionIn(p, c.vars["name"])
}

func getWorkflowByQuery(c *call) (any, error) {
	if _, err := c.id("id"); err != nil {
		return nil, err
	}
	name, err := c.required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	return c.definitionIn(p, name)
}

func getWorkflowDefinition(c *call) (any, error) {
	project, err := c.required("project")
	if err != nil {
		return nil, err
	}
	name, err := c.required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.byName(project)
	if err != nil {
		return nil, err
	}
	return c.definitionIn(p, name)
}

func getWorkflows(c *call) (any, error) {
	last, count, err := c.lastAndCount()
	if err != nil {
		return nil, err
	}
	order, given := c.arg("order")
	if given && order != "asc" && order != "desc" {
		return nil, wire.Invalid("parameter 'order' must be either 'asc' or 'desc'")
	}
	var list []host.Workflow
	if count > 0 {
		list, err = c.Node.Workflows(c.ctx(), host.WorkflowQuery{Site: c.actor.Site, Pattern: c.text("name_pattern"),
			OrProject: c.flag("search_project_name"), Last: last, Count: count, Bytes: wire.MostListed, Descending: order == "desc"})
		if err != nil {
			return nil, err
		}
	}
	return wire.Collection("workflows", list, wire.WorkflowOf), nil
}

// workflowOf returns the definition of the path.
func (c *call) workflowOf() (host.Workflow, error) {
	n, err := c.id("id")
	if err != nil {
		return host.Workflow{}, err
	}
	w, err := c.Node.Workflow(c.ctx(), c.actor.Site, n)
	return w, wire.OrMissing(err, "workflow id=%d", n)
}

func getWorkflow(c *call) (any, error) {
	w, err := c.workflowOf()
	if err != nil {
		return nil, err
	}
	return wire.WorkflowOf(w), nil
}

func getSessionTime(c *call) (any, error) {
	text, given := c.arg("session_time")
	mode := c.text("mode")
	at, err := wire.ParseLocalOrInstant(text)
	if given && err != nil {
		return nil, errUnreadable
	}
	switch _, hasMode := c.arg("mode"); {
	case !hasMode, mode == "hour", mode == "day", mode == "schedule", mode == "next_schedule":
	default:
		return nil, errUnreadable
	}
	if _, err := c.id("id"); err != nil {
		return nil, err
	}
	if !given {
		return nil, wire.Invalid("session_time= is required")
	}
	w, err := c.workflowOf()
	if err != nil {
		return nil, err
	}
	t, err := c.Node.SessionTime(w, string(at), mode)
	if err != nil {
		return nil, err
	}
	return wire.SessionTime{Project: wire.Named(w.Project), Revision: w.Revision.Name, SessionTime: wire.OffsetTime(t, w.Zone), Timezone: w.Zone}, nil
}
