package catalogue

import (
	"context"
	"fmt"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
)

// Timing makes sure that Fire is called for due schedules, at least once for each run time. If Fire is called late,
// twice, or in two processes, it still starts only one attempt.
type Timing interface {
	// Changed is called after schedules were created, moved or deleted. due returns the schedules that may have to fire
	// soon; Changed does not have to call it. After an error, Changed is called again.
	Changed(ctx context.Context, due func() ([]Firing, error)) error
}

// Firing describes when a schedule must fire.
type Firing struct {
	Schedule host.Schedule
	At       time.Time // not before
}

// Name returns the identity of this run of the schedule for Fire.
func (f Firing) Name() events.Firing {
	return events.Firing{Site: f.Schedule.Site, Schedule: f.Schedule.ID, Run: f.Schedule.Times.Run.Unix()}
}

// Names returns the names of firings.
func Names(list []Firing) []events.Firing {
	names := make([]events.Firing, len(list))
	for i, f := range list {
		names[i] = f.Name()
	}
	return names
}

// holdOff is how long a new schedule waits before it catches up on sessions whose time had passed when it was created:
// its author sees the schedule as pushed, and can still correct it.
const holdOff = time.Second

// firings returns when schedules must fire.
func firings(list []host.Schedule, now time.Time) []Firing {
	var all []Firing
	for _, s := range list {
		f := Firing{Schedule: s, At: s.Times.Run}
		if catchesUp := !s.Times.Run.After(s.CreatedAt); catchesUp && !now.Before(s.CreatedAt) { // else the clock went back
			f.At = s.CreatedAt.Add(holdOff)
		}
		all = append(all, f)
	}
	return all
}

// Firings lists up to n (0: all) firings of enabled schedules whose run time is after from and at
// or before until, the earliest first.
func (c scheduling) Firings(ctx context.Context, from, until time.Time, n int) ([]Firing, error) {
	due, err := c.o.Schedules.Due(ctx, from, until, n)
	if err != nil {
		return nil, fmt.Errorf("read due schedules: %w", err)
	}
	return firings(due, c.o.Now()), nil
}

// EachFiring passes the firings that Firings would list to do, in batches, as they are read.
func (c scheduling) EachFiring(ctx context.Context, from, until time.Time, do func([]Firing) error) error {
	err := c.o.Schedules.EachDue(ctx, from, until, func(list []host.Schedule) error { return do(firings(list, c.o.Now())) })
	if err != nil {
		return fmt.Errorf("hand over due schedules: %w", err)
	}
	return nil
}

// NextFiring returns when the next enabled schedule is due; zero if there is none.
func (c scheduling) NextFiring(ctx context.Context) (time.Time, error) {
	next, err := c.o.Schedules.NextDue(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read next schedule: %w", err)
	}
	return next, nil
}

// changed notifies Timing that schedules were created, moved or deleted.
func (c *stores) changed(ctx context.Context, read func() ([]host.Schedule, error)) error {
	return c.o.Timing.Changed(ctx, func() ([]Firing, error) {
		list, err := read()
		if err != nil {
			return nil, err
		}
		var enabled []host.Schedule
		for _, s := range list {
			if s.DisabledAt.IsZero() {
				enabled = append(enabled, s)
			}
		}
		return firings(enabled, c.o.Now()), nil
	})
}

// moved notifies Timing that one schedule was moved.
func (c *stores) moved(ctx context.Context, s host.Schedule) error {
	return c.changed(ctx, func() ([]host.Schedule, error) { return []host.Schedule{s}, nil })
}

// pushedSchedules notifies Timing of a pushed project's schedules.
func (c *stores) pushedSchedules(ctx context.Context, p host.Project) error {
	return c.changed(ctx, func() ([]host.Schedule, error) {
		list, err := c.o.Schedules.Schedules(ctx, host.ScheduleQuery{Site: p.Site, Project: p.ID})
		if err != nil {
			return nil, fmt.Errorf("read schedules of project %d: %w", p.ID, err)
		}
		return list, nil
	})
}
