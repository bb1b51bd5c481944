package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/pool"
)

// A task that waits for a pool's slots requests them with a separate message to its attempt. The handler of that
// message, or of a later wake of the task, tries to take the slots. Slots count as taken only once the log contains
// Granted; the same message gives them up if the log shows that the task no longer waits. The message that ended a try
// gives up the try's slots before it sends anything.

// claimOf returns a try's claim to slots of a pool.
func claimOf(attempt int64, ask events.SlotsAsk) host.Claim {
	return host.Claim{Holder: host.Holder{Attempt: attempt, Task: int(ask.Task), Try: ask.Try}.String(), Slots: ask.Slots, Priority: ask.Priority, Since: ask.Since}
}

func (a *attempt) ask(task engine.TaskID, c claim.Pool, try int, since time.Time) events.SlotsAsk {
	return events.SlotsAsk{Task: task, Try: try, Pool: c.Name, Slots: c.Slots, Priority: c.Priority, Since: since.UnixMilli(), Site: a.row.Site}
}

// slotsOwed gives up the slots that a guard must give up, and then sends the requests for slots that it owes. It does
// not repeat what this process has done since it read the attempt. The lock is held.
func (w *Worker) slotsOwed(ctx context.Context, a *attempt, guard string) error {
	var asks []host.Message
	var asked []string
	for _, e := range a.state.Outstanding(guard) {
		switch e := e.(type) {
		case engine.Release:
			key := fmt.Sprintf("free %d/%d of %s", e.Task, e.Try, e.Pool.Name)
			if a.slotsDone[key] {
				continue
			}
			if err := w.releaseSlots(ctx, a, e); err != nil {
				return err
			}
			a.slotsAre(key)
		case engine.Acquire:
			key := "ask " + host.RunName(e.Run)
			if !a.slotsDone[key] {
				asks = append(asks, host.SlotsMessage(a.id, host.RunName(e.Run), a.ask(e.Task, e.Pool.Asked(), e.Pool.Try, e.Pool.Since)))
				asked = append(asked, key)
			}
		}
	}
	if len(asks) == 0 {
		return nil
	}
	if err := w.Events.Send(ctx, asks...); err != nil {
		return fmt.Errorf("request slots for attempt %d: %w", a.id, err)
	}
	for _, key := range asked {
		a.slotsAre(key)
	}
	return nil
}

func (a *attempt) slotsAre(key string) {
	if a.slotsDone == nil {
		a.slotsDone = map[string]bool{}
	}
	a.slotsDone[key] = true
}

// releaseSlots gives up a try's slots or places. A waiting try may be in the line of any pool of that name.
func (w *Worker) releaseSlots(ctx context.Context, a *attempt, r engine.Release) error {
	c := claimOf(a.id, a.ask(r.Task, r.Pool, r.Try, r.Since))
	refs := []host.PoolRef{{Site: a.row.Site, Project: r.Project, Name: r.Pool.Name}}
	if r.Waited {
		refs = poolsOf(a.row, r.Pool)
	}
	return w.runTurns(ctx, refs, pool.Release(c, r.Waited))
}

// runTurns runs a turn on each of the pools that a claim may refer to.
func (w *Worker) runTurns(ctx context.Context, refs []host.PoolRef, t pool.Turn) error {
	for _, ref := range refs {
		if _, err := w.Slots.Run(ctx, ref, t); err != nil {
			return err
		}
	}
	return nil
}

// poolsOf returns the pools that a claim may refer to in an attempt: the pool of its project takes precedence over the
// site's. An implicit pool belongs to the project.
func poolsOf(row host.Attempt, c claim.Pool) []host.PoolRef {
	of := host.PoolRef{Site: row.Site, Project: row.Project.ID, Name: c.Name}
	if c.Size > 0 || of.Implicit() {
		return []host.PoolRef{of}
	}
	return []host.PoolRef{of, {Site: row.Site, Name: c.Name}}
}

// askAgain resends the messages that make tasks request slots, because a revival cannot see which messages still exist.
// The lock is held.
func (d *delivery) askAgain(ctx context.Context, lacks func(engine.Effect) bool) error {
	a := d.attempt
	for _, e := range a.state.Owed() {
		if x, waits := e.(engine.Acquire); waits && lacks(e) {
			ask := a.ask(x.Task, x.Pool.Asked(), x.Pool.Try, x.Pool.Since)
			if err := d.Events.Send(ctx, host.SlotsMessage(a.id, again(d.guard, host.RunName(x.Run)), ask)); err != nil {
				return fmt.Errorf("request slots for attempt %d again: %w", a.id, err)
			}
		}
	}
	return nil
}

