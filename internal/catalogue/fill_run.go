package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zerodag/internal/catalogue/filling"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// A backfill proceeds whenever one of its attempts ends (see End), and when a user changes it. Each step takes from the
// plan the sessions that may begin, records them in the row provided that the row has not changed in the meantime, and
// only then starts the attempts, all under the backfill's name. If a process ends in between, the record remains, and
// checkBackfills repeats the steps that may be missing.

// fill changes a backfill with edit, which may be called several times, begins the sessions that may begin, and returns
// the updated backfill. Sessions that cannot begin now are not errors: they are recorded and retried.
func (c lifecycle) fill(ctx context.Context, id int64, edit filling.Edit) (host.Backfill, error) {
	for {
		b, err := c.o.Backfills.Backfill(ctx, host.AnySite, id)
		if err != nil {
			return b, fmt.Errorf("read backfill %d: %w", id, err)
		}
		if !b.FinishedAt.IsZero() {
			late := b
			edit(&late) // late is not stored: it only lists attempts that were created too late
			return b, c.killRuns(ctx, late)
		}
		changed := edit(&b)
		taken, left, err := c.take(ctx, &b)
		if err != nil {
			return b, err
		}
		if over := len(b.State.Running) == 0 && b.Left() == 0; !changed && len(taken)+left == 0 && !over {
			return b, nil
		} else if over {
			b.FinishedAt = c.o.Now().UTC()
		}
		b.UpdatedAt = c.o.Now().UTC()
		switch err := c.o.Backfills.UpdateBackfill(ctx, b); {
		case errors.Is(err, host.ErrConflict):
			continue
		case err != nil:
			return b, fmt.Errorf("change backfill %d: %w", id, err)
		}
		b.Version++
		if !b.FinishedAt.IsZero() {
			c.o.Logger.Info("backfill ended", "backfill", b.ID, "status", b.Status(), "succeeded", b.State.Succeeded, "failed", b.State.Failed, "skipped", b.State.LeftOut)
			return b, nil
		}
		if b.State.Killed {
			return b, c.killRuns(ctx, b)
		}
		if len(taken) == 0 {
			return b, nil
		}
		edit = c.beginRuns(ctx, b, taken)
	}
}

// lookAhead is the largest number of sessions that are looked up together to decide which are skipped.
const lookAhead = 500

// take records the sessions that begin now, as long as there is room, and the sessions that it skips in between.
func (c lifecycle) take(ctx context.Context, b *host.Backfill) (taken []host.BackfillRun, left int, err error) {
	room := b.Plan.Parallel - len(b.State.Running)
	if b.State.OnHold {
		return nil, 0, nil
	}
	before := b.State.LeftOut
	for size := room; len(taken) < room && b.Left() > 0; size = min(2*size, lookAhead) {
		some := min(size, b.Left())
		out, err := c.leftOutOf(ctx, *b, some)
		if err != nil {
			return nil, 0, err
		}
		for i := 0; i < some && len(taken) < room; i++ {
			n := filling.InOrder(b.Plan, b.State.Begun)
			b.State.Begun++
			if out[n] {
				b.State.LeftOut++
				continue
			}
			taken = append(taken, host.BackfillRun{Session: n, Since: c.o.Now().UTC()})
		}
	}
	b.State.Running = append(slices.Clone(b.State.Running), taken...)
	return taken, b.State.LeftOut - before, nil
}

// leftOutOf returns which of the next sessions, by their places in the plan, are skipped.
func (c lifecycle) leftOutOf(ctx context.Context, b host.Backfill, some int) (map[int]bool, error) {
	if b.Plan.Existing == "" {
		return nil, nil
	}
	var places []int
	var times []time.Time
	for i := range some {
		n := filling.InOrder(b.Plan, b.State.Begun+i)
		places, times = append(places, n), append(times, b.Plan.Sessions[n])
	}
	there, err := c.existing(ctx, workflowOf(b), times)
	out := map[int]bool{}
	for _, n := range places {
		last, exists := there[b.Plan.Sessions[n].Unix()]
		out[n] = exists && last.RetryName != b.AttemptName() && filling.LeftOut(b.Plan.Existing, last)
	}
	return out, err
}

