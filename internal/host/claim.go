package host

import (
	"context"
	"errors"
	"math"
	"slices"

	"zerodag/engine"
	"zerodag/events"
)

// errSuperseded is said of work that another delivery of the same message goes on with.
// Nothing is done about the message: it is for that one to delete, or comes back.
var errSuperseded = errors.New("the work goes on elsewhere")

// errEarly is said of a message for a run that its task is about to wait for.
var errEarly = errors.New("the task does not wait yet")

// claim finds out which of a message's tasks are to be run now, under this message.
type claim struct {
	guard    string
	asked    []engine.Run
	from     []string // guards that are taken over from, besides its own
	again    bool     // somebody may have been at it before
	waits    bool     // it is for runs that wait: who runs them has said so under its guard
	delivery Delivery
	pack     int
	crashes  int // that a task may be under way at; 0: this is no second delivery after one
	decided  bool
	sendings []sending // by guard

	// By the state planned for last.
	runs   []engine.Run // to be run as they are; those of events the message owes then
	events []engine.Event
	stray  bool // something asked for is not current
	taken  bool // a task was woken by another delivery of this message
	early  bool // something asked for is not there yet
}

// plan wakes tasks that wait. On a second delivery it takes over from the earlier holder.
func (c *claim) plan(s *engine.State) ([]engine.Event, bool) {
	c.runs, c.events, c.stray, c.taken, c.early = nil, nil, false, false, false
	asked := c.asked
	if c.again {
		asked = append(slices.Clone(asked), c.left(s)...)
	}
	for _, r := range asked {
		t := s.Task(r.Task)
		switch {
		case tooSoon(s, r):
			c.early = true // woken before it has said that it waits
		case t == nil || t.Dispatch != r.Dispatch || t.Group:
			c.stray = true
		case t.State == engine.RetryWaiting || t.State == engine.GroupRetryWaiting:
			c.events = append(c.events, engine.Due{By: engine.By{Guard: c.guard}, Run: r})
		case t.State == engine.Running && c.waits && !slices.Contains(c.guards(), t.Guard):
			c.stray = true // another message woke it
		case t.State == engine.Running && c.again:
			c.events = append(c.events, engine.Lost{By: engine.By{Guard: c.guard}, Run: r, Blameless: c.delivery.Restarted, Crashes: c.crashes})
		case t.State == engine.Running && c.waits:
			c.taken = true // another delivery of this message woke it
		case t.State == engine.Running:
			c.runs = append(c.runs, r)
		default:
			c.stray = true
		}
	}
	return c.events, !c.stray && !c.taken && !c.early
}

// left is what an earlier holder of the message got to and may have been at. It keeps one
// task for itself; where there are more it has sent them, each in a message of its own
// that is not lost. Packs cannot be sent again: what they are made of changes.
func (c *claim) left(s *engine.State) []engine.Run {
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

func (c *claim) guards() []string { return append(slices.Clone(c.from), c.guard) }

// claim takes a message's tasks. What the message owes is carried out on a second delivery
// also when nothing changed.
func (h *Host) claim(ctx context.Context, l *live, guard string, m events.Task, d Delivery) (runs []engine.Run, err error) {
	c := claim{guard: guard, asked: m.Runs, from: m.From, again: d.Count > 1 || len(m.From) > 0, waits: m.Wait || d.Count == 1 && !d.Due.IsZero(), delivery: d, pack: h.Limits.Pack}
	if d.Crashed {
		c.crashes = h.maxCrashes()
	}
	c.sendings = make([]sending, len(c.from)+1)
	a := &act{guards: c.guards(), plan: c.plan}
	if d.Count > 1 {
		if err := h.mine(ctx, l, guard, d); err != nil {
			return nil, err
		}
	} else if c.again {
		h.forget(l) // what others did since must be seen
	}
	err = h.insist(ctx, "take a message", func() (err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		runs, err = h.take(ctx, l, a, &c)
		return err
	})
	return runs, err
}

// mine makes sure that a message that comes again is still there: to take something over
// for one that another delivery has deleted would be to lose it with this process.
func (h *Host) mine(ctx context.Context, l *live, guard string, d Delivery) error {
	if !l.claim(guard, d.Count, d.Count) {
		return errSuperseded
	}
	h.forget(l) // what others did since must be seen
	err := h.insist(ctx, "take a message", func() error { return h.Tasks.Extend(ctx, d, h.Limits.Lease) })
	if errors.Is(err, ErrLeaseLost) {
		return errSuperseded
	}
	return err
}

// deleting is above every number of a delivery.
const deleting = math.MaxInt

// claim notes that a delivery of a message is at what the message owes, or is about to
// delete it. It is false when a later delivery is, or another one is about to delete it.
func (l *live) claim(guard string, count, as int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claimed[guard] > count {
		return false
	}
	l.claimed[guard] = as
	return true
}

func (l *live) unclaim(guard string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claimed, guard)
}

func (h *Host) take(ctx context.Context, l *live, a *act, c *claim) ([]engine.Run, error) {
	if c.delivery.Count > 1 && l.claimed[c.guard] != c.delivery.Count {
		return nil, errSuperseded // while this one waited for the store
	}
	if l.state != nil && !c.again && !c.decided && a.doubt.Nonce == "" {
		if _, applies := c.plan(l.state); applies && len(c.events) == 0 {
			return c.runs, nil // tasks that were ready when they were sent
		}
	}
	if !c.decided {
		if err := h.decide(ctx, l, a); err != nil {
			return nil, err
		}
		c.decided = true
	} else if l.state == nil {
		if err := h.load(ctx, l, nil); err != nil {
			return nil, err
		}
	}
	if c.taken {
		return nil, errSuperseded
	}
	if c.early {
		return nil, errEarly
	}
	runs := slices.Clone(c.runs)
	if c.again || len(c.events) > 0 {
		for i, guard := range c.guards() {
			taken, err := h.perform(ctx, l, duty{guard: guard, keep: c.pack}, &c.sendings[i])
			if err != nil {
				return nil, err
			}
			runs = append(runs, taken...)
		}
	}
	is := current(l.state)
	runs = slices.DeleteFunc(runs, func(r engine.Run) bool { return !is(r) })
	if len(runs) == 0 && !c.again && !a.applied {
		return nil, l.superseded(c.guard)
	}
	return runs, nil
}

// superseded is an error when a message whose run somebody took over still owes something:
// it was another delivery of it, which is at that. To delete the message would be to lose
// it with whoever has it. The lock is held.
func (l *live) superseded(guard string) error {
	if l.state.Ended() || len(l.state.Outstanding(guard)) == 0 {
		return nil
	}
	return errSuperseded
}

// current says whether a run is the one that its task waits for.
func current(s *engine.State) func(engine.Run) bool {
	return func(r engine.Run) bool {
		t := s.Task(r.Task)
		return !s.Ended() && t != nil && t.State == engine.Running && t.Dispatch == r.Dispatch
	}
}
