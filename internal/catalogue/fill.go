package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/catalogue/filling"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
)

// FillRequest requests a backfill with an id: see host.Backfill. Times are instants, local times in the workflow's
// zone, or days.
type FillRequest struct {
	Site     int64
	Workflow int64  // id of the definition
	Name     string // a repeated request with the same name adds no backfill
	From, To string // the first and the last time, both included; if the last one is a day, all of it is included
	Count    int    // maximum number of sessions, counted from the first; 0: all
	Dates    []string
	Every    string // interval between the sessions: "1d"; "" follows the schedule

	Parallel int    // sessions that may run at once; 0 means 1
	Order    string // filling.OrderAscending, filling.OrderDescending; "" is ascending
	Existing string // filling.ExistingError ...; "": sessions that have an attempt get a new one
	Priority string // a keyword; "" means "low"
	Params   *param.Map
	Outside  bool // concerns Params, as in StartRequest
}

// mostFillParams limits the parameters, in bytes as JSON: each session that begins stores them.
const mostFillParams = 64 << 10

// FillPlan is what a backfill would do.
type FillPlan struct {
	Workflow host.Workflow
	Plan     host.BackfillPlan
	Sessions []FillSession // in the order in which they start
}

// FillSession is a session of a plan.
type FillSession struct {
	Time    time.Time
	Last    *host.Attempt // its last attempt; nil: the session would be new
	LeftOut bool
}

// PlanFill returns what StartFill would do, and fails in the same cases. It changes nothing.
func (c scheduling) PlanFill(ctx context.Context, r FillRequest) (FillPlan, error) {
	w, plan, err := c.planFill(ctx, &r)
	if err != nil {
		return FillPlan{}, err
	}
	there, err := c.existing(ctx, w, plan.Sessions)
	if err != nil {
		return FillPlan{}, err
	}
	if err := filling.RefuseExisting(r.Existing, w.Name, there); err != nil {
		return FillPlan{}, err
	}
	p := FillPlan{Workflow: w, Plan: plan}
	for n := range plan.Sessions {
		s := FillSession{Time: plan.Sessions[filling.InOrder(plan, n)]}
		if last, found := there[s.Time.Unix()]; found {
			s.Last, s.LeftOut = &last, filling.LeftOut(plan.Existing, last)
		}
		p.Sessions = append(p.Sessions, s)
	}
	return p, nil
}

// StartFill starts a backfill and returns it. By then the first sessions have begun if possible. The backfill then
// proceeds without further calls.
func (c scheduling) StartFill(ctx context.Context, r FillRequest) (host.Backfill, error) {
	w, plan, err := c.planFill(ctx, &r)
	if err != nil {
		return host.Backfill{}, err
	}
	if err := c.mayFill(ctx, r, w, plan); err != nil {
		return host.Backfill{}, err
	}
	now := c.o.Now().UTC()
	b := host.Backfill{Site: r.Site, Project: w.Project, Workflow: host.Ref{ID: w.ID, Name: w.Name}, Name: r.Name, Plan: plan, CreatedAt: now, UpdatedAt: now}
	added, err := c.o.Backfills.AddBackfill(ctx, b)
	if errors.Is(err, host.ErrConflict) {
		err = filling.Same(added, b)
	}
	if err != nil {
		return added, err
	}
	c.o.Logger.Info("backfill", "backfill", added.ID, "project", w.Project.Name, "workflow", w.Name, "sessions", len(plan.Sessions), "parallel", plan.Parallel)
	after, err := c.attempts.fill(ctx, added.ID, filling.Nothing)
	if err != nil { // the backfill is stored, and checkBackfills will retry
		c.o.Logger.Error("backfill is delayed", "backfill", added.ID, "error", err)
		return added, nil
	}
	return after, nil
}

// mayFill returns an error if a backfill cannot start now.
func (c scheduling) mayFill(ctx context.Context, r FillRequest, w host.Workflow, plan host.BackfillPlan) error {
	d, err := c.definitionOf(ctx, r.Site, w.ID)
	if err != nil {
		return err
	}
	if err := c.attempts.mayStart(ctx, r.Site, d, 0); err != nil {
		return err
	}
	if plan.Existing != filling.ExistingError {
		return nil
	}
	there, err := c.existing(ctx, w, plan.Sessions)
	if err == nil {
		err = filling.RefuseExisting(r.Existing, w.Name, there)
	}
	if err == nil {
		return nil
	}
	if named, looked := c.named(ctx, w, r.Name); looked != nil || named {
		return looked // the sessions may belong to this backfill, because the request may be a repetition
	}
	return err
}

// named reports whether a workflow has a backfill with the given name.
func (c scheduling) named(ctx context.Context, w host.Workflow, name string) (bool, error) {
	for before := int64(0); ; {
		list, err := c.o.Backfills.Backfills(ctx, host.BackfillQuery{Site: w.Site, Project: w.Project.ID, Workflow: w.Name, Before: before, Count: atOnce})
		if err != nil {
			return false, fmt.Errorf("read backfills: %w", err)
		}
		for _, b := range list {
			if before = b.ID; b.Name == name {
				return true, nil
			}
		}
		if len(list) < atOnce {
			return false, nil
		}
	}
}