// workflowOf returns the fields of a backfill's workflow that are needed to find its sessions.
func workflowOf(b host.Backfill) host.Workflow {
	return host.Workflow{ID: b.Workflow.ID, Site: b.Site, Project: b.Project, Name: b.Workflow.Name}
}

// beginRuns starts the attempts of sessions that were recorded as begun, and returns the change that records the
// results.
func (c lifecycle) beginRuns(ctx context.Context, b host.Backfill, runs []host.BackfillRun) filling.Edit {
	var notes []filling.Edit
	d, err := c.definitionOf(ctx, b.Site, b.Workflow.ID)
	for _, r := range runs {
		var a host.Attempt
		failed := err
		if failed == nil {
			a, failed = c.beginRun(ctx, d, b, r)
		}
		switch {
		case failed == nil:
			notes = append(notes, filling.Begun(r, a.ID))
		case errors.Is(failed, errThere):
			notes = append(notes, filling.NotBegun(r, ""))
		case filling.MayBeginLater(failed):
			c.o.Logger.Warn("a session of a backfill is delayed", "backfill", b.ID, "session", sessiontime.Text(b.Plan.Sessions[r.Session]), "why", failed)
		default:
			notes = append(notes, filling.NotBegun(r, failed.Error()))
		}
	}
	return filling.Together(notes)
}

// errThere means that the session already has an attempt that is not part of the backfill.
var errThere = errors.New("the session already exists")

// beginRun starts a session's attempt unless it exists.
func (c lifecycle) beginRun(ctx context.Context, d replay.Definition, b host.Backfill, r host.BackfillRun) (host.Attempt, error) {
	if err := c.mayStart(ctx, b.Site, d, 1); err != nil {
		return host.Attempt{}, err
	}
	t := b.Plan.Sessions[r.Session]
	before, err := c.sessionBefore(ctx, b, r.Session)
	if err != nil {
		return host.Attempt{}, err
	}
	params, err := given.ForSession(d.Workflow.Config, d.Compiled.Zone, t, before, b.Plan.Params)
	if err != nil {
		return host.Attempt{}, userError(err)
	}
	n := host.NewAttempt{Site: b.Site, Project: b.Project, Workflow: b.Workflow, SessionTime: t, RetryName: b.AttemptName(), Zone: d.Workflow.Zone,
		Params: params, CreatedAt: c.o.Now().UTC(), WaitsFor: -1, Message: host.StartMessage(), New: b.Plan.Existing == filling.ExistingError || b.Plan.Existing == filling.ExistingSkip}
	start := backfilling()
	start.Priority = b.Plan.Priority
	if n.First, err = c.first(d, params, t, n.CreatedAt, start); err != nil {
		return host.Attempt{}, err
	}
	list, err := c.o.Attempts.Start(ctx, n)
	switch {
	case errors.Is(err, host.ErrConflict) && len(list) == 1:
		if list[0].RetryName != n.RetryName {
			return host.Attempt{}, errThere
		}
		return list[0], nil
	case err != nil:
		return host.Attempt{}, fmt.Errorf("start attempt: %w", err)
	}
	c.counts.started.Add(1)
	c.began(list[0])
	return list[0], nil
}

// sessionBefore returns the time that a session gets as its last executed session: the previous one in the plan, else
// the last session before the backfill.
func (c lifecycle) sessionBefore(ctx context.Context, b host.Backfill, session int) (time.Time, error) {
	if session > 0 {
		return b.Plan.Sessions[session-1], nil
	}
	t, err := c.o.Sessions.LastSession(ctx, b.Project.ID, b.Workflow.Name, b.Plan.Sessions[0])
	if err != nil {
		return t, fmt.Errorf("read last session: %w", err)
	}
	return t, nil
}

