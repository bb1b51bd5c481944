package host

import (
	"context"
	"time"
)

// DoEvent does with a delivery what the executor's loop does.
func (h *Host) DoEvent(ctx context.Context, d Delivery) { h.handle(ctx, h.Events, d, h.happened) }

// DoTask does with a delivery what the agent's loop does.
func (h *Host) DoTask(ctx context.Context, d Delivery) { h.handle(ctx, h.Tasks, d, h.runTasks) }

// Fire fires a schedule that is due.
func (h *Host) Fire(ctx context.Context, s Schedule) error { return h.fire(ctx, s) }

// SetPause replaces the waiting for a store that is not available.
func (h *Host) SetPause(pause func(context.Context, time.Duration)) { h.pause = pause }
