package httpapi

import "zerodag/internal/httpapi/wire"

func getCause(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	task, message, err := c.console.Cause(c.ctx(), a)
	if err != nil {
		return nil, err
	}
	answer := wire.Cause{Task: wire.TextOrNull(task), Message: wire.TextOrNull(wire.Beginning(message)), Lines: []string{}}
	if task != "" {
		answer.Lines = append(answer.Lines, c.Node.LastLines(c.ctx(), a, task)...)
	}
	return answer, nil
}
