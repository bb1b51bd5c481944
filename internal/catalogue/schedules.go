package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// localTime is a time without a zone: that of the workflow is meant.
const localTime = "2006-01-02T15:04:05"

// parseTime reads an instant, or a local time of a zone.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	if t, err := time.Parse(localTime, text); err == nil {
		return schedule.Local(t, zone), nil
	}
	return time.Time{}, host.Invalidf("Invalid timestamp format: %s", text)
}

// SessionTime resolves a session time in the workflow's zone: mode is "", "hour", "day",
// "schedule" or "next_schedule".
func (c *Catalogue) SessionTime(w host.Workflow, text, mode string) (time.Time, error) {
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return time.Time{}, userError(err)
	}
	t, err := parseTime(text, zone)
	if err != nil {
		return time.Time{}, err
	}
	t = t.In(zone)
	day := schedule.Local(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), zone)
	switch mode {
	case "":
		return t.Truncate(time.Second), nil
	case "hour":
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond())), nil
	case "day":
		return day, nil
	case "schedule", "next_schedule":
		s, err := scheduleOf(w.Config, w.Zone)
		if err != nil {
			return time.Time{}, userError(err)
		}
		if s == nil {
			return time.Time{}, host.Invalidf("session_time_truncate=%s is set but schedule is not set to this workflow", mode)
		}
		if mode == "next_schedule" {
			return s.Next(t).Time.In(zone), nil
		}
		return s.First(t).Time.In(zone), nil
	}
	return time.Time{}, host.Invalidf("unknown mode %q: use hour, day, schedule or next_schedule", mode)
}

// planned is a schedule with what its workflow says.
type planned struct {
	host.Schedule
	workflow host.Workflow
	times    *schedule.Schedule
	zone     *time.Location
}

func (c *Catalogue) planned(ctx context.Context, site, id int64) (planned, error) {
	s, err := c.o.Schedules.Schedule(ctx, site, id)
	if errors.Is(err, host.ErrNotFound) {
		return planned{}, host.Missingf("schedule id=%d", id)
	}
	if err != nil {
		return planned{}, err
	}
	w, err := c.o.Workflows.Workflow(ctx, site, s.Workflow.ID)
	if err != nil {
		return planned{}, fmt.Errorf("read workflow of schedule %d: %w", id, err)
	}
	times, err := scheduleOf(w.Config, w.Zone)
	if err != nil {
		return planned{}, userError(err)
	}
	if times == nil {
		return planned{}, host.Missingf("schedule id=%d", id)
	}
	zone, err := schedule.Zone(w.Zone)
	return planned{s, w, times, zone}, err
}

// SkipRequest moves a schedule: to To, or Count sessions on from From; below 1 it is the
// first one from there.
type SkipRequest struct {
	To      string // local or instant text; "" is none
	Count   int
	From    time.Time
	RunTime time.Time // overrides the run time; zero is the schedule's own
	DryRun  bool
}

