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
	"zerodag/engine/param"
	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// bus records its announcements, and fails as often as the test requests.
type bus struct {
	mu       sync.Mutex
	told     []string
	failures int
}

// Announce implements host.Bus.
func (b *bus) Announce(_ context.Context, a events.Announcement) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures > 0 {
		b.failures--
		return host.ErrUnavailable
	}
	_, name, _ := strings.Cut(a.Detail.ID, "/")
	b.told = append(b.told, fmt.Sprintf("%s %s %s %s", a.Topic, name, a.Detail.Status, a.Detail.SessionTime))
	return nil
}

// TestEndedOnce proves that an attempt keeps its outcome, both on the bus and in the notices to users, if a later
// message fails so often that the attempt is given up on.
func TestEndedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		b := &bus{}
		p := w.serve(func(o *node.Options) { o.Bus = b })
		a := p.run("+a:\n  echo>: a\n")
		want(t, "status", p.end(a), "success")
		before := p.row(a)
		after, err := p.End(w.t.Context(), before, host.End{At: w.now(), GivenUp: true})
		w.must(err)
		synctest.Wait()
		want(t, "row", []any{after.Done, after.Success, after.FinishedAt}, []any{true, true, before.FinishedAt})
		want(t, "failures told", w.told(), []string(nil))
		end := b.told[len(b.told)-1]
		if !strings.HasPrefix(end, "Attempt Succeeded attempt-succeeded") || slices.ContainsFunc(b.told, func(s string) bool { return strings.HasPrefix(s, "Attempt Failed") }) {
			t.Errorf("told %q", b.told)
		}
		want(t, "failed", p.Stats().Failed, int64(0))
	})
}

// TestAnnounces checks an attempt's announcements: its start before its end, its end whatever the outcome, and both of
// them even if the bus was unavailable.
func TestAnnounces(t *testing.T) {
	t.Parallel()
	const started = "Attempt Started attempt-started running 1970-01-01T09:00:01+09:00"
	for name, c := range map[string]struct {
		text     string
		kill     bool
		failures int
		want     []string
	}{
		"success": {"+a:\n  work>: a\n", false, 0, []string{started, "Attempt Succeeded attempt-succeeded success 1970-01-01T09:00:01+09:00"}},
		"inline":  {"+a:\n  echo>: a\n", false, 0, []string{started, "Attempt Succeeded attempt-succeeded success 1970-01-01T09:00:01+09:00"}},
		"failure": {"+a:\n  fail>: a\n", false, 0, []string{started, "Attempt Failed attempt-failed error 1970-01-01T09:00:01+09:00"}},
		"away":    {"+a:\n  work>: a\n", false, 3, []string{started, "Attempt Succeeded attempt-succeeded success 1970-01-01T09:00:01+09:00"}},
		"killed":  {"+a:\n  work>: long\n", true, 0, []string{started, "Attempt Killed attempt-killed killed 1970-01-01T09:00:01+09:00"}},
		"late": {"sla:\n  duration: 00:01:00\n  alert: false\n+a:\n  work>: long\n", false, 0, []string{started, "SLA Missed sla-missed running 1970-01-01T09:00:01+09:00",
			"Attempt Succeeded attempt-succeeded success 1970-01-01T09:00:01+09:00"}},
		"in time": {"sla:\n  duration: 10:00:00\n  alert: false\n+a:\n  work>: long\n", false, 0, []string{started, "Attempt Succeeded attempt-succeeded success 1970-01-01T09:00:01+09:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(time.Hour))
				b := &bus{failures: c.failures}
				p := w.serve(func(o *node.Options) { o.Bus = b })
				a := p.run("timezone: Asia/Tokyo\n" + c.text)
				if c.kill {
					pass(time.Minute)
					_, err := p.Kill(w.t.Context(), 0, a.ID)
					w.must(err)
				}
				p.end(a)
				pass(12 * time.Hour)
				want(t, "told", b.told, c.want)
				if n := len(w.ran()); n > 1 {
					t.Errorf("the task ran %d times", n)
				}
			})
		})
	}
}

// TestRunTime proves that a run that takes too long fails with a message that says so, and that a chain of tasks is
// handed on after a while.
func TestRunTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(time.Hour))
		w.on("short", lasting(50*time.Second))
		p := w.serve(func(o *node.Options) { o.Limits.RunTime, o.Limits.ChainTime = 10*time.Minute, 2*time.Minute })
		a := p.run("+a: {work>: short}\n+b: {work>: short}\n+c: {work>: short}\n+d: {work>: short}\n+e: {work>: long}\n")
		began := time.Now()
		want(t, "status", p.end(a), "error")
		want(t, "ended in time", time.Since(began) < 15*time.Minute, true)
		want(t, "sent on", len(w.writes("send 1 to tasks")), 3) // the first, the fourth, and ^failure-alert
		w.must(p.View(w.t.Context(), p.row(a), func(s *engine.State) {
			tasks := s.Tasks()
			for _, x := range tasks {
				if x.Name == "+main+e" {
					want(t, "error", string(param.AppendJSON(nil, x.Error)), `{"message":"a single run of a task may take at most 10m0s in this deployment: split the work, or let it poll (runtime)","stacktrace":"delivery.tooLong"}`)
				}
			}
		}))
	})
}
