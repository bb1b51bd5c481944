package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/internal/trace"
	"zerodag/operators"
)

// sink keeps the spans that it receives, and fails as often as the test asks.
type sink struct {
	mu     sync.Mutex
	traces [][]trace.Span
	err    error
}

// Trace implements host.Tracer.
func (s *sink) Trace(a host.Attempt, final *engine.State) func(context.Context) error {
	spans := trace.Of(a, final)
	return func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.traces = append(s.traces, spans)
		return s.err
	}
}

// shown writes a trace as a tree: the name of each span, its beginning and end relative to the attempt's start, and its
// failure.
func shown(spans []trace.Span) []string {
	depth := map[[8]byte]int{}
	var list []string
	for _, s := range spans {
		depth[s.ID] = depth[s.Parent] + 1
		if s.Parent == ([8]byte{}) {
			depth[s.ID] = 0
		}
		line := fmt.Sprintf("%s%s %v-%v", strings.Repeat("  ", depth[s.ID]), s.Name, s.Start.Sub(spans[0].Start).Round(time.Second), s.End.Sub(spans[0].Start).Round(time.Second))
		for _, a := range s.Attributes {
			if slices.Contains([]string{"zerodag.task.operator", "zerodag.task.retries", "zerodag.task.state", "zerodag.attempt.status"}, a.Key) {
				line += fmt.Sprintf(" %s=%v", a.Key[strings.LastIndex(a.Key, ".")+1:], a.Value)
			}
		}
		if s.Failed {
			line += " failed: " + s.Message
		}
		list = append(list, line)
	}
	return list
}

// TestTraces proves that a finished attempt leaves one trace with a span for each task that ran, with the task's
// duration, whatever the attempt's outcome, and that a failing sink does no harm.
func TestTraces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		err  error
		kill bool
		want []string
	}{
		"success": {"+a:\n  work>: minute\n+g:\n  _parallel: true\n  +b: {work>: minute}\n  +c: {work>: hour}\n+d: {echo>: d}\n", nil, false, []string{
			"p/main 0s-1h1m0s status=success", "  +main 0s-1h1m0s state=success", "    +main+a 0s-1m0s state=success operator=work", "    +main+g 1m0s-1h1m0s state=success",
			"      +main+g+b 1m0s-2m0s state=success operator=work", "      +main+g+c 1m0s-1h1m0s state=success operator=work", "    +main+d 1h1m0s-1h1m0s state=success operator=echo"}},
		"failure": {"+a:\n  work>: minute\n+b:\n  fail>: no\n+c:\n  work>: minute\n", nil, false, []string{
			"p/main 0s-1m0s status=error failed: no", "  +main 0s-1m0s state=group_error failed: ", "    +main+a 0s-1m0s state=success operator=work", "    +main+b 1m0s-1m0s state=error operator=fail failed: no",
			"    +main^failure-alert 1m0s-1m0s state=success operator=notify"}},
		"killed": {"+a:\n  work>: hour\n+b:\n  work>: hour\n", nil, true, []string{
			"p/main 0s-1m0s status=killed failed: ", "  +main 0s-1m0s state=canceled", "    +main+a 0s-1m0s state=canceled operator=work"}},
		"sink fails": {"+a:\n  echo>: a\n", host.ErrUnavailable, false, []string{"p/main 0s-0s status=success", "  +main 0s-0s state=success", "    +main+a 0s-0s state=success operator=echo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("minute", lasting(time.Minute))
				w.on("hour", lasting(time.Hour))
				s := &sink{err: c.err}
				p := w.serve(func(o *node.Options) { o.Traces = s })
				a := p.run(c.text)
				if c.kill {
					pass(time.Minute)
					_, err := p.Kill(w.t.Context(), 0, a.ID)
					w.must(err)
				}
				p.end(a)
				pass(time.Hour)
				synctest.Wait()
				if len(s.traces) != 1 {
					t.Fatalf("%d traces", len(s.traces))
				}
				want(t, "trace", shown(s.traces[0]), c.want)
				for _, x := range s.traces[0] {
					if x.Trace != trace.ID(p.row(a)) || x.End.Before(x.Start) {
						t.Errorf("span %+v", x)
					}
				}
			})
		})
	}
}

// TestTraceOfResumed proves that tasks that are taken over from another attempt have no span.
func TestTraceOfResumed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		failing := true
		w.on("minute", lasting(time.Minute))
		w.on("second", func(context.Context, *operators.Task) (operators.Result, error) {
			if failing {
				return operators.Result{}, operators.Failf("not yet")
			}
			return operators.Result{}, nil
		})
		s := &sink{}
		p := w.serve(func(o *node.Options) { o.Traces = s })
		a := p.run("+a: {work>: minute}\n+b: {work>: second}\n")
		want(t, "status", p.end(a), "error")
		failing = false
		b := p.start(1, func(q *catalogue.StartRequest) {
			q.RetryName, q.Resume = "again", &catalogue.Resume{Mode: "failed", Attempt: a.ID}
		})
		want(t, "status", p.end(b), "success")
		pass(time.Minute)
		want(t, "trace", shown(s.traces[1]), []string{"p/main 0s-0s status=success", "  +main 0s-0s state=success", "    +main+b 0s-0s state=success operator=work"})
		if trace.ID(a) == trace.ID(b) {
			t.Error("both attempts have one trace")
		}
	})
}