// Skip moves a schedule on. *Error: Conflict when the time is past.
func (c *Catalogue) Skip(ctx context.Context, site, id int64, r SkipRequest) (host.Schedule, error) {
	return c.change(ctx, site, id, r.DryRun, func(p *planned) error {
		var to schedule.Time
		switch {
		case r.To != "":
			t, err := parseTime(r.To, p.zone)
			if err != nil {
				return err
			}
			to = p.times.First(t)
		case !r.From.IsZero():
			if r.Count > maxBackfill {
				return host.Invalidf("count is %d, but at most %d sessions are skipped at once: use nextTime to go further", r.Count, maxBackfill)
			}
			to = p.times.First(r.From)
			for n := 0; n < r.Count && ctx.Err() == nil; n++ {
				to = p.times.Next(to.Time)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		default:
			return host.Invalidf("nextTime or (fromTime and count) are required")
		}
		if !r.RunTime.IsZero() {
			to.RunTime = r.RunTime
		}
		return p.moveTo(to)
	})
}

func (p *planned) moveTo(to schedule.Time) error {
	if !to.Time.After(p.Times.Session) {
		return host.Conflictf("Specified time to skip schedules is already past")
	}
	p.Times.Run, p.Times.Session = to.RunTime.UTC(), to.Time.UTC()
	return nil
}

// change edits a schedule; somebody else's change in between makes it look again.
func (c *Catalogue) change(ctx context.Context, site, id int64, dry bool, edit func(*planned) error) (host.Schedule, error) {
	for {
		p, err := c.planned(ctx, site, id)
		if err != nil {
			return host.Schedule{}, err
		}
		old := p.Times
		if err := edit(&p); err != nil {
			return host.Schedule{}, err
		}
		if dry {
			return p.Schedule, nil
		}
		err = c.o.Schedules.Update(ctx, p.Schedule, old, c.o.Now().UTC())
		if errors.Is(err, host.ErrConflict) {
			continue
		}
		if err != nil {
			return host.Schedule{}, fmt.Errorf("update schedule %d: %w", id, err)
		}
		return p.Schedule, c.moved(ctx, p.Schedule)
	}
}

// Disable stops a schedule from running.
func (c *Catalogue) Disable(ctx context.Context, site, id int64) (host.Schedule, error) {
	return c.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = c.o.Now().UTC()
		return nil
	})
}

// EnableRequest may skip before it enables.
type EnableRequest struct {
	Skip bool
	To   string // local or instant text; "" is now
}

// Enable lets a schedule run again.
func (c *Catalogue) Enable(ctx context.Context, site, id int64, r EnableRequest) (host.Schedule, error) {
	return c.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = time.Time{}
		if !r.Skip {
			return nil
		}
		t, err := c.o.Now(), error(nil)
		if r.To != "" {
			t, err = parseTime(r.To, p.zone)
		}
		if err != nil {
			return err
		}
		return p.moveTo(p.times.First(t))
	})
}

// BackfillRequest asks for attempts of past sessions, one after the other.
type BackfillRequest struct {
	From   time.Time
	Name   string // retry attempt name of all of them
	Count  *int   // nil is all up to the next session; below 1 is none
	DryRun bool
}

// Backfill starts them and returns them with the schedule, oldest session first.
func (c *Catalogue) Backfill(ctx context.Context, site, id int64, r BackfillRequest) (host.Schedule, []host.Attempt, error) {
	p, err := c.planned(ctx, site, id)
	if err != nil {
		return host.Schedule{}, nil, err
	}
	sessions, err := p.backfilled(ctx, r)
	if err != nil {
		return host.Schedule{}, nil, err
	}
	d, err := c.o.Reader.Definition(ctx, site, p.Workflow.ID)
	if err != nil {
		return host.Schedule{}, nil, userError(err)
	}
	list, err := c.backfillAttempts(ctx, d, r, sessions)
	if err == nil && r.DryRun {
		err = c.backfilledBefore(ctx, p.Schedule, r.Name, list)
	}
	if err != nil || r.DryRun || len(list) == 0 {
		return p.Schedule, dryAttempts(list), err
	}
	if err := c.mayStart(ctx, site, d, len(list)); err != nil {
		return host.Schedule{}, nil, err
	}
	attempts, err := c.o.Attempts.Start(ctx, list...)
	if errors.Is(err, host.ErrConflict) && len(attempts) == 1 {
		return host.Schedule{}, nil, backfilledAlready(attempts[0])
	}
	if err != nil {
		return host.Schedule{}, nil, fmt.Errorf("start backfill: %w", err)
	}
	c.counts.started.Add(int64(len(attempts)))
	return p.Schedule, attempts, nil
}

func backfilledAlready(a host.Attempt) error {
	return host.Conflictf("Attempt of project id=%d workflow=%s instant=%s attempt name=%s already exists",
		a.Project.ID, a.Workflow.Name, instant(a.SessionTime), a.RetryName)
}

