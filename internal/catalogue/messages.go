package catalogue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
)

// Messages is a Timing for deployments in which nothing runs between two messages: every minute a tick sends the
// firings of the next minute to a queue, and the queue delivers them on time.
type Messages struct {
	Tasks host.Queue
	Now   func() time.Time
}

// soon limits when the process that moves a schedule sends its message: if the schedule's time is this close, the tick
// may already have passed it.
const soon = 2 * time.Minute

// firingsAtOnce is how many schedules one message fires.
const firingsAtOnce = 25

// Changed implements Timing.
func (m Messages) Changed(ctx context.Context, due func() ([]Firing, error)) error {
	list, err := due()
	if err != nil {
		return err
	}
	limit := m.Now().Add(soon)
	return m.Send(ctx, slices.DeleteFunc(list, func(f Firing) bool { return f.Schedule.Times.Run.After(limit) }))
}

// Send sends the messages of firings, with firings for the same time in one message. It does no harm to send them
// twice, late, or from two processes.
func (m Messages) Send(ctx context.Context, list []Firing) error {
	byTime := map[time.Time][]events.Firing{}
	var times []time.Time
	early := m.Tasks.Traits().Rounding
	for _, f := range list {
		due := f.At
		if f.At.Equal(f.Schedule.Times.Run) {
			due = due.Add(-early) // on average it arrives on time; Fire waits for the rest of a second
		}
		if byTime[due] == nil {
			times = append(times, due)
		}
		byTime[due] = append(byTime[due], f.Name())
	}
	var messages []host.Message
	for _, due := range times {
		for some := range slices.Chunk(byTime[due], firingsAtOnce) {
			x := host.FiringsMessage(some)
			x.Due = due
			messages = append(messages, x)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	if err := m.Tasks.Send(ctx, messages...); err != nil {
		return fmt.Errorf("send schedules due soon: %w", err)
	}
	return nil
}
