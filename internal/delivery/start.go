package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
)

// longestPutOff is the longest wait before a start that hit the limit of attempts is retried.
const longestPutOff = 10 * time.Minute

// StartByEvent starts the attempt that an event requested. A start that is impossible now, because the limit of
// attempts is reached or a store is unavailable, waits in the queue "tasks". After an error, the attempt has been
// neither started nor queued, and the caller retries the request.
func (w *Worker) StartByEvent(ctx context.Context, d events.StartDetail, named bool) error {
	err := w.Catalogue.StartByEvent(ctx, d, named)
	if err == nil {
		return nil
	}
	return w.putOff(ctx, events.Starting{StartDetail: d, Named: named}, err)
}

// putOff sends a start that is retried later, each time as a new message, so that a limit that lasts for hours does not
// create dead letters.
func (w *Worker) putOff(ctx context.Context, s events.Starting, why error) error {
	most := min(time.Minute<<min(s.Times, 10), longestPutOff)
	s.Times++
	wait := most/2 + rand.N(most/2) // #nosec G404 -- it only spreads starts; an attacker gains nothing by guessing it
	w.Logger.Warn("a start requested by an event is delayed", "event", s.ID, "project", s.Project, "workflow", s.Workflow, "for", wait.Round(time.Second), "why", why)
	m := host.StartingMessage(s, w.Now().Add(wait))
	w.keepStart(ctx, m)
	if err := w.Tasks.Send(ctx, m); err != nil {
		return fmt.Errorf("delay the start of event %s: %w", s.ID, errors.Join(err, why))
	}
	return nil
}

// tasksName is the name that timers use for the task queue.
const tasksName = "tasks"

// keepStart keeps a copy of a message. Without the copy the message is only as safe as its queue, which is better than
// no start at all.
func (w *Worker) keepStart(ctx context.Context, m host.Message) {
	if w.Kept == nil {
		return
	}
	m.Due = m.Due.Add(host.KeptFor)
	if err := w.Kept.Later(ctx, tasksName, m); err != nil {
		w.Logger.Error("a waiting start is only in its queue", "message", m.ID, "error", err)
	}
}

// forgetStart removes the copy of a finished message. If the copy stays, the start is requested again, which starts
// nothing.
func (w *Worker) forgetStart(ctx context.Context, id string) {
	if w.Kept == nil {
		return
	}
	if err := w.Kept.Delete(ctx, []host.Timer{{Queue: tasksName, Message: host.Message{ID: id}}}); err != nil {
		w.Logger.Error("a completed start will be requested again", "message", id, "error", err)
	}
}

// start handles a message that starts an attempt that an event requested.
func (d *delivery) start(ctx context.Context) {
	err := d.safely(func() error {
		m, err := events.DecodeTask(d.message.Body)
		if err == nil && m.Start == nil {
			err = fmt.Errorf("message %s does not name a start", d.message.ID)
		}
		if err != nil {
			return err
		}
		err = d.Catalogue.StartByEvent(ctx, m.Start.StartDetail, m.Start.Named)
		if host.StartsLater(err) {
			return d.putOff(ctx, *m.Start, err)
		}
		return err
	})
	if err == nil {
		d.forgetStart(ctx, d.message.ID)
		d.delete(ctx)
		return
	}
	if !errors.Is(err, host.ErrUnavailable) {
		d.forgetStart(ctx, d.message.ID) // the queue sets aside messages that keep failing
	}
	d.putBack(ctx, err)
}
