package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// handedMark begins the guards of messages for runs that belonged to another message: a message with the run's own name
// may exist or have existed.
const handedMark = "on"

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
		p.sla, p.expiry = m.Then.Kind == events.SLADue, m.Then.Expiry
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

// reenqueue resends a redelivered message under a new ID: an earlier receiver cannot delete the new message. Afterwards
// the old message owes nothing.
func (d *delivery) reenqueue(ctx context.Context, m events.Task) error {
	m.Unbegun = unbegun(d.message, m)
	m.From = append(m.From, d.guard)
	next := host.Message{ID: host.MessageID(d.attempt.id, d.guard+"~"+strconv.Itoa(d.message.Count)), Share: d.message.Share, Type: d.message.Type, Body: events.EncodeTask(m)}
	// The message is not returned to the queue if the queue is unavailable: a message that is delivered again soon counts
	// as begun.
	if err := d.Retry.Do(ctx, "forward a message", func() error { return d.Tasks.Send(ctx, next) }); err != nil {
		return fmt.Errorf("send message %s on: %w", d.message.ID, err)
	}
	return nil
}

// chain runs a task and then, for as long as the message may take, each single task that follows it.
func (d *delivery) chain(ctx context.Context, run engine.Run) error {
	h := holder{guard: d.guard, keep: 1}
	began := d.Now()
	for {
		if away, err := d.handOn(ctx, run); away || err != nil {
			return err
		}
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

// handOn passes a run whose operator this process does not support to receivers that support it. The new message
// atomically replaces the leased one, so that exactly one receiver has the run at any moment. It returns false if the
// run must take place here.
func (d *delivery) handOn(ctx context.Context, run engine.Run) (away bool, err error) {
	queue, some := d.Tasks.(host.Forwarder)
	if !some || len(d.Limits.Types) == 0 {
		return false, nil
	}
	err = d.Retry.Do(ctx, "hand over a task", func() error {
		m, err := d.forOthers(ctx, run)
		if away = err == nil && m.Type != "" && !slices.Contains(d.Limits.Types, m.Type); !away {
			return err
		}
		if err = queue.Forward(ctx, d.message, m); errors.Is(err, host.ErrLeaseLost) {
			return nil // the current receiver of the message continues with the run
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("hand over a task of attempt %d: %w", d.attempt.id, err)
	}
	return away, nil
}

// forOthers returns the message that makes other receivers begin a run.
func (d *delivery) forOthers(ctx context.Context, run engine.Run) (host.Message, error) {
	a := d.attempt
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.ensure(ctx); err != nil {
		return host.Message{}, err
	}
	if !current(a.state)(run) {
		return host.Message{}, nil // running it will show what happens
	}
	return d.typed(a, a.message(handedMark+host.RunName(run), events.Task{Runs: []engine.Run{run}}, time.Time{}), run), nil
}
