package attempts

import (
	"errors"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getOutline(c *endpoint.Call) (any, error) {
	after, err := c.Number("after", 0)
	if err != nil {
		return nil, err
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	o := wire.Outline{At: wire.Millis(c.Now()), Tasks: wire.NewColumns(), Errors: []wire.TaskError{}}
	var wrong error
	err = c.Node.ViewSince(c.Ctx(), a, func(s *engine.State, seq int64) {
		if seq > 0 {
			o.Seq = &seq
		}
		if s != nil {
			wrong = fillOutline(c, &o, a, s, engine.TaskID(max(after, 0)))
		}
	})
	return o, errors.Join(err, wrong)
}

func fillOutline(c *endpoint.Call, o *wire.Outline, a host.Attempt, s *engine.State, after engine.TaskID) error {
	mask, err := c.Node.Masker(c.Ctx(), a, s)
	if err != nil {
		return err
	}
	for _, t := range s.Tasks() {
		if t.ID <= after {
			continue
		}
		if o.Tasks.Full() {
			o.Next = new(o.Tasks.ID[len(o.Tasks.ID)-1])
			return nil
		}
		o.Tasks.Add(s, t)
		if t.State == engine.Failed && t.Outcome != nil && len(o.Errors) < wire.MostErrors {
			text, _ := mask(t.Error).Get("message")
			message, _ := text.(string)
			o.Errors = append(o.Errors, wire.TaskError{Task: t.ID, Message: wire.Beginning(message)})
		}
	}
	return nil
}
