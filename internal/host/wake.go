package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"zerodag/engine"
	"zerodag/events"
)

// Wake has a task run now that waits for its next run: what it waits for has happened. It
// may be said too soon, more than once, or in vain: the message that is due later remains.
func (h *Host) Wake(ctx context.Context, project, attempt int64, run engine.Run) error {
	m := Message{ID: messageID(attempt, "w"+runID(run)+"-"+rand.Text()[:8]), Share: strconv.FormatInt(project, 10),
		Body: events.EncodeTask(events.Task{Runs: []engine.Run{run}}), Due: h.Now()}
	if err := h.Tasks.Send(ctx, m); err != nil {
		return fmt.Errorf("wake task %d of attempt %d: %w", run.Task, attempt, err)
	}
	return nil
}
