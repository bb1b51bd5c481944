package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/projectfiles"
)

// running opens an engine on disk, runs its loops and pushes one workflow.
func running(b testing.TB, o embedded.Options, text string) (*embedded.Engine, host.Workflow) {
	b.Helper()
	o.Folder, o.Migrate = b.TempDir(), true
	o.Limits.Attempts = 1_000_000
	e, err := embedded.Open(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx, ctx, node.Parts{Executor: true, Agent: true, Scheduler: true})
	}()
	b.Cleanup(func() { stop(); <-ended; e.Close() })
	return e, pushed(b, e, text)
}

// pushed pushes a project with one workflow.
func pushed(tb testing.TB, e *embedded.Engine, text string) host.Workflow {
	tb.Helper()
	folder := tb.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.dig"), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	p, err := projectfiles.Open(folder)
	if err != nil {
		tb.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := p.Pack(&archive, projectfiles.Packing{}); err != nil {
		tb.Fatal(err)
	}
	project, err := e.Push(context.Background(), catalogue.PushRequest{Project: "p", Revision: "1"}, &archive, int64(archive.Len()))
	if err != nil {
		tb.Fatal(err)
	}
	list, err := e.Workflows(context.Background(), host.WorkflowQuery{Revision: project.Latest.ID, Name: "main"})
	if err != nil || len(list) != 1 {
		tb.Fatal(err, list)
	}
	return list[0]
}

func runOnce(b testing.TB, e *embedded.Engine, w host.Workflow, session int64) {
	b.Helper()
	ctx := context.Background()
	a, err := e.Start(ctx, catalogue.StartRequest{Workflow: w.ID, SessionTime: time.Unix(session, 0), Params: param.New()})
	if err != nil {
		b.Fatal(err)
	}
	for range e.Watch(ctx, a) {
	}
	if a, err = e.Attempt(ctx, 0, a.ID); err != nil || !a.Success {
		b.Fatal(err, a)
	}
}

func repeated(n int, text string, parallel bool) string {
	var b strings.Builder
	if parallel {
		b.WriteString("_parallel: true\n")
	}
	for i := range n {
		fmt.Fprintf(&b, "+t%d:\n  %s\n", i, text)
	}
	return b.String()
}

// BenchmarkAttempts measures the cost of a task with data on disk: in a chain and in parallel, with and without a
// process; b.N is the number of attempts.
func BenchmarkAttempts(b *testing.B) {
	for _, bench := range []struct {
		name, text string
		tasks      int
		threads    int
	}{
		{"one echo", repeated(1, "echo>: hi", false), 1, 0},
		{"chain of 50 echo", repeated(50, "echo>: hi", false), 50, 0},
		{"500 echo side by side", repeated(500, "echo>: hi", true), 500, 0},
		{"chain of 50 param_set", repeated(50, "param_set>:\n  a: b", false), 50, 0},
		{"chain of 50 sh", repeated(50, "sh>: 'true'", false), 50, 0},
		{"200 sh two at a time", repeated(200, "sh>: 'true'", true), 200, 2},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e, w := running(b, embedded.Options{Limits: host.Limits{Threads: bench.threads}}, bench.text)
			b.ResetTimer()
			for i := range b.N {
				runOnce(b, e, w, int64(i))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*bench.tasks), "us/task")
		})
	}
}