// slots handles a message that makes a task try to take its slots. The cached state was dropped: all decisions here are
// based on the current log.
func (d *delivery) slots(ctx context.Context, ask events.SlotsAsk) error {
	row, now, use, err := d.standing(ctx, ask)
	if err != nil {
		return err
	}
	if ask.By != 0 {
		return d.displaced(ctx, ask)
	}
	of, asked, again := claimOf(d.attempt.id, ask), named(use, ask.Pool), d.message.Count > 1
	refs := poolsOf(row, asked)
	woken := host.PoolRef{Site: ask.Site, Project: ask.Project, Name: ask.Pool}
	switch now {
	case claim.TryWaits:
		ref, outcome, err := d.acquire(ctx, refs, of, d.Slots.Sized(asked.Size, !ask.Woken))
		if err != nil {
			return err
		}
		if ask.Woken && woken != ref { // a pool of the project was created or deleted since the try joined that line
			if _, err := d.Slots.Run(ctx, woken, pool.Release(of, true)); err != nil {
				return err
			}
		}
		if outcome == pool.Joined {
			if waits, err := d.stillWaits(ctx, ask, refs); err != nil || !waits {
				return err
			}
			outcome = pool.Waiting
		}
		if outcome == pool.Waiting {
			return d.atLimit(ctx, use, ref, of)
		}
		return d.logOutcome(ctx, ask, ref, outcome, refs)
	case claim.TryHas:
		if err := d.runTurns(ctx, refs, pool.Tidy(of, again)); err != nil {
			return err
		}
		return d.apply(ctx, d.attempt, propose(d.guard)) // carries out what an earlier delivery left undone
	}
	if err := d.runTurns(ctx, refs, pool.GiveUp(of, again)); err != nil || row.Done {
		return err
	}
	return d.apply(ctx, d.attempt, propose(d.guard)) // even if this message ended the attempt and the end has not been announced yet
}

// named returns a try's claim to slots of one of its pools.
func named(use claim.Use, pool string) claim.Pool {
	for _, c := range use.Claims() {
		if c.Name == pool {
			return c
		}
	}
	return claim.Pool{Name: pool}
}

// standing reads the state of a try from the log. If the attempt no longer exists, the try has ended and the returned
// row is marked Done.
func (d *delivery) standing(ctx context.Context, ask events.SlotsAsk) (host.Attempt, claim.Standing, claim.Use, error) {
	use := claim.Use{Pool: claim.Pool{Name: ask.Pool}}
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.ensure(ctx)
	if errors.Is(err, host.ErrGone) || errors.Is(err, host.ErrNotFound) {
		row, err := d.Attempts.Attempt(ctx, host.AnySite, a.id)
		if errors.Is(err, host.ErrNotFound) {
			row, err = host.Attempt{Site: ask.Site, Project: host.Ref{ID: ask.Project}}, nil // retention has removed it
		}
		row.Done = true
		return row, claim.TryOver, use, err
	}
	if err != nil {
		return host.Attempt{}, claim.NotKnown, use, err
	}
	if u, _ := a.state.UseOf(ask.Task); u != nil {
		use = *u
	}
	return a.row, a.state.TryOf(ask.Task, ask.Try, ask.Pool), use, nil
}

// acquire tries for the slots of the first existing pool.
func (d *delivery) acquire(ctx context.Context, refs []host.PoolRef, c host.Claim, slots pool.Runner) (host.PoolRef, pool.Outcome, error) {
	for _, ref := range refs {
		o, err := slots.Run(ctx, ref, pool.Acquire(c, d.message.Count > 1))
		if err != nil || o != pool.Missing {
			return ref, o, err
		}
	}
	return refs[len(refs)-1], pool.Missing, nil
}

// logOutcome records the outcome in the log if the try still waits for it. If the try has ended, it gives up the slots.
func (d *delivery) logOutcome(ctx context.Context, ask events.SlotsAsk, ref host.PoolRef, o pool.Outcome, refs []host.PoolRef) error {
	p := &proposal{guards: []string{d.guard}}
	p.plan = func(s *engine.State) ([]engine.Event, bool) {
		if s.TryOf(ask.Task, ask.Try, ask.Pool) != claim.TryWaits {
			return nil, false
		}
		_, run := s.UseOf(ask.Task)
		by := engine.By{Guard: d.guard}
		if o == pool.Granted {
			return []engine.Event{engine.Granted{By: by, Run: run, Project: ref.Project}}, true
		}
		return []engine.Event{engine.Errored{By: by, Run: run, Error: param.DataMap(engine.ErrorObject(refusal(ask, o)))}}, true
	}
	if err := d.apply(ctx, d.attempt, p); err != nil {
		return err
	}
	if p.applied {
		return nil
	}
	if waits, err := d.stillWaits(ctx, ask, refs); err != nil || !waits {
		return err
	}
	return errWaitsAgain // another message made a different change meanwhile: this one must be delivered again
}

// stillWaits reads the log again and reports whether the try still waits. If it does not, its place in line is
// given up, and so are its slots unless another message has recorded the same ones.
func (d *delivery) stillWaits(ctx context.Context, ask events.SlotsAsk, refs []host.PoolRef) (bool, error) {
	d.attempt.forget()
	_, now, _, err := d.standing(ctx, ask)
	of := claimOf(d.attempt.id, ask)
	switch {
	case err != nil:
		return false, err
	case now == claim.TryWaits:
		return true, nil
	case now == claim.TryHas:
		return false, d.runTurns(ctx, refs, pool.Tidy(of, true))
	}
	return false, d.runTurns(ctx, refs, pool.GiveUp(of, true))
}

// errWaitsAgain means that a try still waits although its slots could not be recorded in the log.
var errWaitsAgain = errors.New("the task still waits for its slots")

// refusal returns the reason why a task can never have its slots.
func refusal(ask events.SlotsAsk, o pool.Outcome) error {
	if o == pool.TooLarge {
		return param.Errorf("Pool '%s' has fewer than the %d slots that the task needs: `zerodag pool show %s` shows how many", ask.Pool, ask.Slots, ask.Pool)
	}
	return param.Errorf("%s", host.NoPool(ask.Pool))
}
