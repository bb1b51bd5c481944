package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// keeper records the notices that it is given.
type keeper struct {
	mu   sync.Mutex
	list []string
}

func (k *keeper) add(format string, args ...any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, fmt.Sprintf(format, args...))
	return nil
}

func (k *keeper) Keep(_ context.Context, n host.Notice, _ string) error {
	return k.add("%s of %s/%s %s", n.Kind, n.Attempt.Project.Name, n.Attempt.Workflow.Name, strings.Join(n.Tags, ","))
}

func (k *keeper) Succeeded(_ context.Context, a host.Attempt) error {
	return k.add("success of %s/%s", a.Project.Name, a.Workflow.Name)
}

// kept returns the notices.
func (k *keeper) kept() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

// TestKinds checks the kinds of notices that an attempt causes, with the tags of its workflow, and that each success is
// reported once.
func TestKinds(t *testing.T) {
	t.Parallel()
	const gate = "zerodag: 1\ntags: [daily, {team: sales}]\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"success":    {"+a:\n  echo>: a\n", []string{"success of p/main"}},
		"failure":    {gate + "+a:\n  fail>: a\n", []string{"failure of p/main daily,team=sales"}},
		"message":    {gate + "+a:\n  notify>: done\n", []string{"message of p/main daily,team=sales", "success of p/main"}},
		"sla alert":  {"sla:\n  duration: 00:01:00\n  alert: true\n+a:\n  work>: long\n", []string{"sla of p/main ", "success of p/main"}},
		"sla task":   {"sla:\n  duration: 00:01:00\n  alert: false\n  +x: {notify>: late}\n+a:\n  work>: long\n", []string{"sla of p/main ", "success of p/main"}},
		"slow task":  {gate + "+a:\n  work>: long\n  _timeout: {warn: 10m}\n", []string{"slow of p/main daily,team=sales", "success of p/main"}},
		"slow group": {gate + "+g:\n  _timeout: {warn: 10m}\n  +a:\n    work>: long\n", []string{"slow of p/main daily,team=sales", "success of p/main"}},
		"too old":    {"+a:\n  work>: forever\n", []string{"failure of p/main "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(time.Hour))
				w.on("forever", lasting(100*24*time.Hour))
				k := &keeper{}
				p := w.serve(func(o *node.Options) { o.Keeper = k })
				p.end(p.run(c.text))
				want(t, "notices", k.kept(), c.want)
			})
		})
	}
}

// awayWorkflows cannot read definitions for some time.
type awayWorkflows struct {
	workflows
	away *atomic.Bool
}

func (x awayWorkflows) Workflow(ctx context.Context, site, id int64) (host.Workflow, error) {
	if x.away.Load() {
		return host.Workflow{}, host.ErrUnavailable
	}
	return x.workflows.Workflow(ctx, site, id)
}

// TestTagsAreRead proves that a notice keeps the tags of its workflow, by which routes select it, if the definition
// cannot be read for some time.
func TestTagsAreRead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(time.Hour))
		var away atomic.Bool
		k := &keeper{}
		p := w.serve(func(o *node.Options) { o.Keeper, o.Workflows = k, awayWorkflows{w.db, &away} })
		a := p.run("zerodag: 1\ntags: [daily]\n+g:\n  _timeout: {warn: 10m}\n  +a:\n    work>: long\n")
		pass(5 * time.Minute)
		away.Store(true)
		pass(10 * time.Minute)
		want(t, "notices while the definition cannot be read", len(k.kept()), 0)
		away.Store(false)
		p.end(a)
		want(t, "notices", k.kept(), []string{"slow of p/main daily", "success of p/main"})
	})
}

// TestKindsOfSchedules proves that a schedule that starts late, or that cannot start its workflow, is reported once for
// each session.
func TestKindsOfSchedules(t *testing.T) {
	t.Parallel()
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			k := &keeper{}
			p := w.serve()
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(40 * time.Minute)
			p.crash()
			time.Sleep(time.Hour)
			w.serve(func(o *node.Options) { o.Keeper = k })
			pass(2 * time.Hour)
			got := k.kept()
			want(t, "late", strings.Count(strings.Join(got, "\n"), "late of p/main"), 1)
			want(t, "start_failed", strings.Count(strings.Join(got, "\n"), "start_failed"), 0)
		})
	})
	t.Run("too many attempts", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.on("a", lasting(5*time.Hour))
			k := &keeper{}
			p := w.serve(func(o *node.Options) { o.Limits.Attempts, o.Keeper = 1, k })
			p.push("main.dig", scheduled("hourly>: '30:00'"))
			pass(4 * time.Hour)
			want(t, "notices", k.kept(), []string{"start_failed of p/main "})
		})
	})
}
