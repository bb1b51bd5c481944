package catalogue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
)

// neverBegan is the age at which an attempt with only its first entry counts as not begun: no run of a task takes that
// long, and no message waits that long.
const neverBegan = time.Hour

// Revive checks whether the attempts created after from and up to until have begun: if an attempt and its first message
// are not stored together, a process may have ended between the two.
func (c lifecycle) Revive(ctx context.Context, from, until time.Time) error {
	var failed []error
	for after := int64(0); ; {
		list, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: host.AnySite, After: after, Since: from, Count: atOnce})
		if err != nil {
			return fmt.Errorf("read active attempts: %w", err)
		}
		var young []host.Attempt
		over := len(list) < atOnce
		for _, a := range list {
			after = a.ID
			over = over || a.CreatedAt.After(until) // ids increase with time
			if a.CreatedAt.After(from) && !a.CreatedAt.After(until) && a.AfterSession == 0 {
				young = append(young, a)
			}
		}
		failed = append(failed, each(c.o.Limits.Looks, young, func(a host.Attempt) error {
			return host.Recover(c.o.Logger, fmt.Sprintf("attempt %d", a.ID), func() error { return c.revive(ctx, a) })
		})...)
		if over {
			return errors.Join(failed...)
		}
	}
}

// Revived is the result of one batch of a revival.
type Revived struct {
	Attempts int // unfinished attempts that were checked
	Messages int // sent to them
	// Next is the id after which the next batch begins; 0 after the last batch.
	Next int64
	// Together means that the store of attempts lists the messages of its queues, so only missing messages are sent again.
	Together bool
	// Wait is how long it takes until every run whose process may be dead has continued.
	Wait time.Duration
}

// revivedAtOnce is how many attempts one batch of a revival checks: few enough to send their messages within a few
// seconds.
const revivedAtOnce = 1000

// ReviveAll sends messages to one batch of unfinished attempts across all sites: the next attempts with ids above
// after. Afterwards every attempt has the messages that it waits for, even if the queues were lost or the table was
// restored. It may be called at any time and repeatedly: no task runs twice because of it.
func (c lifecycle) ReviveAll(ctx context.Context, after int64) (Revived, error) {
	r := Revived{Together: c.o.Limits.ProcessTime == 0, Wait: c.o.Limits.FenceTime()}
	if r.Together && c.o.Inventory == nil {
		return Revived{Together: true}, nil
	}
	list, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: host.AnySite, After: after, Count: revivedAtOnce})
	if err != nil {
		return Revived{}, fmt.Errorf("read active attempts: %w", err)
	}
	var ids []int64
	for _, a := range list {
		if a.AfterSession == 0 { // otherwise it begins when the session that it waits for ends
			ids = append(ids, a.ID)
		}
	}
	if err := c.sendRevivals(ctx, ids); err != nil {
		return Revived{}, err
	}
	r.Attempts, r.Messages = len(list), len(ids)
	if len(list) == revivedAtOnce {
		r.Next = list[len(list)-1].ID
	}
	return r, nil
}

// sendRevivals sends a revival to each attempt.
func (c lifecycle) sendRevivals(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	name := strconv.FormatInt(c.o.Now().UnixMilli(), 10)
	messages := make([]host.Message, len(ids))
	for i, id := range ids {
		messages[i] = host.ReviveMessage(id, name)
	}
	if err := c.o.Events.Send(ctx, messages...); err != nil {
		return fmt.Errorf("revive attempts from %d on: %w", ids[0], err)
	}
	return nil
}

// missed is the interval between searches for attempts that have lost their messages.
const missed = time.Minute

