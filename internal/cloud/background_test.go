package cloud

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awsevents "github.com/aws/aws-lambda-go/events"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// slowNotices takes a while to send, and gives up when its context ends.
type slowNotices struct {
	takes time.Duration
	told  atomic.Int64
}

func (n *slowNotices) Notify(ctx context.Context, _ host.Notice) error {
	select {
	case <-time.After(n.takes):
		n.told.Add(1)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// workflows embeds the port under a name that none of its methods has.
type workflows interface{ host.Workflows }

type noWorkflows struct{ workflows }

func (noWorkflows) Workflow(context.Context, int64, int64) (host.Workflow, error) {
	return host.Workflow{}, host.ErrNotFound
}

// TestToldBeforeTheEnd proves for each function that notices are sent before its call returns, because its context ends
// then, as Lambda's does, and that the call waits no longer than necessary.
func TestToldBeforeTheEnd(t *testing.T) {
	t.Parallel()
	handlers := map[string]func(context.Context, *Engine) error{
		"executor": func(ctx context.Context, e *Engine) error {
			_, err := e.Executor(ctx, awsevents.SQSEvent{})
			return err
		},
		"agent": func(ctx context.Context, e *Engine) error { _, err := e.Agent(ctx, awsevents.SQSEvent{}); return err },
		"tick": func(ctx context.Context, e *Engine) error {
			return e.Tick(ctx, json.RawMessage(`{"source":"zerodag.start","detail":"text"}`))
		},
		"api": func(ctx context.Context, e *Engine) error {
			(&API{engine: e}).Handle(ctx, json.RawMessage(`{"zerodag":"unknown"}`))
			return nil
		},
	}
	for name, call := range handlers {
		for takes, told := range map[time.Duration]int64{2 * time.Second: 1, time.Hour: 0} {
			synctest.Test(t, func(t *testing.T) {
				notices, logger := &slowNotices{takes: takes}, slog.New(slog.DiscardHandler)
				e := &Engine{Logger: logger, Node: node.New(node.Options{Ports: host.Ports{Notices: notices, Workflows: noWorkflows{}, Logger: logger}})}
				ctx, end := context.WithCancel(t.Context())
				e.NotifyOf(ctx, host.Attempt{ID: 1}, host.Notice{Message: "late"})
				began := time.Now()
				err := call(ctx, e)
				end()
				if took := time.Since(began); err != nil || notices.told.Load() != told || took > backgroundTime {
					t.Errorf("%s: told %d times, want %d; after %v: %v", name, notices.told.Load(), told, took, err)
				}
				time.Sleep(takes) // background work would continue if the process continued
			})
		}
	}
}
