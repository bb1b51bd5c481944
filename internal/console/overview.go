package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// Overview lists everything that needs attention now.
type Overview struct {
	At      time.Time
	Running []Running
	Active  int // running attempts, up to mostActive
	Failed  []Failed
	// FailedAll means that Failed contains all failures since the requested time. It is false if a limit on the searched
	// or failed attempts was reached.
	FailedAll bool
	Late      []Late
	Next      []host.Schedule // enabled schedules, the earliest first
	Schedules int             // the number of enabled schedules, up to mostSchedules
}

// Running is a running attempt.
type Running struct {
	host.Attempt
	// Tasks and Done count its tasks except groups; both are 0 if the tasks were not read.
	Tasks, Done int
}

// Failed is a session whose last attempt failed.
type Failed struct {
	host.Attempt
	Task, Message string // the first task that failed without further retries; "" if not looked up
}

// Late is an object that is late.
type Late struct {
	Kind    LateKind
	Since   time.Time    // when it became late, or will become late (NearSLA)
	Attempt host.Attempt // for Slow and NearSLA
	// Schedule is set for Due.
	Schedule host.Schedule
	Usual    time.Duration // for Slow: the longest duration of the fastest 90% of the last successful attempts
}

// LateKind is the way in which an object is late.
type LateKind string

// The ways in which something is late.
const (
	Due     LateKind = "due"  // a schedule's time has come, and no session was started
	Slow    LateKind = "slow" // an attempt takes half again as long as 90% of the earlier ones
	NearSLA LateKind = "sla"  // an attempt is close to the time of its `sla:`, or past it
)

// An overview's limits.
const (
	mostRows      = 50
	mostActive    = 1000
	mostFailures  = 500 // attempts that are searched for failures
	mostSchedules = 5000
	counted       = 20 // running attempts whose tasks are counted
	explained     = 20 // failures whose cause is read
	measured      = 10 // workflows whose attempts are compared with earlier ones
	compared      = 20 // successful attempts that they are compared with
	dueAfter      = 5 * time.Minute
	beforeSLA     = 15 * time.Minute
)

// Overview reads running attempts, recent failures, late attempts and upcoming schedules.
func (c *Console) Overview(ctx context.Context, site int64, since time.Time) (*Overview, error) {
	o := &Overview{At: c.Now()}
	if err := errors.Join(c.running(ctx, site, o), c.schedules(ctx, site, o)); err != nil {
		return nil, err
	}
	if err := c.failed(ctx, site, since, o); err != nil {
		return nil, err
	}
	return o, c.late(ctx, o)
}

func (c *Console) running(ctx context.Context, site int64, o *Overview) error {
	list, err := c.Catalogue.Active(ctx, host.ActiveQuery{Site: site, Count: mostRows})
	if err != nil {
		return err
	}
	if o.Active, err = c.Catalogue.CountActive(ctx, site, mostActive); err != nil {
		return err
	}
	for i, a := range list {
		r := Running{Attempt: a}
		if i < counted {
			if err := c.Catalogue.View(ctx, a, r.count); err != nil && !errors.Is(err, host.ErrNotFound) {
				return err
			}
		}
		o.Running = append(o.Running, r)
	}
	return nil
}

func (r *Running) count(s *engine.State) {
	if s == nil {
		return
	}
	for _, t := range s.Tasks() {
		if t.Group {
			continue
		}
		r.Tasks++
		if t.State.Done() {
			r.Done++
		}
	}
}

// schedules finds the upcoming and overdue schedules.
func (c *Console) schedules(ctx context.Context, site int64, o *Overview) error {
	var list []host.Schedule
	for after := int64(0); len(list) < mostSchedules; {
		page, err := c.Catalogue.Schedules(ctx, host.ScheduleQuery{Site: site, After: after, Count: 1000})
		if err != nil {
			return err
		}
		for _, s := range page {
			if after = s.ID; s.DisabledAt.IsZero() && s.Times.Run.Before(schedule.Ended()) {
				list = append(list, s)
			}
		}
		if len(page) < 1000 {
			break
		}
	}
	slices.SortFunc(list, func(a, b host.Schedule) int { return cmp.Or(a.Times.Run.Compare(b.Times.Run), cmp.Compare(a.ID, b.ID)) })
	o.Schedules = len(list)
	for _, s := range list {
		if o.At.Sub(s.Times.Run) < dueAfter {
			break
		}
		if len(o.Late) < mostRows {
			o.Late = append(o.Late, Late{Kind: Due, Since: s.Times.Run, Schedule: s})
		}
	}
	o.Next = list[:min(len(list), mostRows)]
	return nil
}

