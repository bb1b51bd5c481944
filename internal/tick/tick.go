// Package tick does each minute what a deployment needs in which nothing runs between two messages:
// it hands the schedules and timers of the next minute to the queues, looks whether attempts have
// begun, and now and then sends dead letters back and looks after attempts that live too long.
//
// The tick function calls it. It must never fire a schedule itself: what it sends, an agent does.
package tick

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"zerodag/internal/host"
)

// Times of the tick.
const (
	ahead  = 65 * time.Second // how far it looks: to the next one, and a little
	young  = 2 * time.Minute  // the age at which an attempt must have begun
	rounds = 15 * time.Minute // how often all is looked at again
)

// timersAtOnce bounds what is handed over together.
const timersAtOnce = 500

// Node is what a tick asks of the deployment.
type Node interface {
	// HandOver sends messages for the schedules that are due after from and until until.
	HandOver(ctx context.Context, from, until time.Time) error
	// Revive looks whether the attempts that were made in that time have begun.
	Revive(ctx context.Context, from, until time.Time) error
	// LookAfter looks after attempts that live too long, those that wait, and old logs.
	LookAfter(ctx context.Context) error
}

// Ticker ticks. All of it may be done twice, late, or by several at once: that changes nothing.
type Ticker struct {
	Node    Node
	Horizon host.Horizon
	Timers  host.Timers
	Queues  map[string]host.Queue // by the names that timers have for them
	Dead    []host.DeadLetters
	Now     func() time.Time
	Logger  *slog.Logger
}

// Once does what is due every minute, and every fifteen minutes once more all that is overdue,
// attempts that live too long, and dead letters.
func (t *Ticker) Once(ctx context.Context) error {
	horizon, err := t.Horizon.Horizon(ctx)
	if err != nil {
		return fmt.Errorf("read horizon: %w", err)
	}
	now := t.Now()
	last, until := horizon.Add(-ahead), now.Add(ahead)
	from, born, round := horizon, last.Add(-young), now.Truncate(rounds)
	full := last.Before(round)
	if full {
		from, born = time.Time{}, time.Time{}
	}
	err = errors.Join(
		t.sendTimers(ctx, until),
		t.Node.HandOver(ctx, from, until),
		t.Node.Revive(ctx, born, now.Add(-young)))
	if err == nil && full {
		err = errors.Join(t.Node.LookAfter(ctx), t.redriveSlowly(ctx, round))
	}
	if err != nil {
		return err // the next tick looks at the same again
	}
	return t.Horizon.MoveHorizon(ctx, until)
}

// redriveSlowly sends dead letters back, ever more slowly: at once, after half an hour, after an
// hour, two, four ...
func (t *Ticker) redriveSlowly(ctx context.Context, round time.Time) error {
	n := round.Unix() / int64(rounds/time.Second)
	_, err := t.redrive(ctx, func(times int) bool { return n%(1<<min(times, 9)) == 0 })
	return err
}

// Redrive sends all dead letters back now, and says how many there were.
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

// sendTimers sends first and deletes then: a crash in between sends twice, which the log
// of the attempt notices.
func (t *Ticker) sendTimers(ctx context.Context, until time.Time) error {
	for {
		list, err := t.Timers.Due(ctx, until, timersAtOnce)
		if err != nil {
			return fmt.Errorf("read due messages: %w", err)
		}
		if err := t.send(ctx, list); err != nil {
			return fmt.Errorf("send due messages: %w", err)
		}
		if err := t.Timers.Delete(ctx, list); err != nil {
			return fmt.Errorf("delete sent messages: %w", err)
		}
		if len(list) < timersAtOnce {
			return nil
		}
	}
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
