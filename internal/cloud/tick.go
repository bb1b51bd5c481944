package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/internal/dynamo"
	"zerodag/internal/host"
	"zerodag/internal/sqs"
)

// Times of the tick.
const (
	ahead  = 65 * time.Second // how far it looks: to the next one, and a little
	young  = 2 * time.Minute  // the age at which an attempt must have begun
	rounds = 15 * time.Minute // how often all is looked at again
)

// timersAtOnce bounds what is handed over together.
const timersAtOnce = 500

// TickOnce does what is due every minute: schedules, messages that had to wait longer than
// a queue can delay them, attempts that never began; and every fifteen minutes once more
// all that is overdue, attempts that live too long, and dead letters. To call it twice,
// late, or by several at once changes nothing.
func (e *Engine) TickOnce(ctx context.Context) error {
	horizon, err := e.DB.Horizon(ctx)
	if err != nil {
		return fmt.Errorf("read horizon: %w", err)
	}
	now := time.Now()
	last, until := horizon.Add(-ahead), now.Add(ahead)
	from, born, round := horizon, last.Add(-young), now.Truncate(rounds)
	full := last.Before(round)
	if full {
		from, born = time.Time{}, time.Time{}
	}
	err = errors.Join(
		e.sendTimers(ctx, until),
		e.HandOver(ctx, from, until),
		e.Revive(ctx, born, now.Add(-young)))
	if err == nil && full {
		err = errors.Join(e.LookAfter(ctx), e.redrive(ctx, round))
	}
	if err != nil {
		return err // the next tick looks at the same again
	}
	return e.DB.MoveHorizon(ctx, until)
}

// redrive sends dead letters back, ever more slowly: at once, after half an hour, after an
// hour, two, four ...
func (e *Engine) redrive(ctx context.Context, round time.Time) error {
	n := round.Unix() / int64(rounds/time.Second)
	_, err := e.redriveIf(ctx, func(times int) bool { return n%(1<<min(times, 9)) == 0 })
	return err
}

// Redrive sends all dead letters back now, and says how many there were.
func (e *Engine) Redrive(ctx context.Context) (int, error) {
	return e.redriveIf(ctx, func(int) bool { return true })
}

func (e *Engine) redriveIf(ctx context.Context, turn func(times int) bool) (int, error) {
	events, err := e.Events.Redrive(ctx, e.Config.DeadEvents, turn)
	tasks, other := e.Tasks.Redrive(ctx, e.Config.DeadTasks, turn)
	if n := events + tasks; n > 0 {
		e.Logger.Warn("dead letters were sent back", "messages", n)
	}
	return events + tasks, errors.Join(err, other)
}

// sendTimers sends first and deletes then: a crash in between sends twice, which the log
// of the attempt notices.
func (e *Engine) sendTimers(ctx context.Context, until time.Time) error {
	for {
		list, err := e.DB.DueTimers(ctx, until, timersAtOnce)
		if err != nil {
			return fmt.Errorf("read due messages: %w", err)
		}
		if err := errors.Join(e.sendTo(ctx, e.Tasks, list), e.sendTo(ctx, e.Events, list)); err != nil {
			return fmt.Errorf("send due messages: %w", err)
		}
		if err := e.DB.DeleteTimers(ctx, list); err != nil {
			return fmt.Errorf("delete sent messages: %w", err)
		}
		if len(list) < timersAtOnce {
			return nil
		}
	}
}

func (e *Engine) sendTo(ctx context.Context, q *sqs.Queue, list []dynamo.Timer) error {
	var messages []host.Message
	for _, t := range list {
		if t.Queue == q.Name {
			messages = append(messages, t.Message)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return q.Send(ctx, messages...)
}
