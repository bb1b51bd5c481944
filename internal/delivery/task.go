package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// task handles a message of the queue "tasks".
func (d *delivery) task(ctx context.Context) error {
	m, err := events.DecodeTask(d.message.Body)
	if err != nil {
		return err
	}
	if m.Then != nil && m.Then.Kind == events.TakeOver {
		return d.takeOverSoon(ctx, *m.Then)
	}
	if m.Then != nil {
		p := propose(d.guard, m.Then.Engine(d.guard)...)
		p.sla = m.Then.Kind == events.SLADue
		return d.apply(ctx, d.attempt, p)
	}
	if d.message.Count > 1 && d.Tasks.Traits().StaleDeletes {
		return d.reenqueue(ctx, m)
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	defer d.heartbeat(ctx, lost)()
	runs, err := d.claimRuns(ctx, m)
	if errors.Is(err, errEarly) {
		d.attempt.mu.Lock()
		defer d.attempt.mu.Unlock()
		return d.postpone(ctx, d.attempt, d.guard, m.Runs)
	}
	if err != nil || len(runs) == 0 {
		return err
	}
	if len(runs) == 1 {
		return d.chain(ctx, runs[0])
	}
	return d.together(ctx, runs)
}

// reenqueue sends a message that came again once more, under an ID of its own: an earlier
// receiver cannot delete that one. Then this one owes nothing more.
func (d *delivery) reenqueue(ctx context.Context, m events.Task) error {
	m.Unbegun = unbegun(d.message, m)
	m.From = append(m.From, d.guard)
	next := host.Message{ID: host.MessageID(d.attempt.id, d.guard+"~"+strconv.Itoa(d.message.Count)), Share: d.message.Share, Body: events.EncodeTask(m)}
	// It is not given back where the queue is away: a message that comes back soon was begun with.
	if err := d.Retry.Do(ctx, "send a message on", func() error { return d.Tasks.Send(ctx, next) }); err != nil {
		return fmt.Errorf("send message %s on: %w", d.message.ID, err)
	}
	return nil
}

// chain runs a task and then, for as long as the message may take, each single task that comes
// after it.
func (d *delivery) chain(ctx context.Context, run engine.Run) error {
	h := holder{guard: d.guard, keep: 1}
	began := d.Now()
	for {
		var outcome engine.Event
		err := d.Retry.Do(ctx, "run a task", func() (err error) {
			outcome, err = d.run(ctx, run)
			return err
		})
		if err != nil || outcome == nil {
			return err
		}
		if most := d.Limits.ChainTime; d.Closing() || most > 0 && d.Now().Sub(began) >= most {
			h.keep = 0
		}
		next, err := d.conclude(ctx, h, outcome)
		if err != nil || len(next) == 0 {
			return err
		}
		if err := d.keepsLease(ctx); err != nil {
			return err
		}
		run = next[0]
	}
}
