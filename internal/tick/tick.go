// Package tick does the periodic work of a deployment in which nothing runs between two messages. Each minute, it hands
// the schedules and timers of the next minute to the queues and checks whether attempts have begun; less often, it
// sends dead letters back and ends attempts that live too long.
//
// The tick function calls it. It must never fire a schedule itself: it sends messages, and an agent fires them.
package tick

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Times used by the tick.
const (
	ahead  = 65 * time.Second // how far ahead it reads: to the next tick, and a little more
	young  = 2 * time.Minute  // the age at which an attempt must have begun
	rounds = 15 * time.Minute // how often everything is rechecked
	day    = 24 * time.Hour
)

// timersAtOnce limits how many timers are handed over together.
const timersAtOnce = 500

// stepTime limits the time that a tick spends on checking all attempts: the next tick continues.
const stepTime = 30 * time.Second

// Node is the part of the deployment that a tick needs.
type Node interface {
	// HandOver sends messages for the schedules that are due after from and up to until, as they are read. sent, unless
	// nil, is called with the time up to which all are sent.
	HandOver(ctx context.Context, from, until time.Time, sent func(time.Time) error) error
	// Revive checks whether the attempts created after from and up to until have begun.
	Revive(ctx context.Context, from, until time.Time) error
	// Sweep checks attempts that live too long and attempts that are waiting, with IDs above after, until there are no
	// more (over) or ctx ends. next is the last ID that it reached.
	Sweep(ctx context.Context, after int64) (next int64, over bool, err error)
}

// Chore is work that is done once a day, in parts: Do does one part, for the IDs above after, and returns the last ID
// that it reached, and over if nothing is left. Reached and Done are its marks.
type Chore struct {
	Reached, Done host.Mark
	Do            func(ctx context.Context, after int64) (next int64, over bool, err error)
}

// Ticker does a tick's work. All this work may be done twice, late, or by several processes at once without harm.
type Ticker struct {
	Node    Node
	Horizon host.Horizon
	Timers  host.Timers
	Queues  map[string]host.Queue // by the names that timers use
	Dead    []host.DeadLetters
	Daily   []Chore
	Now     func() time.Time
	Logger  *slog.Logger
}

// once is one tick. Its parts run concurrently, each from its own mark, and no part waits for another: a part that
// fails, or does not finish in time, resumes at the next tick.
type once struct {
	*Ticker
	marks map[host.Mark]int64 // each is read and moved by one part
	now   time.Time
	until time.Time
	round time.Time
}

