package node_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// polls is work that asks to be polled again every hour, forever.
func polls(context.Context, *operators.Task) (operators.Result, error) {
	return operators.Result{}, &operators.Later{After: time.Hour}
}

// errorOf returns the error of an attempt's task.
func (p *process) errorOf(a host.Attempt, name string) string {
	p.w.t.Helper()
	text := ""
	p.w.must(p.View(p.w.t.Context(), p.row(a), func(s *engine.State) {
		for _, t := range s.Tasks() {
			if t.Name == "+main"+name && t.Outcome != nil {
				message, _ := t.Error.Get("message")
				bound, _ := t.Error.Get("timeout")
				text = fmt.Sprint(message, " (", bound, ")")
			}
		}
	}))
	return text
}

// TestTimeout proves that a task or a group ends within a second of its time limit, whatever it is doing, and that
// everything it left running elsewhere is stopped.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, task, says string
		took             time.Duration
		cleaned          []string
	}{
		"running":          {"+a: {_timeout: 30m, work>: long}", "+a", "timed out after 30m (try)", 30 * time.Minute, []string{"+main+a"}},
		"polling":          {"+a: {_timeout: 90m, work>: polls}", "+a", "timed out after 1h 30m (try)", 90 * time.Minute, []string{"+main+a"}},
		"each try":         {"+a: {_timeout: 30m, _retry: {limit: 2, interval: 60}, work>: long}", "+a", "timed out after 30m (try)", 92 * time.Minute, []string{"+main+a", "+main+a", "+main+a"}},
		"all tries":        {"+a: {_timeout: {try: 30m, total: 1h}, _retry: {limit: 5, interval: 60}, work>: long}", "+a", "timed out after 1h (total)", time.Hour, []string{"+main+a", "+main+a"}},
		"between tries":    {"+a: {_timeout: {total: 1h}, _retry: {limit: 5, interval: 86400}, work>: fails}", "+a", "timed out after 1h (total)", time.Hour, []string{"+main+a"}},
		"waits for slots":  {"+a: {_timeout: {total: 2h}, _pool: warehouse, work>: x}", "+a", "timed out after 2h (total)", 2 * time.Hour, nil},
		"wait for slots":   {"+a: {_pool: {name: warehouse, wait: 2h}, _retry: 3, work>: x}", "+a", "waited 2h for pool warehouse (wait)", 2 * time.Hour, nil},
		"total before":     {"+a: {_timeout: {total: 1h}, _pool: {name: warehouse, wait: 2h}, work>: x}", "+a", "timed out after 1h (total)", time.Hour, nil},
		"each round waits": {"+g:\n  _retry: {limit: 1, interval: 60}\n  +a: {_pool: {name: warehouse, wait: 2h}, work>: x}", "+g+a", "waited 2h for pool warehouse (wait)", 241 * time.Minute, nil},
		"group":            {"+g:\n  _timeout: 1h\n  +a: {work>: long}", "+g", "timed out after 1h (try)", time.Hour, nil},
		"group polls":      {"+g:\n  _timeout: 1h\n  _parallel: true\n  +a: {work>: polls}\n  +b: {work>: x}", "+g", "timed out after 1h (try)", time.Hour, []string{"+main+g+a"}},
		"group waits":      {"+g:\n  _timeout: {total: 1h}\n  _retry: {limit: 3, interval: 86400}\n  +a: {work>: fails}", "+g", "timed out after 1h (total)", time.Hour, nil},
		"group for slots":  {"+g:\n  _timeout: 1h\n  +a: {_pool: warehouse, work>: x}", "+g", "timed out after 1h (try)", time.Hour, nil},
		"tasks of a task":  {"+a:\n  _timeout: 1h\n  loop>: 2\n  _do: {work>: long}", "+a", "timed out after 1h (try)", time.Hour, nil},
		"file":             {"_timeout: 1h\n+a: {work>: long}", "", "timed out after 1h (try)", time.Hour, nil},
		"inner before":     {"_timeout: 2h\n+a: {_timeout: 1h, work>: polls}", "+a", "timed out after 1h (try)", time.Hour, []string{"+main+a"}},
		"inner comes late": {"_timeout: 1h\n+a: {_timeout: 2h, work>: polls}", "", "timed out after 1h (try)", time.Hour, []string{"+main+a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(100*time.Hour))
				w.on("polls", polls)
				w.on("fails", failing)
				p := w.serve()
				ref := p.pool(1)
				_, err := p.HoldPool(t.Context(), ref, true)
				w.must(err)
				a := p.run("zerodag: 1\n" + c.text + "\n")
				want(t, "status", p.end(a), "error")
				want(t, "error", p.errorOf(a, c.task), c.says)
				want(t, "time it took", p.row(a).FinishedAt.Sub(a.CreatedAt).Truncate(time.Second), c.took)
				want(t, "cleaned", w.cleaned, c.cleaned)
				p.wantPool(ref, 0, 0)
			})
		})
	}
}

