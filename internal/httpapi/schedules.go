package httpapi

import (
	"errors"
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

type restSchedule struct {
	ID               id     `json:"id"`
	Project          idName `json:"project"`
	Workflow         idName `json:"workflow"`
	NextRunTime      moment `json:"nextRunTime"`
	NextScheduleTime string `json:"nextScheduleTime"`
	DisabledAt       moment `json:"disabledAt"`
}

// restSummary is what changes of a schedule answer. updatedAt repeats createdAt, as in
// the original.
type restSummary struct {
	restSchedule
	CreatedAt moment `json:"createdAt"`
	UpdatedAt moment `json:"updatedAt"`
}

// schedule shows a schedule; its times are in the zone of its workflow.
func (c *call) schedule(s host.Schedule) (restSchedule, error) {
	w, err := c.Node.Workflow(c.ctx(), c.actor.Site, s.Workflow.ID)
	if err != nil && !errors.Is(err, host.ErrNotFound) {
		return restSchedule{}, err
	}
	return restSchedule{ID: id(s.ID), Project: named(s.Project), Workflow: named(s.Workflow), NextRunTime: moment(s.Times.Run),
		NextScheduleTime: offsetTime(s.Times.Session, w.Zone), DisabledAt: moment(s.DisabledAt)}, nil
}

// summary answers with a schedule that was changed.
func (c *call) summary(s host.Schedule, err error) (any, error) {
	if err != nil {
		return nil, c.noSchedule(err)
	}
	r, err := c.schedule(s)
	return restSummary{r, moment(s.CreatedAt), moment(s.CreatedAt)}, err
}

func (c *call) noSchedule(err error) error { return found(err, "schedule id=%s", c.vars["id"]) }

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
	rows := make([]restSchedule, len(list))
	for i, s := range list {
		var err error
		if rows[i], err = c.schedule(s); err != nil {
			return nil, err
		}
	}
	return map[string][]restSchedule{"schedules": rows}, nil
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

type skipBody struct {
	NextTime    *localOrInstant `json:"nextTime"`
	Count       *whole          `json:"count"`
	FromTime    *instant        `json:"fromTime"`
	NextRunTime *instant        `json:"nextRunTime"`
	DryRun      choice          `json:"dryRun"`
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
	var b skipBody
	n, err := c.changing(&b, false)
	switch {
	case err != nil:
		return nil, err
	case !b.DryRun.given:
		return nil, notSet("dryRun")
	case b.NextTime == nil && (b.Count == nil || b.FromTime == nil):
		return nil, invalid("nextTime or (fromTime and count) are required")
	}
	r := catalogue.SkipRequest{DryRun: b.DryRun.yes}
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

type backfillBody struct {
	FromTime    *instant `json:"fromTime"`
	AttemptName *words   `json:"attemptName"`
	Count       *whole   `json:"count"`
	DryRun      choice   `json:"dryRun"`
}

func (b *backfillBody) check() error {
	var absent []string
	if b.FromTime == nil {
		absent = append(absent, "fromTime")
	}
	if b.AttemptName == nil {
		absent = append(absent, "attemptName")
	}
	if !b.DryRun.given {
		absent = append(absent, "dryRun")
	}
	if len(absent) > 0 {
		return notSet(absent...)
	}
	return nil
}

type restBackfill struct {
	ID       id            `json:"id"`
	Project  idName        `json:"project"`
	Workflow idName        `json:"workflow"`
	Attempts []restAttempt `json:"attempts"`
}

func backfillSchedule(c *call) (any, error) {
	var b backfillBody
	n, err := c.changing(&b, false)
	if err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	r := catalogue.BackfillRequest{From: b.FromTime.Time, Name: string(*b.AttemptName), DryRun: b.DryRun.yes}
	c.dry = r.DryRun
	if b.Count != nil {
		n := int(*b.Count)
		r.Count = &n
	}
	s, attempts, err := c.Node.Backfill(c.ctx(), c.actor.Site, n, r)
	if err != nil {
		return nil, c.noSchedule(err)
	}
	list := collection("attempts", attempts, attempt)["attempts"]
	return restBackfill{id(s.ID), named(s.Project), named(s.Workflow), list}, nil
}

func disableSchedule(c *call) (any, error) {
	n, err := c.changing(nil, true)
	if err != nil {
		return nil, err
	}
	return c.summary(c.Node.Disable(c.ctx(), c.actor.Site, n))
}

type enableBody struct {
	SkipSchedule choice `json:"skipSchedule"`
	NextTime     *words `json:"nextTime"`
}

func enableSchedule(c *call) (any, error) {
	var b enableBody
	n, err := c.changing(&b, true)
	if err != nil {
		return nil, err
	}
	r := catalogue.EnableRequest{Skip: b.SkipSchedule.yes}
	if b.NextTime != nil && r.Skip { // the original reads the time in no other case
		r.To = string(*b.NextTime)
		if to, err := parseLocalOrInstant(r.To); err == nil {
			r.To = string(to)
		}
	}
	return c.summary(c.Node.Enable(c.ctx(), c.actor.Site, n, r))
}
