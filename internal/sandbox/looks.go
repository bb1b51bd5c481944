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

// looksMark begins the IDs of messages that make an agent check the machines of commands between two ticks: a silent
// machine must be noticed within a minute.
const looksMark = "machines/"

// IsLook reports whether a message of the queue "tasks" requests a check of the machines.
func IsLook(d host.Delivery) bool { return strings.HasPrefix(d.ID, looksMark) }

// Tick checks the machines of commands, and schedules another check before the next tick if there are any.
func (s *Service) Tick(ctx context.Context, tasks host.Queue) error {
	n, failed := s.Check(ctx)
	if failed != nil { // an error with one machine does not stop the checks of others
		failed = fmt.Errorf("check machines: %w", failed)
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
		failed = errors.Join(failed, fmt.Errorf("schedule the next check of machines: %w", err))
	}
	return failed
}
