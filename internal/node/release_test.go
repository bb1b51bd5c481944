package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// awayQueue releases no message while the store is down.
type awayQueue struct {
	host.Queue
	down *atomic.Bool
}

func (q awayQueue) Release(ctx context.Context, d host.Delivery, delay time.Duration) error {
	if q.down.Load() {
		return fmt.Errorf("%w: it is down", host.ErrUnavailable)
	}
	return q.Queue.Release(ctx, d, delay)
}

// TestReleaseInOutage proves that work interrupted by an outage continues when the outage ends, not when the leases
// end.
func TestReleaseInOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var down atomic.Bool
		w.intercept(func(call string, done bool) error {
			if down.Load() && !done && strings.HasPrefix(call, "append") {
				return fmt.Errorf("%w: it is down", host.ErrUnavailable)
			}
			return nil
		})
		p := w.serve(func(o *node.Options) { o.Events = awayQueue{o.Events, &down} })
		down.Store(true)
		a, began := p.run("+e:\n  echo>: x\n+a:\n  work>: a\n"), time.Now()
		pass(5 * time.Second)
		down.Store(false)
		want(t, "status", p.end(a), "success")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v, and the outage 5 s", took)
		}
	})
}