// backfilledBefore refuses a dry run of what would be refused.
func (c *Catalogue) backfilledBefore(ctx context.Context, s host.Schedule, name string, list []host.NewAttempt) error {
	wanted := map[int64]bool{}
	for _, n := range list {
		wanted[n.SessionTime.Unix()] = true
	}
	for before, more := int64(0), true; more && ctx.Err() == nil; {
		page, err := c.o.Sessions.Sessions(ctx, host.SessionQuery{Site: s.Site, Project: s.Project.ID, Workflow: s.Workflow.Name, Before: before, Count: sessionPage})
		if err != nil {
			return fmt.Errorf("read sessions: %w", err)
		}
		for _, session := range page {
			if before = session.ID; !wanted[session.Time.Unix()] {
				continue
			}
			attempts, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: s.Site, Session: session.ID, Retried: true})
			if err != nil {
				return fmt.Errorf("read attempts: %w", err)
			}
			for _, a := range attempts {
				if a.RetryName == name {
					return backfilledAlready(a)
				}
			}
		}
		more = len(page) == sessionPage
	}
	return ctx.Err()
}

// sessionPage is how many sessions are read at once.
const sessionPage = 1000

// backfilled lists the session times, oldest first.
func (p *planned) backfilled(ctx context.Context, r BackfillRequest) ([]time.Time, error) {
	var list []time.Time
	for t := p.times.First(r.From).Time; t.Before(p.Times.Session); t = p.times.Next(t).Time {
		if r.Count != nil && len(list) >= *r.Count {
			break
		}
		if len(list) == maxBackfill {
			return nil, host.Invalidf("there are more than %d sessions until the next schedule time: choose a later time or a count", maxBackfill)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if r.Count != nil && *r.Count > len(list) {
		return nil, host.Invalidf("count is set to %d but there are only %d attempts until the next schedule time", *r.Count, len(list))
	}
	if len(list) > 0 {
		return list, CheckRetryName(r.Name)
	}
	return list, nil
}

// maxBackfill bounds one request; a schedule of every minute has so many in a week.
const maxBackfill = 10_000

// backfillAttempts prepares attempts that wait for one another. Each is told the session
// before it, the first one whatever ran before.
func (c *Catalogue) backfillAttempts(ctx context.Context, d replay.Definition, r BackfillRequest, sessions []time.Time) ([]host.NewAttempt, error) {
	w := d.Workflow
	var list []host.NewAttempt
	for i, t := range sessions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := StartRequest{Site: 0, SessionTime: t, RetryName: r.Name}
		if i > 0 {
			q.lastExecuted = sessions[i-1]
		} else {
			last, err := c.o.Sessions.LastSession(ctx, w.Project.ID, w.Name, t)
			if err != nil {
				return nil, fmt.Errorf("read last session: %w", err)
			}
			q.lastExecuted = last
		}
		params, err := SessionParams(w.Config, d.Compiled.Zone, t, q.lastExecuted, param.New())
		if err != nil {
			return nil, userError(err)
		}
		n := host.NewAttempt{Site: w.Site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: t.UTC(), RetryName: r.Name,
			Zone: w.Zone, Params: params, CreatedAt: c.o.Now().UTC(), WaitsFor: i - 1}
		if i == 0 {
			if n.First, err = c.first(d, params, n.CreatedAt, engine.Start{NoSLA: true}); err != nil {
				return nil, err
			}
			n.Message = host.StartMessage()
		}
		list = append(list, n)
	}
	return list, nil
}

// dryAttempts shows what a backfill would start: attempts without ids and parameters.
func dryAttempts(list []host.NewAttempt) []host.Attempt {
	var attempts []host.Attempt
	for _, n := range list {
		attempts = append(attempts, host.Attempt{Site: n.Site, SessionUUID: host.NewUUID(), SessionTime: n.SessionTime, Project: n.Project,
			Workflow: n.Workflow, RetryName: n.RetryName, Zone: n.Zone, Params: param.New(), CreatedAt: n.CreatedAt})
	}
	return attempts
}
