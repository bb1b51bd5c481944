package attempts

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// runners finds the servers that run tasks of an attempt: see node.Node.Runners.
type runners func(*engine.State) map[engine.TaskID]string

// unknownRunners is for past states.
func unknownRunners(*engine.State) map[engine.TaskID]string { return nil }

// shownTasks shows an attempt's tasks.
func shownTasks(c *endpoint.Call, a host.Attempt, s *engine.State, runners runners) (any, error) {
	mask, err := c.Node.Masker(c.Ctx(), a, s)
	if err != nil {
		return nil, err
	}
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	running := runners(s)
	return wire.Collection("tasks", list, func(t *engine.Task) wire.Task {
		r := wire.TaskOf(s, t, a.CreatedAt, mask)
		r.AgentID = running[t.ID]
		return r
	}), nil
}

func getTasks(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	running, err := c.Node.Runners(c.Ctx(), a)
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.View(c.Ctx(), a, func(s *engine.State) { answer, wrong = shownTasks(c, a, s, running) })
	return answer, errors.Join(err, wrong)
}
