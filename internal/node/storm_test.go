package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestStorm proves that complete hosts, with all their loops, bring every attempt to its end over a SQLite driver that
// is made to fail: no attempt is lost, every task ran, and each archive equals the state that results from the log.
func TestStorm(t *testing.T) {
	t.Parallel()
	first, runs := setting("SEED", 1), min(setting("RUNS", 12), 200)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint("SEED=", seed), func(t *testing.T) { inBubble(t, func(w *world) { w.storm(uint64(seed), stormText) }) })
	}
}

const stormText = `_retry: 2
+e:
  echo>: x
+p:
  _parallel: true
  +a:
    +x: {work>: slow}
    +y: {work>: w}
  +b: {work>: later}
  +c:
    loop>: 3
    _do:
      work>: w
  +d: {work>: w}
+z: {work>: w}
`

// storm runs attempts of a workflow until all have ended.
func (w *world) storm(seed uint64, text string) {
	rates := faults.Rates{Refuse: .02, LoseAnswer: .02, Conflict: .03, Drop: .03, Duplicate: .04, Reorder: .1,
		CrashBefore: .004, CrashAfter: .004, MaxDelay: 2 * time.Second}
	faulty := faults.New(seed, rates)
	w.on("slow", deaf(50*time.Second))
	w.on("later", func(_ context.Context, o *operators.Task) (operators.Result, error) {
		if o.RetryCount < 2 {
			return operators.Result{}, &operators.Later{After: 20 * time.Second}
		}
		return operators.Result{}, nil
	})
	pack := int(seed % 3 * 5)
	edit := func(life *faults.Process) func(*node.Options) {
		return func(o *node.Options) {
			o.Log, o.Attempts, o.Schedules = life.Log(w.db), life.Attempts(w.db), life.Schedules(w.db)
			o.Semaphore = life.Semaphore(w.db)
			o.Events, o.Tasks = life.Queue("events", w.db.Queue("events")), life.Queue("tasks", w.db.Queue("tasks"))
			o.Limits = host.Limits{Pack: pack, Threads: 20, Lease: 30 * time.Second, Heartbeat: 10 * time.Second, Attempts: 1000}
		}
	}
	p := w.serve() // the test's own process, in which nothing fails
	p.push("main.dig", text)
	p.crash()
	workflow := p.workflow("main").ID
	var list []host.Attempt
	for life, next := faulty.Process(), 0; ; {
		q := w.serve(edit(life))
		for ; next < 8; next++ {
			a, err := q.Start(w.t.Context(), catalogue.StartRequest{Workflow: workflow, SessionTime: time.Unix(int64(next), 0), Params: param.New()})
			if err == nil {
				list = append(list, a)
			}
		}
		if len(w.writes("heal")) == 0 && time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > 20*time.Minute {
			faulty.Heal()
			w.must(w.call("heal", func() error { return nil }))
		}
		select {
		case <-life.Crashed():
		case <-time.After(10 * time.Minute):
		}
		life.Crash()
		q.crash()
		if w.allOver(p, list) {
			break
		}
		if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > 20*24*time.Hour {
			w.t.Fatalf("attempts do not end\n%s", w.said())
		}
		life = faulty.Process()
		synctest.Wait()
	}
	w.checkStorm(p, list)
}

func (w *world) allOver(p *process, list []host.Attempt) bool {
	for _, a := range list {
		if row := p.row(a); !row.Done {
			return false
		}
	}
	return true
}

func (w *world) checkStorm(p *process, list []host.Attempt) {
	for _, a := range list {
		if row := p.row(a); !row.Success && !p.lostTooOften(row) {
			w.t.Errorf("attempt %d is %s: %v", a.ID, row.Status(), strings.Join(p.tasks(a), "\n"))
		}
		entries, err := p.History(w.t.Context(), a, 1, 10_000)
		w.must(err)
		for i, e := range entries {
			if e.Seq != int64(i+1) {
				w.t.Errorf("attempt %d: entry %d is at place %d", a.ID, e.Seq, i+1)
			}
		}
		w.must(p.ViewAt(w.t.Context(), a, int64(len(entries)), func(s *engine.State) {
			text, err := engine.EncodeState(s)
			w.must(err)
			archive, err := w.db.Archive(w.t.Context(), a.ID)
			w.must(err)
			want(w.t, "archive", string(archive), string(text))
		}))
	}
}

// lostTooOften reports whether a task failed because three processes died while they ran it.
func (p *process) lostTooOften(a host.Attempt) (is bool) {
	p.w.must(p.View(p.w.t.Context(), a, func(s *engine.State) {
		for _, t := range s.Tasks() {
			if t.Outcome != nil && t.Error != nil {
				message, _ := t.Error.Get("message")
				is = is || strings.HasPrefix(message.(string), "Task was lost three times")
			}
		}
	}))
	return is
}
