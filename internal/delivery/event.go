package delivery

import (
	"context"

	"zerodag/events"
)

// event handles a message of the queue "events".
func (d *delivery) event(ctx context.Context) error {
	e, err := events.Decode(d.message.Body)
	if err != nil {
		return err
	}
	if d.message.Count > 1 || alone(e.Kind) {
		d.attempt.forget() // changes by an earlier receiver of the message or by another process must be seen
	}
	if e.Kind == events.Revive {
		return d.revive(ctx)
	}
	if e.Kind == events.Slots {
		return d.slots(ctx, *e.Slots)
	}
	if e.Kind == events.Pause || e.Kind == events.Unpause {
		return d.pause(ctx, e)
	}
	d.keepShort(d.attempt.id, e.Logs)
	p := &proposal{guards: []string{d.guard}}
	p.bring(e.Engine(d.guard))
	p.noteKind(e.Kind)
	switch e.Kind {
	case events.Check:
		p.takeOverStart(d.attempt, d.guard)
	case events.TakeOver:
		p.takeOver(e.Guard, d.guard, d.message.Count == 1)
	}
	return d.apply(ctx, d.attempt, p)
}

// alone reports whether an event concerns the log in its current state and must be handled separately.
func alone(k events.Kind) bool {
	return k == events.Check || k == events.Revive || k == events.TakeOver || k == events.Slots || k == events.Pause || k == events.Unpause
}

// fire handles a message that names due schedules.
func (d *delivery) fire(ctx context.Context) {
	err := d.safely(func() error {
		m, err := events.DecodeTask(d.message.Body)
		if err != nil {
			return err
		}
		return d.Catalogue.Fire(ctx, m.Fire, d.message.Count > 1)
	})
	if err == nil {
		d.delete(ctx)
		return
	}
	d.putBack(ctx, err)
}
