package projects

import (
	"zerodag/internal/console"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getPlan(c *endpoint.Call) (any, error) {
	w, err := workflowOf(c)
	if err != nil {
		return nil, err
	}
	p, err := c.Console.Plan(c.Ctx(), w)
	if err != nil {
		return nil, err
	}
	tasks := wire.PlannedTasks(p)
	return wire.Plan{Workflow: wire.IDName{ID: wire.ID(w.ID), Name: w.Name}, Revision: w.Revision.Name, Tasks: tasks, All: p.All,
		Params: wire.Each(p.Params, func(u console.Used) wire.Used {
			return wire.Used{Name: wire.Beginning(u.Name), Task: wire.Beginning(u.Task)}
		}), Source: p.Source}, nil
}
