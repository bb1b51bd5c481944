package attempts

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// shownTasks shows the tasks of an attempt.
func shownTasks(c *endpoint.Call, a host.Attempt, s *engine.State) (any, error) {
	mask, err := c.Node.Masker(c.Ctx(), a, s)
	if err != nil {
		return nil, err
	}
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	return wire.Collection("tasks", list, func(t *engine.Task) wire.Task { return wire.TaskOf(s, t, a.CreatedAt, mask) }), nil
}

func getTasks(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.View(c.Ctx(), a, func(s *engine.State) { answer, wrong = shownTasks(c, a, s) })
	return answer, errors.Join(err, wrong)
}
