package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
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
	return time.Time{}, invalidf("Invalid timestamp format: %s", text)
}

// SessionTime resolves a session time in the workflow's zone: mode is "", "hour", "day",
// "schedule" or "next_schedule".
func (h *Host) SessionTime(w Workflow, text, mode string) (time.Time, error) {
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
			return time.Time{}, invalidf("session_time_truncate=%s is set but schedule is not set to this workflow", mode)
		}
		if mode == "next_schedule" {
			return s.Next(t).Time.In(zone), nil
		}
		return s.First(t).Time.In(zone), nil
	}
	return time.Time{}, invalidf("unknown mode %q: use hour, day, schedule or next_schedule", mode)
}

// planned is a schedule with what its workflow says.
type planned struct {
	Schedule
	workflow Workflow
	times    *schedule.Schedule
	zone     *time.Location
}

func (h *Host) planned(ctx context.Context, site, id int64) (planned, error) {
	s, err := h.Schedules.Schedule(ctx, site, id)
	if errors.Is(err, ErrNotFound) {
		return planned{}, missingf("schedule id=%d", id)
	}
	if err != nil {
		return planned{}, err
	}
	w, err := h.Workflows.Workflow(ctx, site, s.Workflow.ID)
	if err != nil {
		return planned{}, fmt.Errorf("read workflow of schedule %d: %w", id, err)
	}
	times, err := scheduleOf(w.Config, w.Zone)
	if err != nil {
		return planned{}, userError(err)
	}
	if times == nil {
		return planned{}, missingf("schedule id=%d", id)
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
func (h *Host) Skip(ctx context.Context, site, id int64, r SkipRequest) (Schedule, error) {
	return h.change(ctx, site, id, r.DryRun, func(p *planned) error {
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
				return invalidf("count is %d, but at most %d sessions are skipped at once: use nextTime to go further", r.Count, maxBackfill)
			}
			to = p.times.First(r.From)
			for n := 0; n < r.Count && ctx.Err() == nil; n++ {
				to = p.times.Next(to.Time)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		default:
			return invalidf("nextTime or (fromTime and count) are required")
		}
		if !r.RunTime.IsZero() {
			to.RunTime = r.RunTime
		}
		return p.moveTo(to)
	})
}

func (p *planned) moveTo(to schedule.Time) error {
	if !to.Time.After(p.Times.Session) {
		return conflictf("Specified time to skip schedules is already past")
	}
	p.Times.Run, p.Times.Session = to.RunTime.UTC(), to.Time.UTC()
	return nil
}

// change edits a schedule; somebody else's change in between makes it look again.
func (h *Host) change(ctx context.Context, site, id int64, dry bool, edit func(*planned) error) (Schedule, error) {
	for {
		p, err := h.planned(ctx, site, id)
		if err != nil {
			return Schedule{}, err
		}
		old := p.Times
		if err := edit(&p); err != nil {
			return Schedule{}, err
		}
		if dry {
			return p.Schedule, nil
		}
		err = h.Schedules.Update(ctx, p.Schedule, old, h.Now().UTC())
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return Schedule{}, fmt.Errorf("update schedule %d: %w", id, err)
		}
		h.schedulesChanged()
		return p.Schedule, h.sendSoon(ctx, p.Schedule)
	}
}

// Disable stops a schedule from running.
func (h *Host) Disable(ctx context.Context, site, id int64) (Schedule, error) {
	return h.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = h.Now().UTC()
		return nil
	})
}

// EnableRequest may skip before it enables.
type EnableRequest struct {
	Skip bool
	To   string // local or instant text; "" is now
}

