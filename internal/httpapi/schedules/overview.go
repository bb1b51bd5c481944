package schedules

import (
	"time"

	"zerodag/internal/console"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getOverview(c *endpoint.Call) (any, error) {
	seen, err := c.Number("seen", c.Now().Add(-wire.SeenUnlessSaid).UnixMilli())
	if err != nil {
		return nil, err
	}
	o, err := c.Console.Overview(c.Ctx(), c.Actor.Site, time.UnixMilli(seen))
	if err != nil {
		return nil, err
	}
	r := wire.Overview{At: wire.Millis(o.At), Late: make([]wire.Late, len(o.Late))}
	r.Running.Total = o.Active
	r.Running.Rows = wire.Each(o.Running, func(x console.Running) wire.Running {
		return wire.Running{Attempt: wire.Briefly(x.Attempt), Tasks: x.Tasks, Done: x.Done}
	})
	r.Failed.All = o.FailedAll
	r.Failed.Rows = wire.Each(o.Failed, func(x console.Failed) wire.Failed {
		return wire.Failed{Attempt: wire.Briefly(x.Attempt), Task: wire.TextOrNull(x.Task), Message: wire.TextOrNull(wire.Beginning(x.Message))}
	})
	for i, x := range o.Late {
		if r.Late[i], err = shownLate(c, x); err != nil {
			return nil, err
		}
	}
	r.Next.Total, r.Next.Rows = o.Schedules, make([]wire.Schedule, len(o.Next))
	for i, s := range o.Next {
		if r.Next.Rows[i], err = shownSchedule(c, s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func shownLate(c *endpoint.Call, x console.Late) (wire.Late, error) {
	r := wire.Late{Kind: x.Kind, Since: wire.Millis(x.Since), Usual: x.Usual.Milliseconds()}
	if x.Kind != console.Due {
		b := wire.Briefly(x.Attempt)
		r.Attempt = &b
		return r, nil
	}
	s, err := shownSchedule(c, x.Schedule)
	r.Schedule = &s
	return r, err
}
