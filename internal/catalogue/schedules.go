package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
)

// SessionTime resolves a session time in the workflow's zone: mode is "", "hour", "day",
// "schedule" or "next_schedule".
func (c scheduling) SessionTime(w host.Workflow, text, mode string) (time.Time, error) {
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return time.Time{}, userError(err)
	}
	t, err := sessiontime.Parse(text, zone)
	if err != nil {
		return time.Time{}, err
	}
	t = t.In(zone)
	day := schedule.StartOfDay(t.Year(), t.Month(), t.Day(), zone)
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

// planned is a schedule with the rule from its workflow.
type planned struct {
	host.Schedule
	workflow host.Workflow
	times    *schedule.Schedule
	zone     *time.Location
}

func (c scheduling) planned(ctx context.Context, site, id int64) (planned, error) {
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

// TimesOf returns a schedule with the rule that determines its next times.
func (c scheduling) TimesOf(ctx context.Context, site, id int64) (host.Schedule, *schedule.Schedule, error) {
	p, err := c.planned(ctx, site, id)
	return p.Schedule, p.times, err
}

// SkipRequest requests that a schedule be moved: to the time To, or by Count sessions after From; a Count below 1
// selects the first session at or after From.
type SkipRequest struct {
	To      string // local time or instant; "" means none
	Count   int
	From    time.Time
	RunTime time.Time // overrides the run time; zero keeps the schedule's own
	DryRun  bool
}

// Skip moves a schedule forward. It returns an *Error with code Conflict if the time is in the past.
func (c scheduling) Skip(ctx context.Context, site, id int64, r SkipRequest) (host.Schedule, error) {
	return c.change(ctx, site, id, r.DryRun, func(p *planned) error {
		var to schedule.Time
		switch {
		case r.To != "":
			t, err := sessiontime.Parse(r.To, p.zone)
			if err != nil {
				return err
			}
			to = p.times.First(t)
		case !r.From.IsZero():
			if r.Count > maxBackfill {
				return host.Invalidf("count is %d, but at most %d sessions can be skipped at once: use nextTime to skip more", r.Count, maxBackfill)
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

// moveTo sets the next session, which must be after the current next one. Users cannot move a schedule back because
// sessions would be started twice.
func (p *planned) moveTo(to schedule.Time) error {
	if !to.Time.After(p.Times.Session) {
		return host.Conflictf("Specified time to skip schedules is already past")
	}
	p.Times.Run, p.Times.Session = to.RunTime.UTC(), to.Time.UTC()
	return nil
}

// change edits a schedule. The schedule is written only if it has not changed since it was read
// (host.Schedules.Update); after a concurrent change it is read again. edit may be called several times and must not
// have side effects. Timing is notified last; if that fails, the change stays.
func (c scheduling) change(ctx context.Context, site, id int64, dry bool, edit func(*planned) error) (host.Schedule, error) {
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
func (c scheduling) Disable(ctx context.Context, site, id int64) (host.Schedule, error) {
	return c.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = c.o.Now().UTC()
		return nil
	})
}

// EnableRequest enables a schedule and may first skip sessions.
type EnableRequest struct {
	Skip bool
	To   string // local time or instant; "" means now
}

// Enable lets a schedule run again.
func (c scheduling) Enable(ctx context.Context, site, id int64, r EnableRequest) (host.Schedule, error) {
	return c.change(ctx, site, id, false, func(p *planned) error {
		p.DisabledAt = time.Time{}
		if !r.Skip {
			return nil
		}
		t, err := c.o.Now(), error(nil)
		if r.To != "" {
			t, err = sessiontime.Parse(r.To, p.zone)
		}
		if err != nil {
			return err
		}
		return p.moveTo(p.times.First(t))
	})
}