// TestTimeoutInTheQueue proves that a task that waits for a free agent loses none of its time.
func TestTimeoutInTheQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(50*time.Minute))
		p := w.serve(func(o *node.Options) { o.Limits.Threads = 1 })
		a := p.run("zerodag: 1\n_parallel: true\n_defaults: {_timeout: 1h}\n+a: {work>: long}\n+b: {work>: long}\n+c: {work>: long}\n")
		want(t, "status", p.end(a), "success")
	})
}

// TestTimeoutAfterCrash proves that a task that is taken over has the rest of its time left, and that the next server
// ends a task whose time ran out while no server was running.
func TestTimeoutAfterCrash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		away time.Duration
		took time.Duration
	}{
		"in time":          {"+a: {_timeout: 1h, work>: long}", 10 * time.Minute, time.Hour},
		"too late":         {"+a: {_timeout: 1h, work>: long}", 2 * time.Hour, 150 * time.Minute},
		"poll in time":     {"+a: {_timeout: 1h, work>: polls}", 10 * time.Minute, time.Hour},
		"poll too late":    {"+a: {_timeout: 1h, work>: polls}", 2 * time.Hour, 150 * time.Minute},
		"group in time":    {"+g:\n  _timeout: 1h\n  +a: {work>: long}", 10 * time.Minute, time.Hour},
		"group too late":   {"+g:\n  _timeout: 1h\n  +a: {work>: long}", 2 * time.Hour, 150 * time.Minute},
		"total of retries": {"+a: {_timeout: {total: 1h}, _retry: {limit: 1, interval: 86400}, work>: fails}", 2 * time.Hour, 150 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(100*time.Hour))
				w.on("polls", polls)
				w.on("fails", failing)
				p := w.serve()
				a := p.run("zerodag: 1\n" + c.text + "\n")
				pass(30 * time.Minute)
				p.crash()
				pass(c.away)
				p = w.serve()
				want(t, "status", p.end(a), "error")
				late := p.row(a).FinishedAt.Sub(a.CreatedAt) - c.took
				want(t, "late by less than the lease of a message", late >= 0 && late < 6*time.Minute, true)
			})
		})
	}
}

// TestTimeoutElsewhere proves that a run in another process is cut off when its group times out.
func TestTimeoutElsewhere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(100*time.Hour))
		list := w.several(node.Parts{Executor: true}, node.Parts{Agent: true}, node.Parts{Agent: true})
		p := list[0]
		a := p.run("zerodag: 1\n+g:\n  _timeout: 1h\n  _parallel: true\n  +a: {work>: long}\n  +b: {work>: long}\n")
		want(t, "status", p.end(a), "error")
		want(t, "it took not much longer", p.row(a).FinishedAt.Sub(a.CreatedAt) < time.Hour+5*time.Second, true)
	})
}

// stormOfTimeouts is a workflow of tasks and groups that take too long and whose errors are ignored.
const stormOfTimeouts = `zerodag: 1
_parallel: true
+a: {_timeout: 5m, _ignore_error: true, work>: stuck}
+b: {_timeout: {try: 30s, total: 10m}, _retry: {limit: 3, interval: 10}, _ignore_error: true, work>: later}
+g:
  _timeout: {try: 2m, total: 20m}
  _retry: {limit: 2, interval: 30}
  _ignore_error: true
  _parallel: true
  +x: {work>: stuck}
  +y: {work>: w}
  +z: {work>: later}
+l:
  _timeout: 3m
  _ignore_error: true
  loop>: 2
  _do: {work>: stuck}
+w: {_timeout: 10h, work>: slow}
`

// TestStormOfTimeouts proves that no storm loses or duplicates the end of a task or group that takes too long: every
// attempt reaches its end.
func TestStormOfTimeouts(t *testing.T) {
	t.Parallel()
	first, runs := setting("SEED", 1), min(setting("RUNS", 12), 200)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint("SEED=", seed), func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.on("stuck", lasting(1000*time.Hour))
				w.storm(uint64(seed), stormOfTimeouts)
			})
		})
	}
}
