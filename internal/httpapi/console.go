package httpapi

import (
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/console"
	"zerodag/internal/httpapi/wire"
)

// counting reads a number of rows that is asked for: from 1 to most.
func (c *call) counting(name string, otherwise, most int64) (int, error) {
	n, err := c.number(name, otherwise)
	if err == nil && (n < 1 || n > most) {
		err = wire.Invalid("%s= must be from 1 to %d, not %d", name, most, n)
	}
	return int(n), err
}

// timeArg reads a time of the query; zero when it was not given.
func (c *call) timeArg(name string) (time.Time, error) {
	text, given := c.arg(name)
	if !given || text == "" {
		return time.Time{}, nil
	}
	t, err := wire.ParseInstant(text)
	if err != nil {
		return time.Time{}, wire.Invalid("%s= must be a date and time with an offset or Z, as 2026-01-31T00:00:00Z, not %q", name, text)
	}
	return t, nil
}

func getOverview(c *call) (any, error) {
	seen, err := c.number("seen", c.Now().Add(-wire.SeenUnlessSaid).UnixMilli())
	if err != nil {
		return nil, err
	}
	o, err := c.console.Overview(c.ctx(), c.actor.Site, time.UnixMilli(seen))
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
		if r.Late[i], err = c.late(x); err != nil {
			return nil, err
		}
	}
	r.Next.Total, r.Next.Rows = o.Schedules, make([]wire.Schedule, len(o.Next))
	for i, s := range o.Next {
		if r.Next.Rows[i], err = c.schedule(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *call) late(x console.Late) (wire.Late, error) {
	r := wire.Late{Kind: x.Kind, Since: wire.Millis(x.Since), Usual: x.Usual.Milliseconds()}
	if x.Kind != console.Due {
		b := wire.Briefly(x.Attempt)
		r.Attempt = &b
		return r, nil
	}
	s, err := c.schedule(x.Schedule)
	r.Schedule = &s
	return r, err
}

func findSessions(c *call) (any, error) {
	f, err := c.sessionFilter("state")
	if err != nil {
		return nil, err
	}
	f.Workflow = c.text("workflow")
	if f.Before, err = c.number("before", 0); err != nil {
		return nil, err
	}
	if f.Count, err = c.counting("count", 50, 200); err != nil {
		return nil, err
	}
	if name, given := c.arg("project"); given {
		p, err := c.byName(name)
		if err != nil {
			return nil, err
		}
		f.Project = p.ID
	}
	p, err := c.console.Sessions(c.ctx(), f)
	if err != nil {
		return nil, err
	}
	return wire.Found{Sessions: wire.Each(p.Sessions, wire.LastBriefly), Next: wire.OrNull(p.Next)}, nil
}

func getGrid(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	q := console.GridQuery{Site: c.actor.Site, Parent: c.text("parent")}
	if q.Before, err = c.number("before", 0); err != nil {
		return nil, err
	}
	if q.Columns, err = c.counting("columns", 30, 60); err != nil {
		return nil, err
	}
	if q.Rows, err = c.counting("rows", 200, 500); err != nil {
		return nil, err
	}
	w, err := c.Node.Workflow(c.ctx(), q.Site, n)
	if err != nil {
		return nil, wire.OrMissing(err, "workflow id=%d", n)
	}
	q.Project, q.Workflow = w.Project.ID, w.Name
	g, err := c.console.Grid(c.ctx(), q)
	if err != nil {
		return nil, err
	}
	return wire.Grid{Columns: wire.Each(g.Columns, wire.LastBriefly), Rows: wire.Each(g.Rows, wire.GridRow), More: g.More, Next: wire.OrNull(g.Next)}, nil
}

func getUpcoming(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	count, err := c.counting("count", 10, 1000)
	if err != nil {
		return nil, err
	}
	from, err := c.timeArg("from")
	if err != nil {
		return nil, err
	}
	list, err := c.console.Upcoming(c.ctx(), c.actor.Site, n, from, count)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	return wire.Collection("times", list, func(t schedule.Time) wire.Time {
		return wire.Time{SessionTime: t.Time.Format(wire.OffsetForm), RunTime: wire.Moment(t.RunTime)}
	}), nil
}

func getDates(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	count, err := c.counting("count", 100, 1000)
	if err != nil {
		return nil, err
	}
	if _, err := c.required("from"); err != nil {
		return nil, err
	}
	from, err := c.timeArg("from")
	if err != nil {
		return nil, err
	}
	until, err := c.timeArg("to")
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = c.Now()
	}
	list, all, err := c.console.Dates(c.ctx(), c.actor.Site, n, from, until, count)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	r := wire.Dates{Dates: make([]wire.Date, len(list)), All: all}
	for i, d := range list {
		r.Dates[i] = wire.Date{SessionTime: d.Time.Format(wire.OffsetForm), State: "new", Ahead: d.Ahead}
		if s := d.Session; s != nil {
			r.Dates[i].State, r.Dates[i].SessionID, r.Dates[i].AttemptID = s.Last.Status(), wire.OrNull(s.ID), wire.OrNull(s.Last.ID)
		}
	}
	return r, nil
}
