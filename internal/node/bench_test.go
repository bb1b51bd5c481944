package node_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/sqlite"
	"zerodag/operators"
)

// BenchmarkLarge measures what a task costs in ever larger attempts: the figures of each kind must stay the same. b.N
// counts attempts.
func BenchmarkLarge(b *testing.B) {
	for _, kind := range []struct{ name, do string }{
		{"inline side by side", "for_range>: {from: 0, to: %d, step: 1}\n  _parallel: true\n  _do:\n    echo>: x\n"},
		{"inline chain", "for_range>: {from: 0, to: %d, step: 1}\n  _do:\n    echo>: x\n"},
		{"I/O side by side", "for_range>: {from: 0, to: %d, step: 1}\n  _parallel: true\n  _do:\n    work>: x\n"},
		{"I/O chain", "for_range>: {from: 0, to: %d, step: 1}\n  _do:\n    work>: x\n"},
	} {
		for _, n := range []int{1_000, 10_000, 49_000} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, n), func(b *testing.B) { large(b, fmt.Sprintf("+g:\n  "+kind.do, n), n) })
		}
	}
}

// BenchmarkBegun measures what it costs per task to watch a run before it begins, so that crashes are counted and kills
// are noticed: the difference between the two figures.
func BenchmarkBegun(b *testing.B) {
	const n = 1000
	text := fmt.Sprintf("+g:\n  for_range>: {from: 0, to: %d, step: 1}\n  _do:\n    work>: x\n", n)
	b.Run("with marks", func(b *testing.B) { large(b, text, n) })
	b.Run("without marks", func(b *testing.B) {
		large(b, text, n, func(o *node.Options) { o.Tasks = struct{ host.Queue }{o.Tasks} })
	})
}

func large(b *testing.B, text string, n int, edit ...func(*node.Options)) {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(folder)
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: folder + "/db", Migrate: true, Sync: host.SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	w := &world{db: db, blobs: newBlobs(), log: map[string]string{}}
	o := w.options()
	o.Log, o.Events, o.Tasks, o.Attempts, o.Schedules, o.Logs, o.Logger = db, db.Queue("events"), db.Queue("tasks"), db, db, nil, nil
	o.Limits = host.Limits{Tasks: 100_000, Threads: 50}
	work := o.Registry["work"]
	work.Run = func(context.Context, *operators.Task) (operators.Result, error) { return operators.Result{}, nil }
	o.Registry["work"] = work
	for _, e := range edit {
		e(&o)
	}
	h := node.New(o)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.Run(ctx, ctx, node.Parts{Executor: true, Agent: true})
	}()
	defer func() { stop(); <-over }()
	project, err := h.Push(ctx, catalogue.PushRequest{Project: "p", Revision: "1"}, archive("main.dig", text), 1)
	if err != nil {
		b.Fatal(err)
	}
	list, err := h.Workflows(ctx, host.WorkflowQuery{Revision: project.Latest.ID})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		a, err := h.Start(ctx, catalogue.StartRequest{Workflow: list[0].ID, SessionTime: time.Unix(int64(i), 0), Params: param.New()})
		if err != nil {
			b.Fatal(err)
		}
		for range h.Watch(ctx, a) {
		}
		if a, err = h.Attempt(ctx, 0, a.ID); err != nil || !a.Success {
			b.Fatal(err, a.Status())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/task")
}
