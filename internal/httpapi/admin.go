package httpapi

import (
	"net/http"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// getUserInfo answers with who pushed the revision of an attempt. Only administrators on
// their own listener see it: elsewhere the path does not exist.
func getUserInfo(c *call) (any, error) {
	if !c.actor.Admin {
		return nil, &refusal{http.StatusForbidden, "Only administrators may do this"}
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	w, err := c.Node.Workflow(c.ctx(), c.actor.Site, a.Workflow.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", a.Workflow.ID)
	}
	list, err := c.Node.Revisions(c.ctx(), host.RevisionQuery{Site: c.actor.Site, Project: a.Project.ID, Name: w.Revision.Name, Count: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, wire.Missing("revision name=%s in project id=%d", w.Revision.Name, a.Project.ID)
	}
	return wire.Object{Map: list[0].UserInfo}, nil
}
