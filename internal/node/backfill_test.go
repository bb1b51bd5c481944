package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

const daily = "timezone: UTC\nschedule:\n  daily>: '23:00:00'\n+a:\n  work>: a\n"

// backfill starts n daily sessions before the bubble's time.
func (p *process) backfill(n int) []host.Attempt {
	p.w.t.Helper()
	list, err := p.Schedules(p.w.t.Context(), host.ScheduleQuery{})
	p.w.must(err)
	_, attempts, err := p.Backfill(p.w.t.Context(), 0, list[0].ID, catalogue.BackfillRequest{From: time.Date(1999, 11, 1, 0, 0, 0, 0, time.UTC), Name: "b", Count: &n})
	p.w.must(err)
	want(p.w.t, "number of attempts", len(attempts), n)
	return attempts
}

// TestBackfill proves that sessions are filled one after the other, each with the previous one in its parameters,
// whether that one succeeded, failed, was killed, or could never begin.
func TestBackfill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var last []string
		w.on("a", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			before, err := o.Params.StringOr("last_executed_session_time", "-")
			w.must(err)
			last = append(last, o.SessionTime.Format("01-02")+" after "+before)
			if o.SessionTime.Day() == 2 {
				return operators.Result{}, operators.Failf("no")
			}
			return lasting(time.Hour)(ctx, o)
		})
		p := w.serve()
		p.push("main.dig", daily)
		list := p.backfill(5)
		_, err := p.Kill(w.t.Context(), 0, list[3].ID)
		want(t, "code of killing one that waits", code(err), host.Conflict)
		pass(90 * time.Minute)
		want(t, "waiting", []int64{p.row(list[2]).AfterSession, p.row(list[3]).AfterSession}, []int64{0, list[2].SessionID})
		want(t, "tasks of one that waits", len(p.tasks(list[4])), 0)
		_, err = p.Kill(w.t.Context(), 0, list[2].ID)
		w.must(err)
		var status []string
		for _, a := range list {
			status = append(status, p.end(a))
		}
		want(t, "status", status, []string{"success", "error", "killed", "success", "success"})
		want(t, "told", last, []string{"11-01 after ", "11-02 after 1999-11-01T00:00:00+00:00", "11-03 after 1999-11-02T00:00:00+00:00",
			"11-04 after 1999-11-03T00:00:00+00:00", "11-05 after 1999-11-04T00:00:00+00:00"})
	})
}

// noWorkflows has lost all definitions.
type noWorkflows struct{ workflows }

// workflows gives the port a name that differs from its methods' names.
type workflows interface{ host.Workflows }

func (noWorkflows) Workflow(context.Context, int64, int64) (host.Workflow, error) {
	return host.Workflow{}, fmt.Errorf("read workflow: %w", host.ErrNotFound)
}

// TestNoDefinition proves that running and waiting attempts end, one after the other, if their definition is gone, and
// that watchers are notified.
func TestNoDefinition(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", lasting(time.Hour))
		p := w.serve()
		p.push("main.dig", daily)
		list := p.backfill(50)
		pass(time.Minute)
		p.crash()
		p = w.serve(func(o *node.Options) { o.Workflows = noWorkflows{w.db} })
		for range p.Watch(w.t.Context(), list[40]) {
		}
		for _, a := range list {
			want(t, "status", p.end(a), "error")
		}
		w.wantRuns("+main+a/1")
		want(t, "notices", w.told(), []string{"Workflow session attempt failed"})
	})
}
