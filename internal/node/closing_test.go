package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/node"
)

// closing is a workflow in which each task has a final step.
const closing = "zerodag: 1\n_finally: {work>: last}\n+a:\n  _cancel: {work>: clean}\n  _finally: {work>: last}\n  +x: {work>: long}\n+b: {work>: b}\n"

// TestKillClosing proves that a kill lets `_cancel` and `_finally` of begun tasks run, in every process, that a second
// kill also ends them, and that a third one is refused.
func TestKillClosing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		clean time.Duration // that `_cancel` takes
		again time.Duration // after which the second kill comes; 0: never
		took  time.Duration // from the first kill to the end
		runs  string
	}{
		"all of it":      {text: closing, clean: time.Minute, took: 3 * time.Minute, runs: "+main+a+x +main+a^cancel +main+a^finally +main^finally"},
		"too long":       {text: closing, clean: time.Hour, took: 12 * time.Minute, runs: "+main+a+x +main+a^cancel +main+a^finally +main^finally"},
		"by force":       {text: closing, clean: time.Hour, again: 5 * time.Minute, took: 5 * time.Minute, runs: "+main+a+x +main+a^cancel"},
		"group by force": {text: strings.Replace(closing, "_cancel: {work>: clean}", "_cancel:\n    +c: {work>: clean}\n    +d: {work>: clean}", 1), clean: time.Hour, again: 5 * time.Minute, took: 5 * time.Minute, runs: "+main+a+x +main+a^cancel+c"},
		"own bound":      {text: strings.Replace(closing, "work>: clean", "_timeout: 2h, work>: clean", 1), clean: time.Hour, took: 62 * time.Minute, runs: "+main+a+x +main+a^cancel +main+a^finally +main^finally"},
	} {
		for _, several := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " in another process"}[several], func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					w.on("long", lasting(5*time.Hour))
					w.on("clean", lasting(c.clean))
					w.on("last", lasting(time.Minute))
					p := w.closingProcess(several)
					a := p.run(c.text)
					pass(time.Hour)
					killed := time.Now()
					_, err := p.Kill(w.t.Context(), a.Site, a.ID)
					w.must(err)
					if c.again > 0 {
						pass(c.again)
						_, err = p.Kill(w.t.Context(), a.Site, a.ID)
						w.must(err)
					}
					want(t, "status", p.end(a), "killed")
					took := p.row(a).FinishedAt.Sub(killed)
					if took < c.took || took > c.took+10*time.Second {
						t.Errorf("it took %v, not %v", took, c.took)
					}
					want(t, "runs", ranOnce(w), c.runs)
					want(t, "notices", len(w.told()), 0)
					_, err = p.Kill(w.t.Context(), a.Site, a.ID)
					want(t, "code of one more kill", code(err), host.Conflict)
				})
			})
		}
	}
}

// closingProcess returns the only process, or the executor of several.
func (w *world) closingProcess(several bool) *process {
	if !several {
		return w.serve()
	}
	return w.several(node.Parts{Executor: true}, node.Parts{Agent: true})[0]
}

// ranOnce names the tasks that ran, in the order of their first runs.
func ranOnce(w *world) string {
	var names []string
	seen := map[string]bool{}
	for _, run := range w.ran() {
		name, _, _ := strings.Cut(run, "/")
		if !seen[name] {
			names = append(names, name)
		}
		seen[name] = true
	}
	return strings.Join(names, " ")
}

// TestKillTwiceEarly proves that a second kill is refused while nothing that the first one spared is running.
func TestKillTwiceEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", deaf(time.Hour))
		p := w.serve()
		a := p.run(closing)
		pass(time.Minute)
		for i, again := range []bool{false, true} {
			_, err := p.Kill(w.t.Context(), a.Site, a.ID)
			want(t, fmt.Sprint("kill ", i, " is refused"), code(err) == host.Conflict, again)
			pass(time.Second)
		}
		want(t, "status", p.end(a), "killed")
		want(t, "runs", ranOnce(w), "+main+a+x +main+a^cancel +main+a^finally +main^finally")
	})
}

// TestKillSparesFinally proves that a kill does not cut off a `_finally` that is running in any process.
func TestKillSparesFinally(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		inBubble(t, func(w *world) {
			w.on("last", lasting(time.Hour))
			p := w.closingProcess(several)
			a := p.run("zerodag: 1\n+a:\n  _finally: {work>: last}\n  work>: a\n+b: {work>: b}\n")
			pass(time.Minute)
			_, err := p.Kill(w.t.Context(), a.Site, a.ID)
			w.must(err)
			want(t, "status", p.end(a), "killed")
			w.wantRuns("+main+a/1", "+main+a^finally/1")
			want(t, "tasks", strings.Join(p.tasks(a), ", "), " canceled, +a success, +b canceled, +a^finally success")
		})
	}
}

// TestClosingCrash proves that the next process continues the cleanup after a kill, and that a second kill that no
// process has handled yet is not lost.
func TestClosingCrash(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(5*time.Hour))
		w.on("clean", lasting(5*time.Minute))
		p := w.serve()
		a := p.run(closing)
		pass(time.Minute)
		_, err := p.Kill(w.t.Context(), a.Site, a.ID)
		w.must(err)
		pass(time.Minute)
		p.crash()
		p = w.serve()
		pass(time.Minute)
		p.crash()
		_, err = p.Kill(w.t.Context(), a.Site, a.ID)
		w.must(err)
		p = w.serve()
		want(t, "status", p.end(a), "killed")
		want(t, "runs", ranOnce(w), "+main+a+x +main+a^cancel")
	})
}

// TestFinallyHoldsSlot proves that the next attempt of a workflow with `concurrency` waits for the `_finally` of the
// previous one, even if it replaces that attempt, and that a task gives up its pool's slots before its `_finally`.
func TestFinallyHoldsSlot(t *testing.T) {
	t.Parallel()
	for mode, took := range map[string]time.Duration{"wait": 90 * time.Minute, "replace": 31 * time.Minute} {
		inBubble(t, func(w *world) {
			w.on("long", lasting(time.Hour))
			w.on("last", lasting(30*time.Minute))
			p := w.serve()
			p.push("main.dig", "zerodag: 1\nconcurrency: {attempts: 1, on_limit: "+mode+"}\n_finally: {_timeout: 1h, work>: last}\n+a: {work>: long}\n")
			first := p.start(1)
			pass(time.Minute)
			p.start(2)
			p.end(first)
			pass(time.Second)
			row := p.row(first)
			late := row.FinishedAt.Sub(row.CreatedAt)
			if late < took || late > took+10*time.Second {
				t.Errorf("%s: the first attempt took %v, not %v", mode, late, took)
			}
			want(t, "runs of "+mode, len(w.ran()), 3)
		})
	}
}
