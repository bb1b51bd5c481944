package node_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// observed is a host.Observer that records its calls.
type observed struct {
	host.Unobserved
	mu   sync.Mutex
	list []string
}

func (c *observed) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *observed) AttemptEnded(a host.Attempt) { c.add("ended %s", a.Status()) }
func (c *observed) StartedLate(a host.Attempt) {
	c.add("late %s/%s", a.Project.Name, a.Workflow.Name)
}
func (c *observed) SLAMissed(a host.Attempt) { c.add("missed %s", a.Workflow.Name) }
func (c *observed) TaskRan(_ int64, operator string, result host.RunResult, took time.Duration) {
	c.add("ran %s %s %v", operator, result, took)
}

// sorted returns what was recorded, in a fixed order.
func (c *observed) sorted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.list)
	return strings.Join(c.list, ", ")
}

// TestObserver checks what is counted about attempts and runs: each end once, whatever the outcome, each run with its
// duration and result, a missed service level once, and schedules that fire more than a minute late.
func TestObserver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"success":     {"+a:\n  work>: long\n", "ended success, ran work success 1h0m0s"},
		"failure":     {"+a:\n  fail>: a\n", "ended error, ran notify success 0s"},
		"failed run":  {"+a:\n  work>: bad\n", "ended error, ran notify success 0s, ran work error 0s"},
		"wait":        {"+a:\n  wait>: 10m\n", "ended success, ran wait again 0s, ran wait success 0s"},
		"missed":      {"sla:\n  duration: 00:01:00\n  alert: false\n  +x: {echo>: late}\n+a:\n  work>: long\n", "ended success, missed main, ran work success 1h0m0s"},
		"kept in sla": {"sla:\n  duration: 03:00:00\n  alert: false\n  +x: {echo>: late}\n+a:\n  work>: long\n", "ended success, ran work success 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(time.Hour))
				w.on("bad", failing)
				seen := &observed{}
				p := w.serve(func(o *node.Options) { o.Observer = seen })
				p.end(p.run(c.text))
				pass(5 * time.Hour)
				want(t, "counted", seen.sorted(), c.want)
			})
		})
	}
	t.Run("late schedule", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			seen := &observed{}
			p := w.serve()
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(40 * time.Minute)
			p.crash()
			time.Sleep(time.Hour)
			w.serve(func(o *node.Options) { o.Observer = seen })
			pass(time.Minute)
			want(t, "counted", strings.Count(seen.sorted(), "late "), 1)
			pass(2 * time.Hour)
			want(t, "counted", strings.Count(seen.sorted(), "late "), 1)
		})
	})
}