// Once does the work that is due every minute, and every fifteen minutes also everything overdue, attempts that live
// too long, and dead letters.
func (t *Ticker) Once(ctx context.Context) error {
	marks, err := t.Horizon.Marks(ctx)
	if err != nil {
		return fmt.Errorf("read horizon: %w", err)
	}
	now := t.Now()
	o := &once{Ticker: t, marks: marks, now: now, until: now.Add(ahead), round: now.Truncate(rounds)}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return t.sendTimers(ctx, o.until) },
		o.handOver, o.overdue, o.revive, o.sweep, o.redrive,
	}
	for _, c := range t.Daily {
		parts = append(parts, func(ctx context.Context) error { return o.daily(ctx, c) })
	}
	failed := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { failed[i] = host.Recover(t.Logger, "tick", func() error { return part(ctx) }) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// at returns the time of a mark, or zero if it was never set.
func (o *once) at(m host.Mark) time.Time {
	if at := o.mark(m); at > 0 {
		return time.UnixMicro(at)
	}
	return time.Time{}
}

func (o *once) mark(m host.Mark) int64 { return o.marks[m] }

// handOver hands over the schedules that are due until the next tick, starting where the last tick stopped.
func (o *once) handOver(ctx context.Context) error {
	reached := o.at(host.Handed)
	move := func(to time.Time) error {
		if !to.After(reached) {
			return nil
		}
		err := o.Horizon.Move(ctx, host.Handed, micros(reached), to.UnixMicro())
		reached = to
		return err
	}
	if err := o.Node.HandOver(ctx, reached, o.until, move); err != nil {
		return err
	}
	return move(o.until)
}

// overdue hands over schedules that should have fired but did not, once per round.
func (o *once) overdue(ctx context.Context) error {
	return o.inRound(ctx, host.Overdue, func() error {
		if reached := o.at(host.Handed); !reached.IsZero() {
			return o.Node.HandOver(ctx, time.Time{}, reached, nil)
		}
		return nil // everything has been handed over by now
	})
}

// revive checks whether attempts that have become old enough since the last tick have begun, and checks the previous
// tick's attempts again, because that check may have failed. A separate mark would cost a write each minute.
func (o *once) revive(ctx context.Context) error {
	last := o.at(host.Handed).Add(-ahead)
	since := last.Add(-young - time.Minute)
	if oldest := o.now.Add(-time.Hour); since.Before(oldest) {
		since = oldest // older attempts are checked by sweeps
	}
	return o.Node.Revive(ctx, since, o.now.Add(-young))
}

// sweep checks all attempts once per round, over as many ticks as that takes.
func (o *once) sweep(ctx context.Context) error {
	if !o.at(host.Swept).Before(o.round) {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	from := o.mark(host.Sweeping)
	next, over, failed := o.Node.Sweep(bounded, from)
	if over {
		next = 0 // where the next sweep begins
	}
	if next != from {
		failed = errors.Join(failed, o.Horizon.Move(ctx, host.Sweeping, from, next))
	}
	if !over {
		return failed
	}
	return errors.Join(failed, o.Horizon.Move(ctx, host.Swept, o.mark(host.Swept), micros(o.round)))
}

// daily does a chore once a day, over as many ticks as that takes.
func (o *once) daily(ctx context.Context, c Chore) error {
	today := o.now.Truncate(day)
	if !o.at(c.Done).Before(today) {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	from := o.mark(c.Reached)
	for {
		next, over, failed := c.Do(bounded, from)
		if next != from {
			failed = errors.Join(failed, o.Horizon.Move(ctx, c.Reached, from, next))
		}
		switch {
		case over:
			return errors.Join(failed, o.Horizon.Move(ctx, c.Done, o.mark(c.Done), micros(today)))
		case failed != nil || next == from || bounded.Err() != nil:
			return failed
		}
		from = next
	}
}

// redrive sends dead letters back once per round.
func (o *once) redrive(ctx context.Context) error {
	return o.inRound(ctx, host.Redriven, func() error { return o.redriveSlowly(ctx, o.round) })
}

// inRound calls do unless that has already been done in this round.
func (o *once) inRound(ctx context.Context, m host.Mark, do func() error) error {
	if !o.at(m).Before(o.round) {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	return o.Horizon.Move(ctx, m, o.mark(m), micros(o.round))
}

// micros converts a time to the form of a mark.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// redriveSlowly sends dead letters back at growing intervals: at once, after half an hour, after one hour, after two,
// after four ...
func (t *Ticker) redriveSlowly(ctx context.Context, round time.Time) error {
	n := round.Unix() / int64(rounds/time.Second)
	_, err := t.redrive(ctx, func(times int) bool { return n%(1<<min(times, 9)) == 0 })
	return err
}

// Redrive sends all dead letters back now and returns how many there were.
func (t *Ticker) Redrive(ctx context.Context) (int, error) {
	return t.redrive(ctx, func(int) bool { return true })
}

func (t *Ticker) redrive(ctx context.Context, turn func(times int) bool) (n int, failed error) {
	for _, dead := range t.Dead {
		sent, err := dead.Redrive(ctx, turn)
		n, failed = n+sent, errors.Join(failed, err)
	}
	if n > 0 {
		t.Logger.Warn("dead letters were sent back", "messages", n)
	}
	return n, failed
}

// sendTimers sends first and deletes afterwards: a crash in between sends twice, which the log of the attempt detects.
func (t *Ticker) sendTimers(ctx context.Context, until time.Time) error {
	for {
		list, err := t.Timers.Due(ctx, until, timersAtOnce)
		if err != nil {
			return fmt.Errorf("read due messages: %w", err)
		}
		if err := t.send(ctx, list); err != nil {
			return fmt.Errorf("send due messages: %w", err)
		}
		if err := t.sent(ctx, list, until); err != nil {
			return err
		}
		if len(list) < timersAtOnce {
			return nil
		}
	}
}

// sent deletes messages that were sent. Messages that are kept until their work is done become due again later.
func (t *Ticker) sent(ctx context.Context, list []host.Timer, until time.Time) error {
	var over []host.Timer
	for _, x := range list {
		if !host.IsKept(x.Message.ID) {
			over = append(over, x)
			continue
		}
		x.Message.Due = until.Add(host.KeptFor)
		if err := t.Timers.Later(ctx, x.Queue, x.Message); err != nil {
			return fmt.Errorf("record sent messages: %w", err)
		}
	}
	if err := t.Timers.Delete(ctx, over); err != nil {
		return fmt.Errorf("delete sent messages: %w", err)
	}
	return nil
}

func (t *Ticker) send(ctx context.Context, list []host.Timer) error {
	messages := map[string][]host.Message{}
	for _, x := range list {
		messages[x.Queue] = append(messages[x.Queue], x.Message)
	}
	var failed error
	for name, some := range messages {
		q := t.Queues[name]
		if q == nil {
			failed = errors.Join(failed, fmt.Errorf("there is no queue %q", name))
			continue
		}
		failed = errors.Join(failed, q.Send(ctx, some...))
	}
	return failed
}
