package tick

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// slow takes a moment to send a notice.
type slow struct{ told int }

func (n *slow) Notify(ctx context.Context, _ host.Notice) error {
	select {
	case <-time.After(200 * time.Millisecond): // SNS
		n.told++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Names for ports that differ from their methods' names; methods that are not implemented here are not called.
type (
	anySessions  interface{ host.Sessions }
	anyAttempts  interface{ host.Attempts }
	anyWorkflows interface{ host.Workflows }
	anyQueue     interface{ host.Queue }
	anySchedules interface{ host.Schedules }
)

type sessions struct {
	anySessions
	now time.Time
}

func (s sessions) Active(_ context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	if q.After > 0 || !q.Since.IsZero() {
		return nil, nil
	}
	return []host.Attempt{{ID: 1, SessionID: 2, CreatedAt: s.now.Add(-8 * 24 * time.Hour)}}, nil
}

type attempts struct{ anyAttempts }

func (attempts) Cancel(context.Context, int64) error { return nil }

type workflows struct{ anyWorkflows }

func (workflows) Workflow(context.Context, int64, int64) (host.Workflow, error) {
	return host.Workflow{}, host.ErrNotFound
}

type queue struct{ anyQueue }

func (queue) Traits() host.Traits                         { return host.Traits{} }
func (queue) Send(context.Context, ...host.Message) error { return nil }

type schedules struct{ anySchedules }

func (schedules) EachDue(context.Context, time.Time, time.Time, func([]host.Schedule) error) error {
	return nil
}

// TestTimeoutIsTold proves that users are notified of an attempt that a tick has killed because of its age, even if
// that part of the tick ends long before the notice is delivered.
func TestTimeoutIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.now = time.Now()
		n := &slow{}
		nd := node.New(node.Options{Shared: true, FiredByMessages: true, Ports: host.Ports{Notices: n, Sessions: sessions{now: w.now}, Attempts: attempts{},
			Workflows: workflows{}, Events: queue{}, Tasks: queue{}, Schedules: schedules{}, Logger: slog.Default()}})
		tk := w.ticker()
		tk.Node = nd
		ctx, end := context.WithCancel(t.Context())
		err := tk.Once(ctx)
		s, c := context.WithTimeout(ctx, 5*time.Second)
		nd.AwaitBackground(s)
		c()
		end()
		if n.told != 1 {
			t.Errorf("people were told %d times that an attempt was killed for its age; tick: %v", n.told, err)
		}
	})
}
