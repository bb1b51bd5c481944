package attempts

import (
	"errors"

	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getComparison(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	x, err := c.Console.CompareWithSuccess(c.Ctx(), a)
	if errors.Is(err, host.ErrNotFound) {
		return nil, wire.Missing("session attempt id=%d, or the attempt to compare it with", a.ID)
	}
	if err != nil {
		return nil, err
	}
	r := wire.Comparison{Looked: x.Looked, Revision: wire.FromTo[*string]{From: wire.TextOrNull(x.Revision[0]), To: wire.TextOrNull(x.Revision[1])}}
	if x.With != nil {
		b := wire.Briefly(*x.With)
		r.With = &b
	}
	if x.FilesKnown {
		r.Files = wire.Each(x.Files, func(f console.FileChange) wire.FileChange { return wire.FileChange(f) })
	}
	r.Params = wire.Each(x.Params, func(p console.ParamChange) wire.Param {
		return wire.Param{Name: p.Name, FromTo: wire.FromTo[wire.Value]{From: wire.Value{Value: p.From}, To: wire.Value{Value: p.To}}}
	})
	r.Tasks = wire.Each(x.Tasks, func(t console.TaskChange) wire.Took {
		return wire.Took{Name: t.Name, FromTo: wire.FromTo[int64]{From: t.From.Milliseconds(), To: t.To.Milliseconds()}}
	})
	return r, nil
}
