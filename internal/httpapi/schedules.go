package httpapi

import (
	"errors"
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// schedule shows a schedule; its times are in the zone of its workflow.
func (c *call) schedule(s host.Schedule) (wire.Schedule, error) {
	w, err := c.Node.Workflow(c.ctx(), c.actor.Site, s.Workflow.ID)
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		return wire.Schedule{}, err
	}
	return wire.Schedule{ID: wire.ID(s.ID), Project: wire.Named(s.Project), Workflow: wire.Named(s.Workflow), NextRunTime: wire.Moment(s.Times.Run),
		NextScheduleTime: wire.OffsetTime(s.Times.Session, w.Zone), DisabledAt: wire.Moment(s.DisabledAt)}, nil
}

// summary answers with a schedule that was changed.
func (c *call) summary(s host.Schedule, err error) (any, error) {
	if err != nil {
		return nil, c.noSchedule(err)
	}
	r, err := c.schedule(s)
	return wire.Summary{Schedule: r, CreatedAt: wire.Moment(s.CreatedAt), UpdatedAt: wire.Moment(s.CreatedAt)}, err
}

func (c *call) noSchedule(err error) error {
	return wire.OrMissing(err, "schedule id=%s", c.vars["id"])
}

// scheduleList answers with up to 100 schedules.
func (c *call) scheduleList(q host.ScheduleQuery) (any, error) {
	q.Site, q.Count = c.actor.Site, 100
	list, err := c.Node.Schedules(c.ctx(), q)
	if err != nil {
		return nil, err
	}
	return c.shown(list)
}

func (c *call) shown(list []host.Schedule) (any, error) {
	rows := make([]wire.Schedule, len(list))
	for i, s := range list {
		var err error
		if rows[i], err = c.schedule(s); err != nil {
			return nil, err
		}
	}
	return map[string][]wire.Schedule{"schedules": rows}, nil
}

func getSchedules(c *call) (any, error) {
	last, err := c.number("last_id", 0)
	if err != nil {
		return nil, err
	}
	return c.scheduleList(host.ScheduleQuery{After: last})
}

func getProjectSchedules(c *call) (any, error) {
	last, err := c.number("last_id", 0)
	if err != nil {
		return nil, err
	}
	p, err := c.living()
	if err != nil {
		return nil, err
	}
	name, byName := c.arg("workflow")
	switch {
	case byName && name == "":
		return c.shown(nil)
	case byName:
		last = 0 // there is one at most
	}
	return c.scheduleList(host.ScheduleQuery{Project: p.ID, Workflow: name, After: last})
}

func getSchedule(c *call) (any, error) {
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	s, err := c.Node.Schedule(c.ctx(), c.actor.Site, n)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	return c.schedule(s)
}

// changing reads the id and body of a change of a schedule.
func (c *call) changing(body any, optional bool) (int64, error) {
	n, err := c.id("id")
	if err != nil {
		return 0, err
	}
	c.target = "schedule " + strconv.FormatInt(n, 10)
	if body == nil {
		return n, nil
	}
	return n, c.read(body, optional)
}

func skipSchedule(c *call) (any, error) {
	var b wire.SkipBody
	n, err := c.changing(&b, false)
	switch {
	case err != nil:
		return nil, err
	case !b.DryRun.Given:
		return nil, wire.NotSet("dryRun")
	case b.NextTime == nil && (b.Count == nil || b.FromTime == nil):
		return nil, wire.Invalid("nextTime or (fromTime and count) are required")
	}
	r := catalogue.SkipRequest{DryRun: b.DryRun.Yes}
	c.dry = r.DryRun
	if b.NextTime != nil {
		r.To = string(*b.NextTime)
	} else {
		r.Count, r.From = int(*b.Count), b.FromTime.Time
	}
	if b.NextRunTime != nil {
		r.RunTime = b.NextRunTime.Time
	}
	return c.summary(c.Node.Skip(c.ctx(), c.actor.Site, n, r))
}

func backfillSchedule(c *call) (any, error) {
	var b wire.BackfillBody
	n, err := c.changing(&b, false)
	if err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	r := catalogue.BackfillRequest{From: b.FromTime.Time, Name: string(*b.AttemptName), DryRun: b.DryRun.Yes}
	c.dry = r.DryRun
	if b.Count != nil {
		n := int(*b.Count)
		r.Count = &n
	}
	s, attempts, err := c.Node.Backfill(c.ctx(), c.actor.Site, n, r)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	list := wire.Collection("attempts", attempts, wire.AttemptOf)["attempts"]
	return wire.Backfilled{ID: wire.ID(s.ID), Project: wire.Named(s.Project), Workflow: wire.Named(s.Workflow), Attempts: list}, nil
}

func disableSchedule(c *call) (any, error) {
	n, err := c.changing(nil, true)
	if err != nil {
		return nil, err
	}
	return c.summary(c.Node.Disable(c.ctx(), c.actor.Site, n))
}

func enableSchedule(c *call) (any, error) {
	var b wire.EnableBody
	n, err := c.changing(&b, true)
	if err != nil {
		return nil, err
	}
	r := catalogue.EnableRequest{Skip: b.SkipSchedule.Yes}
	if b.NextTime != nil && r.Skip { // the original reads the time in no other case
		r.To = string(*b.NextTime)
		if to, err := wire.ParseLocalOrInstant(r.To); err == nil {
			r.To = string(to)
		}
	}
	return c.summary(c.Node.Enable(c.ctx(), c.actor.Site, n, r))
}