// fillOn advances the backfill that an ended attempt belongs to. It may be called repeatedly.
func (c lifecycle) fillOn(ctx context.Context, a host.Attempt) error {
	id, of := host.BackfillOf(a)
	if !of || c.o.Backfills == nil {
		return nil
	}
	_, err := c.fill(ctx, id, filling.Ended(a))
	if errors.Is(err, host.ErrNotFound) {
		return nil // a user chose such a name for the attempt, or retention has removed the backfill
	}
	return err
}

// killRuns kills a backfill's running attempts.
func (c lifecycle) killRuns(ctx context.Context, b host.Backfill) error {
	if !b.State.Killed {
		return nil
	}
	var failed []error
	for _, r := range b.State.Running {
		if r.Attempt == 0 {
			continue // the process that starts the attempt notices the kill, or checkBackfills does
		}
		a, err := c.o.Attempts.Attempt(ctx, b.Site, r.Attempt)
		if err == nil && !a.Done && !a.Canceled {
			err = c.kill(ctx, a)
		}
		if err != nil && !errors.Is(err, host.ErrNotFound) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// forgotten is the age at which the record of a session without an attempt is dropped after the backfill was killed: by
// then no process can be about to start it.
const forgotten = 15 * time.Minute

// checkBackfills checks all unfinished backfills, at most once a minute: sessions that had to wait may begin now, and
// crashes may have interrupted a step.
func (c *stores) checkBackfills(ctx context.Context) error {
	now := c.o.Now()
	if last := c.filled.Load(); c.o.Backfills == nil || last != 0 && now.Sub(time.UnixMilli(last)) < settled {
		return nil
	}
	c.filled.Store(now.UnixMilli())
	var failed []error
	for before := int64(0); ; {
		list, err := c.o.Backfills.Backfills(ctx, host.BackfillQuery{Site: host.AnySite, Open: true, Before: before, Count: atOnce})
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("read backfills: %w", err))...)
		}
		for _, b := range list {
			if before = b.ID; ctx.Err() != nil {
				return errors.Join(append(failed, ctx.Err())...)
			}
			if err := (lifecycle{c}).checkBackfill(ctx, b, now); err != nil {
				failed = append(failed, fmt.Errorf("update backfill %d: %w", b.ID, err))
			}
		}
		if len(list) < atOnce {
			return errors.Join(failed...)
		}
	}
}

// checkBackfill checks sessions that have been running for a minute or longer, and begins more sessions.
func (c lifecycle) checkBackfill(ctx context.Context, b host.Backfill, now time.Time) error {
	var notes []filling.Edit
	var again []host.BackfillRun
	for _, r := range b.State.Running {
		if now.Sub(r.Since) < settled {
			continue
		}
		a, found, err := c.runOf(ctx, b, r)
		switch {
		case err != nil:
			return err
		case found && a.Done:
			notes = append(notes, filling.Ended(a))
		case found && r.Attempt == 0:
			notes = append(notes, filling.Begun(r, a.ID))
		case found:
		case b.Stopped() && now.Sub(r.Since) > forgotten, r.Attempt != 0:
			notes = append(notes, filling.Lost(r))
		case !b.Stopped():
			again = append(again, r)
		}
	}
	if len(again) > 0 {
		notes = append(notes, c.beginRuns(ctx, b, again))
	}
	after, err := c.fill(ctx, b.ID, filling.Together(notes))
	if err != nil {
		return err
	}
	return c.killRuns(ctx, after)
}

// runOf finds the attempt of a session that has begun.
func (c lifecycle) runOf(ctx context.Context, b host.Backfill, r host.BackfillRun) (host.Attempt, bool, error) {
	if r.Attempt != 0 {
		a, err := c.o.Attempts.Attempt(ctx, b.Site, r.Attempt)
		if errors.Is(err, host.ErrNotFound) {
			return a, false, nil
		}
		return a, err == nil, err
	}
	return c.attemptNamed(ctx, workflowOf(b), b.Plan.Sessions[r.Session], b.AttemptName())
}