// Enable lets a schedule run again.
func (h *Host) Enable(ctx context.Context, site, id int64, r EnableRequest) (Schedule, error) {
	return h.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = time.Time{}
		if !r.Skip {
			return nil
		}
		t, err := h.Now(), error(nil)
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
func (h *Host) Backfill(ctx context.Context, site, id int64, r BackfillRequest) (Schedule, []Attempt, error) {
	p, err := h.planned(ctx, site, id)
	if err != nil {
		return Schedule{}, nil, err
	}
	sessions, err := p.backfilled(ctx, r)
	if err != nil {
		return Schedule{}, nil, err
	}
	d, err := h.definition(ctx, site, p.Workflow.ID)
	if err != nil {
		return Schedule{}, nil, userError(err)
	}
	list, err := h.backfillAttempts(ctx, d, r, sessions)
	if err == nil && r.DryRun {
		err = h.backfilledBefore(ctx, p.Schedule, r.Name, list)
	}
	if err != nil || r.DryRun || len(list) == 0 {
		return p.Schedule, dryAttempts(list), err
	}
	if err := h.mayStart(ctx, site, d, len(list)); err != nil {
		return Schedule{}, nil, err
	}
	attempts, err := h.Attempts.Start(ctx, list...)
	if errors.Is(err, ErrConflict) && len(attempts) == 1 {
		return Schedule{}, nil, backfilledAlready(attempts[0])
	}
	if err != nil {
		return Schedule{}, nil, fmt.Errorf("start backfill: %w", err)
	}
	h.stats.started.Add(int64(len(attempts)))
	return p.Schedule, attempts, nil
}

func backfilledAlready(a Attempt) error {
	return conflictf("Attempt of project id=%d workflow=%s instant=%s attempt name=%s already exists",
		a.Project.ID, a.Workflow.Name, instant(a.SessionTime), a.RetryName)
}

// backfilledBefore refuses a dry run of what would be refused.
func (h *Host) backfilledBefore(ctx context.Context, s Schedule, name string, list []NewAttempt) error {
	wanted := map[int64]bool{}
	for _, n := range list {
		wanted[n.SessionTime.Unix()] = true
	}
	for before, more := int64(0), true; more && ctx.Err() == nil; {
		page, err := h.Sessions.Sessions(ctx, SessionQuery{Site: s.Site, Project: s.Project.ID, Workflow: s.Workflow.Name, Before: before, Count: sessionPage})
		if err != nil {
			return fmt.Errorf("read sessions: %w", err)
		}
		for _, session := range page {
			if before = session.ID; !wanted[session.Time.Unix()] {
				continue
			}
			attempts, err := h.Sessions.Attempts(ctx, AttemptQuery{Site: s.Site, Session: session.ID, Retried: true})
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
			return nil, invalidf("there are more than %d sessions until the next schedule time: choose a later time or a count", maxBackfill)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if r.Count != nil && *r.Count > len(list) {
		return nil, invalidf("count is set to %d but there are only %d attempts until the next schedule time", *r.Count, len(list))
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
func (h *Host) backfillAttempts(ctx context.Context, d definition, r BackfillRequest, sessions []time.Time) ([]NewAttempt, error) {
	w := d.workflow
	var list []NewAttempt
	for i, t := range sessions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := StartRequest{Site: 0, SessionTime: t, RetryName: r.Name}
		if i > 0 {
			q.lastExecuted = sessions[i-1]
		} else {
			last, err := h.Sessions.LastSession(ctx, w.Project.ID, w.Name, t)
			if err != nil {
				return nil, fmt.Errorf("read last session: %w", err)
			}
			q.lastExecuted = last
		}
		params, err := SessionParams(w.Config, d.compiled.Zone, t, q.lastExecuted, param.New())
		if err != nil {
			return nil, userError(err)
		}
		n := NewAttempt{Site: w.Site, Project: w.Project, Workflow: Ref{w.ID, w.Name}, SessionTime: t.UTC(), RetryName: r.Name,
			Zone: w.Zone, Params: params, CreatedAt: h.Now().UTC(), WaitsFor: i - 1}
		if i == 0 {
			if n.First, err = h.first(d, params, n.CreatedAt, engine.Start{NoSLA: true}); err != nil {
				return nil, err
			}
			n.Message = startMessage()
		}
		list = append(list, n)
	}
	return list, nil
}

// dryAttempts shows what a backfill would start: attempts without ids and parameters.
func dryAttempts(list []NewAttempt) []Attempt {
	var attempts []Attempt
	for _, n := range list {
		attempts = append(attempts, Attempt{Site: n.Site, SessionUUID: NewUUID(), SessionTime: n.SessionTime, Project: n.Project,
			Workflow: n.Workflow, RetryName: n.RetryName, Zone: n.Zone, Params: param.New(), CreatedAt: n.CreatedAt})
	}
	return attempts
}

// NewUUID makes a random (version 4) UUID.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
