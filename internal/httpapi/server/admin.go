package server

import (
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// getUserInfo responds with the user who pushed an attempt's revision. Only administrators on their own listener see
// it: elsewhere the path does not exist.
func getUserInfo(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	w, err := c.Node.Workflow(c.Ctx(), c.Actor.Site, a.Workflow.ID)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", a.Workflow.ID)
	}
	r, err := c.RevisionNamed(a.Project.ID, w.Revision.Name)
	if err != nil {
		return nil, err
	}
	return wire.Object{Map: r.UserInfo}, nil
}
