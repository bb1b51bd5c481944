package delivery

import (
	"context"
	"errors"
	"slices"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// errEarly means that a message is for a run that its task is only about to wait for.
var errEarly = errors.New("the task is not waiting yet")

// runClaim determines which of a message's tasks must be run now, under this message.
type runClaim struct {
	guard string
	asked []engine.Run
	// from lists the guards of the messages that this one replaces and whose runs it takes over.
	from []string
	// again means that an earlier receiver may have worked on the message. Once this claim has appended its entry, that
	// receiver has lost its work, and its results no longer count.
	again bool
	// waits means that the message is for waiting runs: the guard of a run's wake is recorded with the run.
	waits   bool
	message host.Delivery
	// blameless means that no earlier receiver can have lost a run, so no task is blamed.
	blameless bool
	pack      int
	crashes   int // limit of crashes during a task; 0: this is not a second delivery after a crash
	// marks means that the queue records which run an earlier receiver has begun. No other run is blamed.
	marks bool
	// decided means that the planned events are in the log. The following steps may be repeated.
	decided  bool
	outboxes []outbox // by guard

	// The results of planning, for the last state that was planned for.
	runs   []engine.Run // runs that need no event; later also runs, owed by the message, that its events order
	events []engine.Event
	stray  bool // a requested run is not current
	taken  bool // a task was woken by another delivery of this message
	early  bool // a requested run does not exist yet
}

// plan plans to wake waiting tasks. On a second delivery it also takes over the runs of the earlier holder.
func (c *runClaim) plan(s *engine.State) ([]engine.Event, bool) {
	c.runs, c.events, c.stray, c.taken, c.early = nil, nil, false, false, false
	asked := c.asked
	if c.again {
		asked = append(slices.Clone(asked), c.left(s)...)
	}
	for _, r := range asked {
		t := s.Task(r.Task)
		switch {
		case tooSoon(s, r):
			c.early = true // woken before the log shows that it waits
		case t == nil || t.Dispatch != r.Dispatch || t.Group && !t.Preparing:
			c.stray = true
		case t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting:
			c.events = append(c.events, engine.Due{By: engine.By{Guard: c.guard}, Run: r})
		case t.State == engine.Running:
			c.planRunning(t, r)
		default:
			c.stray = true
		}
	}
	return c.events, !c.stray && !c.taken && !c.early
}

// planRunning plans for a run that has begun: it belongs to this message, belongs to another, or is lost.
func (c *runClaim) planRunning(t *engine.Task, r engine.Run) {
	switch {
	case c.waits && !slices.Contains(c.guards(), t.Guard):
		c.stray = true // another message woke it
	case c.again || fenced(t):
		c.events = append(c.events, c.lost(r, fenced(t)))
	case c.waits:
		c.taken = true // another delivery of this message woke it
	default:
		c.runs = append(c.runs, r)
	}
}

// lost returns the event that takes a run over. The run is blamed only if an earlier receiver may have begun it.
func (c *runClaim) lost(r engine.Run, fenced bool) engine.Lost {
	e := engine.Lost{By: engine.By{Guard: c.guard}, Run: r, Blameless: true}
	begun, times := parseBegun(c.message.Begun)
	if !c.marks || begun == host.RunName(r) && (times == 0 || times > mostStarting) {
		e.Blameless, e.Crashes = c.blameless || fenced, c.crashes
	}
	return e
}

// left returns the runs that an earlier holder of the message reached and may have begun. That holder kept a task only
// if there was just one; if there were more, it sent each in a separate message, which is not lost. Packs cannot be
// sent again because their contents change.
func (c *runClaim) left(s *engine.State) []engine.Run {
	var runs []engine.Run
	for _, guard := range c.guards() {
		for _, e := range s.Outstanding(guard) {
			if x, ok := e.(engine.Dispatch); ok && x.At.IsZero() && !slices.Contains(c.asked, x.Run) {
				runs = append(runs, x.Run)
			}
		}
	}
	if c.pack == 1 && len(runs) > 1 {
		return nil
	}
	return runs
}

func (c *runClaim) guards() []string { return append(slices.Clone(c.from), c.guard) }

// claimRuns claims a message's tasks and returns the runs to start now. On a second delivery it carries out what the
// message owes even if nothing changed.
func (d *delivery) claimRuns(ctx context.Context, m events.Task) (runs []engine.Run, err error) {
	x := d.message
	c := runClaim{guard: d.guard, asked: m.Runs, from: m.From, again: x.Count > 1 || len(m.From) > 0, waits: m.Wait || x.Count == 1 && !x.Due.IsZero(), message: x, blameless: x.Restarted || unbegun(x, m), pack: d.Limits.Pack}
	// Servers that share a database cannot see how another server ended: a server that left a begun run counts as crashed.
	if _, c.marks = d.Tasks.(host.Marker); x.Crashed || c.marks && d.Live.shared {
		c.crashes = d.Limits.MaxCrashes()
		c.blameless = c.blameless || c.crashes == 0
	}
	c.outboxes = make([]outbox, len(c.from)+1)
	p := &proposal{guards: c.guards(), plan: c.plan}
	if x.Count > 1 {
		if err := d.confirm(ctx); err != nil {
			return nil, err
		}
	} else if c.again {
		d.attempt.forget() // changes that others have made since then must be seen
	}
	err = d.Retry.Do(ctx, "take a message", func() (err error) {
		d.attempt.mu.Lock()
		defer d.attempt.mu.Unlock()
		runs, err = d.take(ctx, p, &c)
		return err
	})
	return runs, err
}

// mostUnbegun limits how many times a task is taken over without blame: a task that crashes its agent also appears not
// to have begun, judging by the times, if its message then waits for a free agent.
const mostUnbegun = 5

// unbegun reports whether no previous receiver began the work of this message or of the messages that it replaces, as
// far as their runs are unclaimed.
func unbegun(d host.Delivery, m events.Task) bool {
	if len(m.From) > mostUnbegun {
		return false
	}
	if d.Count == 1 {
		return m.Unbegun
	}
	return d.Unbegun && (len(m.From) == 0 || m.Unbegun)
}

// confirm makes sure that a redelivered message still exists: if another delivery has deleted it, work taken over for
// it would be lost with this process.
func (d *delivery) confirm(ctx context.Context) error {
	if !d.attempt.register(d.guard, d.message.Count, d.message.Count) {
		return errSuperseded
	}
	d.attempt.forget() // changes that others have made since then must be seen
	return orSuperseded(d.Retry.Do(ctx, "take a message", func() error { return d.extend(ctx) }))
}

// decideClaim stores the planned events of the claim unless they are stored already, and fails if the message has
// nothing to run.
func (d *delivery) decideClaim(ctx context.Context, p *proposal, c *runClaim) error {
	if !c.decided {
		if err := d.decide(ctx, d.attempt, p); err != nil {
			return err
		}
		c.decided = true
	} else if err := d.attempt.ensure(ctx); err != nil {
		return err
	}
	switch {
	case c.taken:
		return errSuperseded
	case c.early:
		return errEarly
	}
	return nil
}

// claimed returns the runs of the claim, including the runs that its own events owe to this message.
func (d *delivery) claimed(ctx context.Context, c *runClaim) ([]engine.Run, error) {
	runs := slices.Clone(c.runs)
	if !c.again && len(c.events) == 0 {
		return runs, nil
	}
	for i, guard := range c.guards() {
		kept, err := d.perform(ctx, d.attempt, holder{guard: guard, keep: c.pack}, &c.outboxes[i])
		if err != nil {
			return nil, err
		}
		runs = append(runs, kept...)
	}
	return runs, nil
}

// take decides the events that the claim plans, and returns the runs that are left for this message. The lock is held.
func (d *delivery) take(ctx context.Context, p *proposal, c *runClaim) ([]engine.Run, error) {
	a := d.attempt
	if d.message.Count > 1 && a.claimed[c.guard] != d.message.Count {
		return nil, errSuperseded // another delivery claimed the message while this one waited for the store
	}
	if d.Limits.ProcessTime > 0 && d.Now().Sub(a.known) > oldest {
		a.state = nil // a run may be fenced
	}
	if p.doubt.Nonce == "" && c.wereReady(a) {
		return c.runs, nil
	}
	if err := d.decideClaim(ctx, p, c); err != nil {
		return nil, err
	}
	runs, err := d.claimed(ctx, c)
	if err != nil {
		return nil, err
	}
	is := current(a.state)
	runs = slices.DeleteFunc(runs, func(r engine.Run) bool { return !is(r) })
	if len(runs) == 0 && (c.again && a.fences() || !c.again && !p.applied) {
		return nil, a.superseded(c.guard)
	}
	return runs, nil
}

// wereReady reports whether the tasks of a first claim were already ready when they were sent, according to the state
// in this process: then there is nothing to decide.
func (c *runClaim) wereReady(a *attempt) bool {
	if a.state == nil || c.again || c.decided {
		return false
	}
	_, applies := c.plan(a.state)
	return applies && len(c.events) == 0
}
