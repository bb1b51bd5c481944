package schedules

import (
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// timeArg reads a time from the query; zero if it is missing.
func timeArg(c *endpoint.Call, name string) (time.Time, error) {
	text, given := c.Arg(name)
	if !given || text == "" {
		return time.Time{}, nil
	}
	t, err := wire.ParseInstant(text)
	if err != nil {
		return time.Time{}, wire.Invalid("%s= must be a date and time with an offset or Z, such as 2026-01-31T00:00:00Z, not %q", name, text)
	}
	return t, nil
}

func getUpcoming(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	count, err := c.Counting("count", 10, 1000)
	if err != nil {
		return nil, err
	}
	from, err := timeArg(c, "from")
	if err != nil {
		return nil, err
	}
	list, err := c.Console.Upcoming(c.Ctx(), c.Actor.Site, n, from, count)
	if err != nil {
		return nil, noSchedule(c, err)
	}
	return wire.Collection("times", list, func(t schedule.Time) wire.Time {
		return wire.Time{SessionTime: t.Time.Format(wire.OffsetForm), RunTime: wire.Moment(t.RunTime)}
	}), nil
}

func getDates(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	count, err := c.Counting("count", 100, 1000)
	if err != nil {
		return nil, err
	}
	if _, err := c.Required("from"); err != nil {
		return nil, err
	}
	from, err := timeArg(c, "from")
	if err != nil {
		return nil, err
	}
	until, err := timeArg(c, "to")
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = c.Now()
	}
	list, all, err := c.Console.Dates(c.Ctx(), c.Actor.Site, n, from, until, count)
	if err != nil {
		return nil, noSchedule(c, err)
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
