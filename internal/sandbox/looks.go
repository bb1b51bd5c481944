package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
)

// looksMark begins the IDs of messages that have an agent look after the machines of commands
// between two ticks: one that is silent is to be noticed within a minute.
const looksMark = "machines/"

// IsLook reports whether a message of the queue "tasks" asks for a look after the machines.
func IsLook(d host.Delivery) bool { return strings.HasPrefix(d.ID, looksMark) }

// Tick looks after the machines of commands, and has it done again before the next tick while
// there are some.
func (s *Service) Tick(ctx context.Context, tasks host.Queue) error {
	n, failed := s.Check(ctx)
	if failed != nil { // what is wrong with one machine takes the looks from none
		failed = fmt.Errorf("look after machines: %w", failed)
	}
	if n == 0 {
		return failed
	}
	var list []host.Message
	for _, after := range []time.Duration{20 * time.Second, 40 * time.Second} {
		due := s.Now().Add(after)
		list = append(list, host.Message{ID: fmt.Sprint(looksMark, due.Unix()), Body: events.EncodeTask(events.Task{}), Due: due})
	}
	if err := tasks.Send(ctx, list...); err != nil {
		failed = errors.Join(failed, fmt.Errorf("have machines looked after: %w", err))
	}
	return failed
}