// checkMessages searches for attempts whose messages are lost. If attempts and queues are in one store, a process
// failure cannot lose a message, but a failure of that store can.
func (c lifecycle) checkMessages(ctx context.Context) error {
	now := c.o.Now()
	if last := c.searched.Load(); c.o.Inventory == nil || last != 0 && now.Sub(time.UnixMilli(last)) < missed {
		return nil
	}
	c.searched.Store(now.UnixMilli())
	silent, err := c.o.Inventory.Silent(ctx, 0, revivedAtOnce)
	if err != nil {
		return fmt.Errorf("look for attempts without messages: %w", err)
	}
	if len(silent) > 0 {
		waiting, err := c.inLines(ctx)
		if err != nil {
			return err
		}
		silent = slices.DeleteFunc(silent, func(id int64) bool { return waiting[id] })
	}
	// The other attempts have messages but may have lost one of several: each call checks some of these attempts, in turn.
	others, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: host.AnySite, After: c.reached.Load(), Count: atOnce})
	if err != nil {
		return fmt.Errorf("read active attempts: %w", err)
	}
	reached := int64(0)
	if len(others) == atOnce {
		reached = others[len(others)-1].ID
	}
	ids := silent
	for _, a := range others {
		if a.AfterSession == 0 && now.Sub(a.CreatedAt) > missed && !slices.Contains(silent, a.ID) {
			ids = append(ids, a.ID)
		}
	}
	if err := c.sendRevivals(ctx, ids); err != nil {
		return err
	}
	c.reached.Store(reached)
	return nil
}

// inLines returns the attempts that wait in a pool's line: they need no message, because a freed slot wakes them.
func (c *stores) inLines(ctx context.Context) (map[int64]bool, error) {
	waiting := map[int64]bool{}
	for after := int64(0); c.o.Pools != nil; {
		list, err := c.o.Pools.Pools(ctx, host.PoolQuery{Site: host.AnySite, After: after, Count: atOnce})
		if err != nil {
			return nil, fmt.Errorf("read pools: %w", err)
		}
		if len(list) == 0 {
			break
		}
		for _, p := range list {
			after = p.ID
			l, err := c.o.Semaphore.Line(ctx, p.PoolRef, math.MaxInt32)
			if err != nil {
				return nil, fmt.Errorf("read pool %s: %w", p.Name, err)
			}
			for _, w := range l.Waiting {
				if h, err := host.ParseHolder(w.Holder); err == nil {
					waiting[h.Attempt] = true
				}
			}
		}
	}
	return waiting, nil
}

// An attempt that should have begun long ago is checked when it reaches that age, and after that only in every 24th
// sweep, because a check reads its log.
const (
	ripe  = 30 * time.Minute // how long it counts as having just reached the age
	turns = 24
	round = 15 * time.Minute
)

// mayNeverHaveBegun reports whether this sweep must check if an attempt has begun.
func (c lifecycle) mayNeverHaveBegun(a host.Attempt, now time.Time) bool {
	if c.o.Events.Traits().Remembers == 0 || a.AfterSession != 0 {
		return false
	}
	age := now.Sub(a.CreatedAt)
	if age > neverBegan+ripe {
		age = now.Sub(a.BeginsAt()) // an attempt that waits for its start time has not begun yet
	}
	turn := now.Unix() / int64(round/time.Second) % turns
	return age > neverBegan && (age <= neverBegan+ripe || a.ID%turns == turn)
}

// revive sends the first message of an attempt again while the queue can recognize a duplicate. If the attempt should
// have begun long ago, it sends a check, which takes over the attempt's first work.
func (c lifecycle) revive(ctx context.Context, a host.Attempt) error {
	remembers := c.o.Events.Traits().Remembers
	if remembers == 0 {
		return nil
	}
	stored, err := c.o.Log.Load(ctx, a.ID)
	if errors.Is(err, host.ErrNotFound) || err == nil && (stored.Snapshot != nil || len(stored.Entries) != 1) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check whether attempt %d has started: %w", a.ID, err)
	}
	name, e := host.StartGuard, events.Event{Kind: events.Start} // the message that the start sent or should have sent
	switch age := c.o.Now().Sub(stored.Entries[0].At); {
	case age < remembers:
	case age > neverBegan:
		name, e.Kind = "check"+strconv.FormatInt(c.o.Now().Unix(), 10), events.Check
	default:
		return nil
	}
	if err := c.o.Events.Send(ctx, host.EventMessage(a.ID, name, e)); err != nil {
		return fmt.Errorf("start attempt %d: %w", a.ID, err)
	}
	return nil
}
