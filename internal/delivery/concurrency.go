package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/dig/keys"
	"zerodag/events"
	"zerodag/internal/host"
)

// An attempt of a workflow with `concurrency` holds a pool slot under the same protocol as a task with `_pool`. This
// file decides what happens to an attempt, and to earlier ones, while there is no slot for it (`on_limit`).
//
// An attempt that must make room gets a message, whose handler checks in the attempt's log whether the request still
// applies: an attempt that only had to give up its place in line must not be killed if it has begun in the
// meantime.

// mostWaiting is how many claims in a line are checked for attempts that must make room.
const mostWaiting = 1000

// rival is another attempt that uses the same pool.
type rival struct {
	attempt  int64
	priority int
	since    int64
	ending   bool // it was killed, and its slot will be free
}

// before reports whether r requested its slot before another rival.
func (r rival) before(other rival) bool {
	return cmp.Or(cmp.Compare(r.since, other.since), cmp.Compare(r.attempt, other.attempt)) < 0
}

// atLimit applies `on_limit` to an attempt that must wait. For a task it does nothing.
func (d *delivery) atLimit(ctx context.Context, use claim.Use, ref host.PoolRef, c host.Claim) error {
	if use.OnLimit == "" || use.OnLimit == keys.LimitWait {
		return nil
	}
	l, err := d.Slots.Semaphore.Line(ctx, ref, mostWaiting)
	if err != nil {
		return fmt.Errorf("pool %s: %w", ref.Name, err)
	}
	me := rival{attempt: d.attempt.id, priority: c.Priority, since: c.Since}
	waiting, err := waitingRivals(l)
	if err != nil {
		return err
	}
	switch use.OnLimit {
	case keys.LimitSkip:
		return d.skipped(ctx, l)
	case keys.LimitLatest:
		return d.latest(ctx, ref, me, waiting)
	case keys.LimitReplace:
		return d.replace(ctx, ref, l, me, waiting)
	}
	return nil
}

func waitingRivals(l host.Line) ([]rival, error) {
	list := make([]rival, len(l.Waiting))
	for i, w := range l.Waiting {
		h, err := host.ParseHolder(w.Holder)
		if err != nil {
			return nil, err
		}
		list[i] = rival{attempt: h.Attempt, priority: w.Priority, since: w.Since}
	}
	return list, nil
}

// skipped ends an attempt that should not have started because another started at the same time. If no attempt has a
// slot, this one is being woken.
func (d *delivery) skipped(ctx context.Context, l host.Line) error {
	if len(l.Taken) == 0 {
		return nil
	}
	h, err := host.ParseHolder(l.Taken[0].Holder)
	if err != nil {
		return err
	}
	return d.displace(ctx, fmt.Sprintf("Attempt %d was already running (`on_limit: %s`)", h.Attempt, keys.LimitSkip), func(s *engine.State, _ rival) bool {
		return s.Waits()
	})
}

// latest ends all waiting attempts except the newest.
func (d *delivery) latest(ctx context.Context, ref host.PoolRef, me rival, waiting []rival) error {
	newest := me
	for _, w := range waiting {
		if newest.before(w) {
			newest = w
		}
	}
	return d.makeRoom(ctx, ref, newest, keys.LimitLatest, slices.DeleteFunc(waiting, func(w rival) bool { return w.attempt == newest.attempt }))
}

// replace ends as many running attempts as this attempt needs slots, the least important and the oldest first, and ends
// the waiting attempts. It spares attempts that are more important or newer than this one.
func (d *delivery) replace(ctx context.Context, ref host.PoolRef, l host.Line, me rival, waiting []rival) error {
	var out, running []rival
	need := 1 + len(l.Taken) - l.Slots
	for _, w := range waiting {
		switch {
		case w.priority > me.priority:
			need++
		case w.attempt != me.attempt && w.before(me):
			out = append(out, w)
		}
	}
	for _, t := range l.Taken {
		r, known, err := d.holder(ctx, t.Holder)
		switch {
		case err != nil:
			return err
		case !known || r.ending: // its slot will become free
			need--
		case r.priority <= me.priority && r.before(me):
			running = append(running, r)
		}
	}
	slices.SortFunc(running, func(a, b rival) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.since, b.since), cmp.Compare(a.attempt, b.attempt))
	})
	out = append(out, running[:max(0, min(need, len(running)))]...)
	return d.makeRoom(ctx, ref, me, keys.LimitReplace, out)
}

