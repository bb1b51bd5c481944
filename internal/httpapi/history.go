package httpapi

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// The pages of a history: what is asked for unless said otherwise, and at most.
const (
	historyPage = 100
	historyMost = 1000
)

func getHistory(c *call) (any, error) {
	first, err := c.number("first", 1)
	if err != nil {
		return nil, err
	}
	count, err := c.number("count", historyPage)
	if err != nil {
		return nil, err
	}
	if first < 1 || count < 0 || count > historyMost {
		return nil, wire.Invalid("first= must be at least 1, count= from 0 to %d", historyMost)
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var list []host.Entry
	if count > 0 {
		if list, err = c.Node.History(c.ctx(), a, first, int(count)); err != nil {
			return nil, wire.OrMissing(err, "history of session attempt id=%d", a.ID)
		}
	}
	return wire.Collection("history", list, wire.PastOf), nil
}

func getPastTasks(c *call) (any, error) {
	seq, err := c.id("seq")
	if err != nil {
		return nil, err
	}
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.ViewAt(c.ctx(), a, seq, func(s *engine.State) { answer, wrong = c.tasks(a, s) })
	if err = errors.Join(err, wrong); err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", seq, a.ID)
	}
	return answer, nil
}
