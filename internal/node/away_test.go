package node_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// awayFor makes run inputs unavailable for the given time: the project's files, or the secrets to mask in logs.
func awayFor(d time.Duration) func(*node.Options) {
	back := time.Now().Add(d)
	gone := func(what string) error {
		if time.Now().Before(back) {
			return fmt.Errorf("%s: %w", what, host.ErrUnavailable)
		}
		return nil
	}
	return func(o *node.Options) {
		before := o.Workspace
		o.Workspace = func(ctx context.Context, id operators.Identity, w host.Workflow) (host.Workspace, error) {
			if err := gone("read the archive"); err != nil {
				return host.Workspace{}, err
			}
			return before(ctx, id, w)
		}
	}
}

// TestRunsWaitForStores proves that a run whose files are unavailable runs again later, occupies no agent in the
// meantime and uses up no retry of `_retry`, and that the cleanup after a kill also waits.
func TestRunsWaitForStores(t *testing.T) {
	t.Parallel()
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			var tries atomic.Int64
			w.on("a", func(context.Context, *operators.Task) (operators.Result, error) {
				if tries.Add(1) == 1 {
					return operators.Result{}, operators.Failf("its own fault")
				}
				return operators.Result{}, nil
			})
			p := w.serve(awayFor(5 * time.Minute))
			began := time.Now()
			a := p.run("+a:\n  work>: a\n  _retry: 1\n")
			pass(time.Minute)
			if running := p.Stats().TasksRunning; running != 0 {
				t.Errorf("%d runs are under way while the store is away", running)
			}
			want(t, "status", p.end(a), "success")
			want(t, "tries", int(tries.Load()), 2)
			if took := time.Since(began); took > 7*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	})
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(time.Second))
			p := w.serve(awayFor(5 * time.Minute))
			a := p.run("+a: {work>: a}\n")
			pass(10 * time.Second)
			if _, err := p.Kill(w.t.Context(), 0, a.ID); err != nil {
				t.Fatal(err)
			}
			want(t, "status", p.end(a), "killed")
			want(t, "canceled", p.row(a).Canceled, true)
			w.wantRuns()
		})
	})
}