// holder reads the holder of a slot. If the holder no longer exists, its slot will soon become free.
func (d *delivery) holder(ctx context.Context, name string) (rival, bool, error) {
	h, err := host.ParseHolder(name)
	if err != nil {
		return rival{}, false, err
	}
	loaded, err := d.attempt.reader.Load(ctx, h.Attempt)
	if errors.Is(err, host.ErrGone) || errors.Is(err, host.ErrNotFound) {
		return rival{}, false, nil
	}
	if err != nil {
		return rival{}, false, fmt.Errorf("read attempt %d, which occupies a slot: %w", h.Attempt, err)
	}
	r, there := rivalOf(h.Attempt, loaded.State)
	return r, there, nil
}

func rivalOf(attempt int64, s *engine.State) (rival, bool) {
	use, _ := s.UseOf(engine.Whole)
	if use == nil {
		return rival{}, false
	}
	return rival{attempt: attempt, priority: use.Priority, since: use.Since.UnixMilli(), ending: s.Canceled() || s.Ended()}, true
}

// makeRoom asks attempts to make room for another attempt.
func (d *delivery) makeRoom(ctx context.Context, ref host.PoolRef, winner rival, mode string, list []rival) error {
	var messages []host.Message
	for _, r := range list {
		messages = append(messages, host.SlotsMessage(r.attempt, "for-"+strconv.FormatInt(winner.attempt, 10), events.SlotsAsk{Task: engine.Whole, Try: 1, Pool: ref.Name, Slots: 1,
			Priority: winner.priority, Since: winner.since, Site: ref.Site, Project: ref.Project, By: winner.attempt, OnLimit: mode}))
	}
	if len(messages) == 0 {
		return nil
	}
	if err := d.Events.Send(ctx, messages...); err != nil {
		return fmt.Errorf("make room for attempt %d: %w", winner.attempt, err)
	}
	return nil
}

// displaced ends the attempt if it must make room for another.
func (d *delivery) displaced(ctx context.Context, ask events.SlotsAsk) error {
	by := rival{attempt: ask.By, priority: ask.Priority, since: ask.Since}
	why := fmt.Sprintf("Attempt %d replaced it (`on_limit: %s`)", ask.By, ask.OnLimit)
	return d.displace(ctx, why, func(s *engine.State, me rival) bool {
		if !me.before(by) {
			return false
		}
		return s.Waits() && (ask.OnLimit == keys.LimitLatest || me.priority <= by.priority) || ask.OnLimit == keys.LimitReplace && me.priority <= by.priority
	})
}

// displace kills the attempt if the state in its log allows that.
func (d *delivery) displace(ctx context.Context, why string, mayEnd func(s *engine.State, me rival) bool) error {
	p, killed := &proposal{guards: []string{d.guard}}, false
	p.plan = func(s *engine.State) ([]engine.Event, bool) {
		me, there := rivalOf(d.attempt.id, s)
		if killed = there && !s.Ended() && mayEnd(s, me); killed && !s.Canceled() {
			return []engine.Event{engine.Kill{By: engine.By{Guard: d.guard}, Why: why}}, true
		}
		return nil, false
	}
	err := d.apply(ctx, d.attempt, p)
	if errors.Is(err, host.ErrGone) || errors.Is(err, host.ErrNotFound) {
		return nil
	}
	if err != nil || !killed {
		return err
	}
	d.Logger.Info("attempt makes room", "attempt", d.attempt.id, "why", why)
	if err := d.Attempts.Cancel(ctx, d.attempt.id); err != nil {
		return fmt.Errorf("flag attempt %d: %w", d.attempt.id, err)
	}
	return nil
}
