package httpapi

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// tasks shows those of an attempt.
func (c *call) tasks(a host.Attempt, s *engine.State) (any, error) {
	mask, err := c.Node.Masker(c.ctx(), a, s)
	if err != nil {
		return nil, err
	}
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	return wire.Collection("tasks", list, func(t *engine.Task) wire.Task { return wire.TaskOf(s, t, a.CreatedAt, mask) }), nil
}

func getTasks(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.View(c.ctx(), a, func(s *engine.State) { answer, wrong = c.tasks(a, s) })
	return answer, errors.Join(err, wrong)
}
