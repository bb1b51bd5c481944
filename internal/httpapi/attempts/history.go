package attempts

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// The page sizes of a history: the default and the largest.
const (
	historyPage = 100
	historyMost = 1000
)

func getHistory(c *endpoint.Call) (any, error) {
	first, err := c.Number("first", 1)
	if err != nil {
		return nil, err
	}
	count, err := c.Number("count", historyPage)
	if err != nil {
		return nil, err
	}
	if first < 1 || count < 0 || count > historyMost {
		return nil, wire.Invalid("first= must be at least 1, count= from 0 to %d", historyMost)
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	var list []host.Entry
	if count > 0 {
		if list, err = c.Node.History(c.Ctx(), a, first, int(count)); err != nil {
			return nil, wire.OrMissing(err, "history of session attempt id=%d", a.ID)
		}
	}
	return wire.Collection("history", list, wire.PastOf), nil
}

func getPastTasks(c *endpoint.Call) (any, error) {
	seq, err := c.ID("seq")
	if err != nil {
		return nil, err
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.ViewAt(c.Ctx(), a, seq, func(s *engine.State) { answer, wrong = shownTasks(c, a, s, unknownRunners) })
	if err = errors.Join(err, wrong); err != nil {
		return nil, wire.OrMissing(err, "entry seq=%d of session attempt id=%d", seq, a.ID)
	}
	return answer, nil
}
