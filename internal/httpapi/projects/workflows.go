package projects

import (
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// definitionIn responds with one of a project's definitions.
func definitionIn(c *endpoint.Call, p host.Project, name string) (any, error) {
	r, err := c.RevisionAsked(p)
	if err != nil {
		return nil, err
	}
	w, err := c.Definition(r, name)
	if err != nil {
		return nil, err
	}
	return wire.WorkflowOf(w), nil
}

func getProjectWorkflows(c *endpoint.Call) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	r, err := c.RevisionAsked(p)
	if err != nil {
		return nil, err
	}
	name, byName := c.Arg("name")
	var list []host.Workflow
	if !byName || name != "" {
		if list, err = c.Definitions(r, name, byName); err != nil {
			return nil, err
		}
	}
	return wire.Collection("workflows", list, wire.WorkflowOf), nil
}

func getWorkflowByName(c *endpoint.Call) (any, error) {
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	return definitionIn(c, p, c.Vars["name"])
}

func getWorkflowByQuery(c *endpoint.Call) (any, error) {
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	name, err := c.Required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	return definitionIn(c, p, name)
}

func getWorkflowDefinition(c *endpoint.Call) (any, error) {
	project, err := c.Required("project")
	if err != nil {
		return nil, err
	}
	name, err := c.Required("name")
	if err != nil {
		return nil, err
	}
	p, err := c.ProjectNamed(project)
	if err != nil {
		return nil, err
	}
	return definitionIn(c, p, name)
}

func getWorkflows(c *endpoint.Call) (any, error) {
	last, count, err := lastAndCount(c)
	if err != nil {
		return nil, err
	}
	order, given := c.Arg("order")
	if given && order != "asc" && order != "desc" {
		return nil, wire.Invalid("parameter 'order' must be either 'asc' or 'desc'")
	}
	var list []host.Workflow
	if count > 0 {
		list, err = c.Node.Workflows(c.Ctx(), host.WorkflowQuery{Site: c.Actor.Site, Pattern: c.Text("name_pattern"),
			OrProject: c.Flag("search_project_name"), Last: last, Count: count, Bytes: wire.MostListed, Descending: order == "desc"})
		if err != nil {
			return nil, err
		}
	}
	return wire.Collection("workflows", list, wire.WorkflowOf), nil
}

// workflowOf returns the definition in the path.
func workflowOf(c *endpoint.Call) (host.Workflow, error) {
	n, err := c.ID("id")
	if err != nil {
		return host.Workflow{}, err
	}
	w, err := c.Node.Workflow(c.Ctx(), c.Actor.Site, n)
	return w, wire.OrMissing(err, "workflow id=%d", n)
}

func getWorkflow(c *endpoint.Call) (any, error) {
	w, err := workflowOf(c)
	if err != nil {
		return nil, err
	}
	return wire.WorkflowOf(w), nil
}

func getSessionTime(c *endpoint.Call) (any, error) {
	text, given := c.Arg("session_time")
	mode := c.Text("mode")
	at, err := wire.ParseLocalOrInstant(text)
	if given && err != nil {
		return nil, endpoint.ErrUnreadable
	}
	switch _, hasMode := c.Arg("mode"); {
	case !hasMode, mode == "hour", mode == "day", mode == "schedule", mode == "next_schedule":
	default:
		return nil, endpoint.ErrUnreadable
	}
	if _, err := c.ID("id"); err != nil {
		return nil, err
	}
	if !given {
		return nil, wire.Invalid("session_time= is required")
	}
	w, err := workflowOf(c)
	if err != nil {
		return nil, err
	}
	t, err := c.Node.SessionTime(w, string(at), mode)
	if err != nil {
		return nil, err
	}
	return wire.SessionTime{Project: wire.Named(w.Project), Revision: w.Revision.Name, SessionTime: wire.OffsetTime(t, w.Zone), Timezone: w.Zone}, nil
}
