package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// BackfillRequest requests attempts of past sessions, to run one after the other.
type BackfillRequest struct {
	From   time.Time
	Name   string // retry attempt name for all attempts
	Count  *int   // nil: all up to the next session; below 1: none
	DryRun bool
}

// Backfill starts the attempts and returns them with the schedule, oldest session first. Either all attempts are stored
// or none. The first begins at once; each of the others waits for the previous session and begins when that ends (see
// End), whether it succeeded or not.
func (c scheduling) Backfill(ctx context.Context, site, id int64, r BackfillRequest) (host.Schedule, []host.Attempt, error) {
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
	if err := c.attempts.mayStart(ctx, site, d, len(list)); err != nil {
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
	for _, a := range attempts {
		if a.AfterSession == 0 {
			c.began(a)
		}
	}
	return p.Schedule, attempts, nil
}

func backfilledAlready(a host.Attempt) error { return host.Conflictf("%s", alreadyExists(a)) }

// backfilledBefore makes a dry run fail if the backfill would be refused because a session already has an attempt of
// that name.
func (c scheduling) backfilledBefore(ctx context.Context, s host.Schedule, name string, list []host.NewAttempt) error {
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
		return list, names.Retry(r.Name)
	}
	return list, nil
}

// maxBackfill is the maximum number of sessions in one request; a schedule that runs every minute has about that many
// in a week.
const maxBackfill = 10_000

// backfillAttempts prepares attempts that wait for one another. Each gets the previous session of the list as its last
// executed session; the first gets the last session before the backfill.
func (c scheduling) backfillAttempts(ctx context.Context, d replay.Definition, r BackfillRequest, sessions []time.Time) ([]host.NewAttempt, error) {
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
		params, err := given.Declared(w.Name, w.Config, param.New(), false)
		if err != nil {
			return nil, err
		}
		params, err = given.ForSession(w.Config, d.Compiled.Zone, t, q.lastExecuted, params)
		if err != nil {
			return nil, userError(err)
		}
		n := host.NewAttempt{Site: w.Site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, SessionTime: t.UTC(), RetryName: r.Name,
			Zone: w.Zone, Params: params, CreatedAt: c.o.Now().UTC(), WaitsFor: i - 1}
		if i == 0 {
			if n.First, err = c.attempts.first(d, params, t, n.CreatedAt, backfilling()); err != nil {
				return nil, err
			}
			n.Message = host.StartMessage()
		}
		list = append(list, n)
	}
	return list, nil
}

// backfilling returns the options with which a backfill's attempts start: their priority is low, so that they wait
// behind others.
func backfilling() engine.Start {
	low, _ := keys.ParsePriority("low")
	return engine.Start{NoSLA: true, Priority: low}
}

// dryAttempts returns the attempts that a backfill would start, without ids and parameters.
func dryAttempts(list []host.NewAttempt) []host.Attempt {
	var attempts []host.Attempt
	for _, n := range list {
		attempts = append(attempts, host.Attempt{Site: n.Site, SessionUUID: host.NewUUID(), SessionTime: n.SessionTime, Project: n.Project,
			Workflow: n.Workflow, RetryName: n.RetryName, Zone: n.Zone, Params: param.New(), CreatedAt: n.CreatedAt})
	}
	return attempts
}