// failed finds sessions whose last attempt failed since a given time, among the newest attempts.
func (c *Console) failed(ctx context.Context, site int64, since time.Time, o *Overview) error {
	list, err := c.Catalogue.Attempts(ctx, host.AttemptQuery{Site: site, Count: mostFailures})
	if err != nil {
		return err
	}
	o.FailedAll = len(list) < mostFailures
	for _, a := range list {
		if a.Status() != "error" || !a.FinishedAt.After(since) {
			continue
		}
		if len(o.Failed) == mostRows {
			o.FailedAll = false
			break
		}
		o.Failed = append(o.Failed, Failed{Attempt: a})
	}
	slices.SortStableFunc(o.Failed, func(a, b Failed) int { return b.FinishedAt.Compare(a.FinishedAt) })
	for i := range o.Failed[:min(len(o.Failed), explained)] {
		if err := c.explain(ctx, &o.Failed[i]); err != nil {
			return err
		}
	}
	return nil
}

// Cause returns why an attempt failed: the full name of the first task that failed without further retries, and its
// message. Both are "" if the attempt did not fail.
func (c *Console) Cause(ctx context.Context, a host.Attempt) (task, message string, err error) {
	f := Failed{Attempt: a}
	if a.Status() == "error" {
		err = c.explain(ctx, &f)
	}
	return f.Task, f.Message, err
}

func (c *Console) explain(ctx context.Context, f *Failed) error {
	var wrong error
	err := c.Catalogue.View(ctx, f.Attempt, func(s *engine.State) {
		if s == nil {
			return
		}
		var mask func(*param.Map) *param.Map
		if mask, wrong = c.Catalogue.Masker(ctx, f.Attempt, s); wrong != nil {
			return
		}
		task, message := s.Failure()
		said := param.New()
		said.Set("message", message)
		text, _ := mask(said).Get("message")
		f.Task = task
		f.Message, _ = text.(string)
	})
	return errors.Join(err, wrong)
}

// late compares running attempts with other attempts of their workflow, and with their `sla:`.
func (c *Console) late(ctx context.Context, o *Overview) error {
	usual := map[[2]string]time.Duration{}
	for _, r := range o.Running {
		key := [2]string{r.Project.Name, r.Workflow.Name}
		if _, known := usual[key]; !known && len(usual) < measured {
			took, err := c.usual(ctx, r.Attempt)
			if err != nil {
				return err
			}
			usual[key] = took
		}
		if most := usual[key]; most > 0 && r.AfterSession == 0 {
			if since := r.BeginsAt().Add(most + most/2); o.At.After(since) {
				o.Late = append(o.Late, Late{Kind: Slow, Since: since, Attempt: r.Attempt, Usual: most})
			}
		}
		due, err := c.slaOf(ctx, r.Attempt)
		if err != nil {
			return err
		}
		if !due.IsZero() && due.Sub(o.At) < beforeSLA {
			o.Late = append(o.Late, Late{Kind: NearSLA, Since: due, Attempt: r.Attempt})
		}
	}
	return nil
}

// usual returns the longest duration of the fastest 90% of the last successful attempts of an attempt's workflow; 0 if
// there are too few.
func (c *Console) usual(ctx context.Context, a host.Attempt) (time.Duration, error) {
	list, err := c.Catalogue.Attempts(ctx, host.AttemptQuery{Site: a.Site, Project: a.Project.ID, Workflow: a.Workflow.Name, Before: a.ID, Count: 2 * compared})
	if err != nil {
		return 0, err
	}
	var took []time.Duration
	for _, b := range list {
		if b.Success && len(took) < compared {
			took = append(took, b.FinishedAt.Sub(b.BeginsAt()))
		}
	}
	if len(took) < fewest {
		return 0, nil
	}
	slices.Sort(took)
	return max(took[(len(took)*9-1)/10], time.Second), nil
}

// fewest is the number of successful attempts that are needed to determine the usual time.
const fewest = 5

// slaOf returns when an attempt, or a part of it, must have ended according to its `sla:`; zero if it has none.
func (c *Console) slaOf(ctx context.Context, a host.Attempt) (time.Time, error) {
	w, err := c.Catalogue.Workflow(ctx, a.Site, a.Workflow.ID)
	if errors.Is(err, host.ErrNotFound) || err == nil && w.Config.Map("sla") == nil {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	sla, err := schedule.ParseSLA(w.Config.Map("sla"))
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // the attempt has none, or would not have begun
	}
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // as above
	}
	return sla.Due(a.BeginsAt(), zone), nil
}
