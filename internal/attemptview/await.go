package attemptview

import (
	"context"
	"slices"
	"time"

	"zerodag/internal/client"
)

// Ignored returns an attempt's tasks whose errors were ignored, the first to fail first.
func (r Attempts) Ignored(ctx context.Context, a client.Attempt) ([]client.Task, error) {
	tasks, err := r.Tasks(ctx, a.ID)
	list := slices.DeleteFunc(tasks, func(t client.Task) bool { return !t.IgnoredError })
	slices.SortStableFunc(list, func(a, b client.Task) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return list, err
}

// Await waits until an attempt has ended and returns it in its final state.
func (r Attempts) Await(ctx context.Context, id client.ID) (client.Attempt, error) {
	for pause := FollowFirst; ; pause = min(2*pause, FollowLast) {
		a, err := r.Attempt(ctx, id)
		if err != nil || a.Done {
			return a, err
		}
		if err := r.Wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// Intervals between reads of a log while nothing new appears, and while it grows.
const (
	FollowFirst = 500 * time.Millisecond
	FollowLast  = 10 * time.Second
)
