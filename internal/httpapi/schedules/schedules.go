package schedules

import (
	"errors"
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// shownSchedule shows a schedule; its times are in its workflow's zone.
func shownSchedule(c *endpoint.Call, s host.Schedule) (wire.Schedule, error) {
	w, err := c.Node.Workflow(c.Ctx(), c.Actor.Site, s.Workflow.ID)
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		return wire.Schedule{}, err
	}
	return wire.Schedule{ID: wire.ID(s.ID), Project: wire.Named(s.Project), Workflow: wire.Named(s.Workflow), NextRunTime: wire.Moment(s.Times.Run),
		NextScheduleTime: wire.OffsetTime(s.Times.Session, w.Zone), DisabledAt: wire.Moment(s.DisabledAt)}, nil
}

// summaryOf responds with a schedule that was changed.
func summaryOf(c *endpoint.Call, s host.Schedule, err error) (any, error) {
	if err != nil {
		return nil, noSchedule(c, err)
	}
	r, err := shownSchedule(c, s)
	return wire.Summary{Schedule: r, CreatedAt: wire.Moment(s.CreatedAt), UpdatedAt: wire.Moment(s.CreatedAt)}, err
}

func noSchedule(c *endpoint.Call, err error) error {
	return wire.OrMissing(err, "schedule id=%s", c.Vars["id"])
}

// scheduleList responds with up to 100 schedules.
func scheduleList(c *endpoint.Call, q host.ScheduleQuery) (any, error) {
	q.Site, q.Count = c.Actor.Site, 100
	list, err := c.Node.Schedules(c.Ctx(), q)
	if err != nil {
		return nil, err
	}
	return shownSchedules(c, list)
}

func shownSchedules(c *endpoint.Call, list []host.Schedule) (any, error) {
	rows := make([]wire.Schedule, len(list))
	for i, s := range list {
		var err error
		if rows[i], err = shownSchedule(c, s); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Schedule{"schedules": rows}, nil
}

func getSchedules(c *endpoint.Call) (any, error) {
	last, err := c.Number("last_id", 0)
	if err != nil {
		return nil, err
	}
	return scheduleList(c, host.ScheduleQuery{After: last})
}

func getProjectSchedules(c *endpoint.Call) (any, error) {
	last, err := c.Number("last_id", 0)
	if err != nil {
		return nil, err
	}
	p, err := c.LivingProject()
	if err != nil {
		return nil, err
	}
	name, byName := c.Arg("workflow")
	switch {
	case byName && name == "":
		return shownSchedules(c, nil)
	case byName:
		last = 0 // there is at most one
	}
	return scheduleList(c, host.ScheduleQuery{Project: p.ID, Workflow: name, After: last})
}

func getSchedule(c *endpoint.Call) (any, error) {
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	s, err := c.Node.Schedule(c.Ctx(), c.Actor.Site, n)
	if err != nil {
		return nil, noSchedule(c, err)
	}
	return shownSchedule(c, s)
}

// changing reads the id and body of a schedule change.
func changing(c *endpoint.Call, body any, optional bool) (int64, error) {
	n, err := c.ID("id")
	if err != nil {
		return 0, err
	}
	c.Target = "schedule " + strconv.FormatInt(n, 10)
	if body == nil {
		return n, nil
	}
	return n, c.Read(body, optional)
}

func skipSchedule(c *endpoint.Call) (any, error) {
	var b wire.SkipBody
	n, err := changing(c, &b, false)
	switch {
	case err != nil:
		return nil, err
	case !b.DryRun.Given:
		return nil, wire.NotSet("dryRun")
	case b.NextTime == nil && (b.Count == nil || b.FromTime == nil):
		return nil, wire.Invalid("nextTime or (fromTime and count) are required")
	}
	r := catalogue.SkipRequest{DryRun: b.DryRun.Yes}
	c.Dry = r.DryRun
	if b.NextTime != nil {
		r.To = string(*b.NextTime)
	} else {
		r.Count, r.From = int(*b.Count), b.FromTime.Time
	}
	if b.NextRunTime != nil {
		r.RunTime = b.NextRunTime.Time
	}
	s, err := c.Node.Skip(c.Ctx(), c.Actor.Site, n, r)
	return summaryOf(c, s, err)
}

func backfillSchedule(c *endpoint.Call) (any, error) {
	var b wire.BackfillBody
	n, err := changing(c, &b, false)
	if err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	r := catalogue.BackfillRequest{From: b.FromTime.Time, Name: string(*b.AttemptName), DryRun: b.DryRun.Yes}
	c.Dry = r.DryRun
	if b.Count != nil {
		n := int(*b.Count)
		r.Count = &n
	}
	s, attempts, err := c.Node.Backfill(c.Ctx(), c.Actor.Site, n, r)
	if err != nil {
		return nil, noSchedule(c, err)
	}
	list := wire.Collection("attempts", attempts, wire.AttemptOf)["attempts"]
	return wire.Backfilled{ID: wire.ID(s.ID), Project: wire.Named(s.Project), Workflow: wire.Named(s.Workflow), Attempts: list}, nil
}

func disableSchedule(c *endpoint.Call) (any, error) {
	n, err := changing(c, nil, true)
	if err != nil {
		return nil, err
	}
	s, err := c.Node.Disable(c.Ctx(), c.Actor.Site, n)
	return summaryOf(c, s, err)
}

func enableSchedule(c *endpoint.Call) (any, error) {
	var b wire.EnableBody
	n, err := changing(c, &b, true)
	if err != nil {
		return nil, err
	}
	r := catalogue.EnableRequest{Skip: b.SkipSchedule.Yes}
	if b.NextTime != nil && r.Skip { // Digdag reads the time only in this case
		r.To = string(*b.NextTime)
		if to, err := wire.ParseLocalOrInstant(r.To); err == nil {
			r.To = string(to)
		}
	}
	s, err := c.Node.Enable(c.Ctx(), c.Actor.Site, n, r)
	return summaryOf(c, s, err)
}