// existing returns the last attempts of existing sessions, by session time.
func (c *stores) existing(ctx context.Context, w host.Workflow, times []time.Time) (map[int64]host.Attempt, error) {
	there := map[int64]host.Attempt{}
	for some := range slices.Chunk(times, sessionPage) {
		list, err := c.o.Sessions.Sessions(ctx, host.SessionQuery{Site: w.Site, Project: w.Project.ID, Workflow: w.Name, Times: some})
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		for _, s := range list {
			there[s.Time.Unix()] = s.Last
		}
	}
	return there, nil
}

// planFill reads a request and fills in the defaults of omitted fields.
func (c scheduling) planFill(ctx context.Context, r *FillRequest) (w host.Workflow, plan host.BackfillPlan, err error) {
	if w, err = c.o.Workflows.Workflow(ctx, r.Site, r.Workflow); err != nil {
		if errors.Is(err, host.ErrNotFound) {
			err = host.Missingf("workflow id=%d", r.Workflow)
		}
		return w, plan, err
	}
	if plan, err = fillOptions(r); err != nil {
		return w, plan, err
	}
	if plan.Params, err = (given.Params{Map: r.Params, Outside: r.Outside}).For(w.Name, w.Config); err != nil {
		return w, plan, err
	}
	if n := len(param.Text(plan.Params)); n > mostFillParams {
		return w, plan, host.Invalidf("The parameters of a backfill take up %d bytes, but at most %d are allowed: store the data where tasks can read it", n, mostFillParams)
	}
	times, err := c.fillTimes(ctx, w, *r)
	if err != nil {
		return w, plan, err
	}
	plan.Sessions, plan.Zone = times, w.Zone
	return w, plan, nil
}

// fillOptions checks the options for running a backfill.
func fillOptions(r *FillRequest) (host.BackfillPlan, error) {
	p := host.BackfillPlan{Parallel: max(1, r.Parallel), Existing: r.Existing, Descending: r.Order == filling.OrderDescending, Priority: backfilling().Priority}
	if err := filling.CheckOptions(r.Parallel, r.Order, r.Existing); err != nil {
		return p, err
	}
	if r.Priority != "" {
		var err error
		if p.Priority, err = given.Priority(r.Priority); err != nil {
			return p, err
		}
	}
	if r.Params == nil {
		r.Params = param.New()
	}
	return p, names.Retry(r.Name)
}

// Backfills lists backfills, descending by id.
func (c scheduling) Backfills(ctx context.Context, q host.BackfillQuery) ([]host.Backfill, error) {
	return c.o.Backfills.Backfills(ctx, q)
}

// OneBackfill returns a backfill.
func (c scheduling) OneBackfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	b, err := c.o.Backfills.Backfill(ctx, site, id)
	if errors.Is(err, host.ErrNotFound) {
		return b, host.Missingf("backfill id=%d", id)
	}
	return b, err
}

// HoldBackfill pauses or resumes a backfill: while it is on hold, no more sessions begin.
func (c scheduling) HoldBackfill(ctx context.Context, site, id int64, held bool) (host.Backfill, error) {
	return c.editFill(ctx, site, id, func(b *host.Backfill) bool {
		changed := b.State.OnHold != held
		b.State.OnHold = held
		return changed
	})
}

// KillBackfill ends a backfill: no more sessions begin, and its running attempts are killed.
func (c scheduling) KillBackfill(ctx context.Context, site, id int64) (host.Backfill, error) {
	return c.editFill(ctx, site, id, func(b *host.Backfill) bool {
		changed := !b.State.Killed
		b.State.Killed = true
		return changed
	})
}

// editFill changes a backfill that has not finished.
func (c scheduling) editFill(ctx context.Context, site, id int64, edit func(*host.Backfill) bool) (host.Backfill, error) {
	b, err := c.OneBackfill(ctx, site, id)
	if err != nil {
		return b, err
	}
	if !b.FinishedAt.IsZero() {
		return b, host.Conflictf("Backfill id=%d has already ended: %s", id, b.Status())
	}
	return c.attempts.fill(ctx, id, edit)
}

// fillTimes lists the requested session times, ascending.
func (c scheduling) fillTimes(ctx context.Context, w host.Workflow, r FillRequest) ([]time.Time, error) {
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return nil, userError(err)
	}
	times, err := scheduleOf(w.Config, w.Zone)
	if err != nil {
		return nil, userError(err)
	}
	f := sessiontime.Range{From: r.From, To: r.To, Count: r.Count, Dates: r.Dates, Every: r.Every, Workflow: w.Name, Zone: zone, Times: times}
	if times != nil {
		if f.Limit, err = c.nextOf(ctx, w); err != nil {
			return nil, err
		}
	}
	list, err := f.List(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, host.Invalidf("There are no sessions in that time")
	case r.Count > 0 && r.Count > len(list):
		return nil, host.Invalidf("count is set to %d but there are only %d sessions", r.Count, len(list))
	case r.Count > 0:
		list = list[:r.Count]
	}
	return list, nil
}

// nextOf returns the session that a workflow's schedule starts next; neither it nor any later session belongs in a
// backfill.
func (c scheduling) nextOf(ctx context.Context, w host.Workflow) (time.Time, error) {
	list, err := c.o.Schedules.Schedules(ctx, host.ScheduleQuery{Site: w.Site, Project: w.Project.ID, Workflow: w.Name, Count: 1})
	if err != nil || len(list) == 0 {
		return c.o.Now(), err
	}
	return list[0].Times.Session, nil
}
