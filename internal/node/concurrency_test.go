package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/node"
	"zerodag/operators"
)

// limited is a workflow of one long task with the given `concurrency`.
func limited(concurrency string) string {
	return "zerodag: 1\nconcurrency: {" + concurrency + "}\n+a: {work>: long}\n+b: {work>: short}\n"
}

// turn returns the pool for attempts of workflow "main" with the given key.
func (p *process) turn(key string) host.PoolRef {
	return host.PoolRef{Project: p.workflow("main").Project.ID, Name: host.ConcurrencyPool("main", key)}
}

// another starts the workflow for one more session and returns the attempt, or the reason if the start is refused.
func (p *process) another(session int, edit ...func(*catalogue.StartRequest)) (host.Attempt, string) {
	r := catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(int64(session), 0), Params: param.New()}
	for _, e := range edit {
		e(&r)
	}
	a, err := p.Start(p.w.t.Context(), r)
	var refused *host.Error
	if errors.As(err, &refused) && errors.Is(err, host.ErrAtLimit) {
		return a, refused.Message
	}
	p.w.must(err)
	return a, ""
}

// status returns an attempt's current status.
func (p *process) status(a host.Attempt) string {
	a = p.row(a)
	return a.Status()
}

// why returns the error of an attempt's root task.
func (p *process) why(a host.Attempt) (text string) {
	p.w.must(p.View(p.w.t.Context(), p.row(a), func(s *engine.State) {
		if o := s.Task(engine.Root).Outcome; o != nil {
			v, _ := o.Error.Get("message")
			text, _ = v.(string)
		}
	}))
	return text
}

// TestConcurrency24Interleavings starts, ends, kills and cuts off attempts of a workflow that runs once at a time, in
// six orders under each of the four execution types. `start` starts an attempt, `kill N` kills the Nth, `crash` ends
// the server, which then restarts; after a script, all attempts run to their end. Two never run at once, and no attempt
// keeps a slot.
func TestConcurrency24Interleavings(t *testing.T) {
	t.Parallel()
	scripts := []string{
		"start, start",
		"start, start, kill 2",
		"start, start, kill 1",
		"start, crash, start",
		"start, start, start",
		"start, start, crash, start, kill 1",
	}
	for mode, outcomes := range map[string][]string{
		"wait":    {"success success", "success killed", "killed success", "success success", "success success success", "killed success success"},
		"skip":    {"success refused", "success refused", "killed refused", "success refused", "success refused refused", "killed refused refused"},
		"latest":  {"success success", "success killed", "killed success", "success success", "success killed success", "killed killed success"},
		"replace": {"killed success", "killed killed", "killed success", "killed success", "killed killed success", "killed killed success"},
	} {
		for i, script := range scripts {
			t.Run(mode+": "+script, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) { w.interleave(mode, script, outcomes[i]) })
			})
		}
	}
}

func (w *world) interleave(mode, script, outcomes string) {
	d := &desk{}
	w.on("long", d.busy(10*time.Minute))
	limits := func(o *node.Options) { o.Limits = host.Limits{ReapInterval: time.Minute, Crashes: -1} }
	p := w.serve(limits)
	p.push("main.dig", limited("attempts: 1, on_limit: "+mode))
	var list []host.Attempt
	for i, step := range strings.Split(script, ", ") {
		switch step {
		case "start":
			a, _ := p.another(i)
			list = append(list, a)
		case "crash":
			p.crash()
			p = w.serve(limits)
		default:
			if a := list[step[len("kill ")]-'1']; a.ID != 0 && !p.row(a).Done {
				if _, err := p.Kill(w.t.Context(), a.Site, a.ID); err != nil && !p.row(a).Canceled {
					w.t.Error(err)
				}
			}
		}
		pass(time.Second)
	}
	var got []string
	for _, a := range list {
		if a.ID == 0 {
			got = append(got, "refused")
		} else {
			got = append(got, p.end(a))
		}
	}
	want(w.t, "outcomes", strings.Join(got, " "), outcomes)
	want(w.t, "at once", d.most, 1)
	p.wantPool(p.turn(""), 0, 0)
}

// TestConcurrencyWaits proves that attempts wait for their turn in order, that attempts with another key do not wait
// for them, that a kill ends a waiting attempt within a second, and that a waiting attempt shows why it waits.
func TestConcurrencyWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		p.push("main.dig", limited("attempts: 2, key: '${customer}-${session_date}'"))
		var list []host.Attempt
		for i := range 5 {
			a, _ := p.another(i, func(r *catalogue.StartRequest) { r.Params = param.New("customer", "ann") })
			list = append(list, a)
			pass(time.Second)
		}
		other, _ := p.another(10, func(r *catalogue.StartRequest) { r.Params = param.New("customer", "bob") })
		pass(time.Second)
		p.wantPool(p.turn("ann-1970-01-01"), 2, 3)
		p.wantPool(p.turn("bob-1970-01-01"), 1, 0)
		want(t, "tasks of one that waits", fmt.Sprint(p.tasks(list[2])), "[ planned +a blocked +b blocked]")
		w.must(p.View(t.Context(), p.row(list[2]), func(s *engine.State) { want(t, "waits", s.Waits(), true) }))
		_, err := p.Kill(t.Context(), 0, list[2].ID)
		w.must(err)
		pass(time.Second)
		want(t, "killed", p.status(list[2]), "killed")
		for _, a := range []host.Attempt{list[0], list[1], list[3], list[4], other} {
			want(t, "status", p.end(a), "success")
		}
		want(t, "time", p.row(list[4]).FinishedAt.Sub(list[0].CreatedAt).Round(time.Minute), 20*time.Minute)
		_, err = p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(99, 0), Params: param.New()})
		if err == nil || !strings.Contains(err.Error(), "needs the parameter 'customer'") {
			t.Errorf("a start without the parameter of the key says %v", err)
		}
	})
}

// TestConcurrencyReasons proves that attempts that had to end, and attempts that may not start, report why.
func TestConcurrencyReasons(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		p.push("main.dig", limited("attempts: 1, on_limit: latest"))
		a, _ := p.another(1)
		pass(time.Second)
		b, _ := p.another(2)
		pass(time.Second)
		c, _ := p.another(3)
		pass(time.Second)
		want(t, "second", p.status(b), "killed")
		want(t, "why", p.why(b), fmt.Sprintf("Attempt %d replaced it (`on_limit: latest`)", c.ID))
		want(t, "first", p.end(a), "success")
		p.push("main.dig", limited("attempts: 1, on_limit: skip"))
		_, refused := p.another(4)
		want(t, "refused", refused, fmt.Sprintf("Workflow 'main' is already running: attempt %d", c.ID))
		p.push("main.dig", limited("attempts: 1, max_waiting: 1"))
		d, _ := p.another(5)
		pass(time.Second)
		_, refused = p.another(6)
		want(t, "refused", refused, "Too many attempts of workflow 'main' are waiting: 2 run or wait, and `max_waiting: 1` allows no more")
		p.push("main.dig", limited("attempts: 1, on_limit: replace"))
		e, _ := p.another(7)
		want(t, "newest", p.end(e), "success")
		want(t, "running", p.why(c), fmt.Sprintf("Attempt %d replaced it (`on_limit: replace`)", e.ID))
		want(t, "waiting", p.status(d), "killed")
		p.wantPool(p.turn(""), 0, 0)
	})
}

// TestConcurrencySkipsSessions proves that a schedule skips a session while its workflow runs, and that two starts at
// the same moment do not both run.
func TestConcurrencySkipsSessions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(150*time.Minute))
		p := w.serve()
		p.push("main.dig", "timezone: UTC\nschedule: {hourly>: '30:00'}\n"+limited("attempts: 1, on_limit: skip"))
		pass(6 * time.Hour)
		want(t, "starts", fmt.Sprint(p.fired()), "[01T00:00:00 at 01T00:30:00.000 01T03:00:00 at 01T03:30:00.000]")
	})
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		p.push("main.dig", limited("attempts: 1, on_limit: wait"))
		a, _ := p.another(1)
		b, _ := p.another(2)
		pass(time.Second)
		p.push("main.dig", limited("attempts: 1, on_limit: skip"))
		want(t, "status", p.end(a)+" "+p.end(b), "success success")
	})
}

// TestConcurrencyNewSize proves that an attempt of a later revision applies that revision's size.
func TestConcurrencyNewSize(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("long", d.busy(10*time.Minute))
		p := w.serve()
		p.push("main.dig", limited("attempts: 1"))
		for i := range 3 {
			p.another(i)
			pass(time.Second)
		}
		p.wantPool(p.turn(""), 1, 2)
		p.push("main.dig", limited("attempts: 3"))
		p.another(4)
		pass(time.Second)
		p.wantPool(p.turn(""), 3, 1)
		p.push("main.dig", limited("attempts: 1"))
		last, _ := p.another(5)
		want(t, "status", p.end(last), "success")
		want(t, "at once", d.most, 3)
		p.wantPool(p.turn(""), 0, 0)
		pass(25 * time.Hour)
		list, err := w.db.Pools(t.Context(), host.PoolQuery{Site: host.AnySite})
		w.must(err)
		want(t, "pools that nobody has made and nobody uses", len(list), 0)
	})
}

// TestConcurrencyRetry proves that a new attempt of a session waits for its turn like any other, and that a backfill is
// not skipped.
func TestConcurrencyRetry(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		fails := true
		w.on("short", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			if fails {
				return operators.Result{}, operators.Failf("no")
			}
			return operators.Result{}, nil
		})
		p := w.serve()
		p.push("main.dig", "timezone: UTC\nschedule: {daily>: 07:00:00}\n"+limited("attempts: 1"))
		a, _ := p.another(1)
		want(t, "first", p.end(a), "error")
		fails = false
		b, _ := p.another(2)
		pass(time.Second)
		again, err := p.Rerun(t.Context(), p.row(a), catalogue.RerunRequest{Mode: "failed", RetryName: "again"})
		w.must(err)
		pass(time.Second)
		p.wantPool(p.turn(""), 1, 1)
		want(t, "second", p.end(b), "success")
		want(t, "again", p.end(again), "success")
		p.push("main.dig", "timezone: UTC\nschedule: {daily>: 07:00:00}\n"+limited("attempts: 1, on_limit: skip"))
		c, _ := p.another(3)
		pass(time.Second)
		count := 2
		_, list, err := p.Backfill(t.Context(), 0, p.schedule().ID, catalogue.BackfillRequest{From: time.Now().Add(-50 * time.Hour), Name: "b", Count: &count})
		w.must(err)
		want(t, "backfill", p.end(list[0])+" "+p.end(list[1]), "success success")
		want(t, "third", p.end(c), "success")
		p.wantPool(p.turn(""), 0, 0)
	})
}

// stormOfAttempts is a workflow whose attempts run two at a time.
const stormOfAttempts = `zerodag: 1
concurrency: {attempts: 2}
_parallel: true
+a: {work>: turn}
+b:
  +x: {work>: later}
  +y: {work>: turn}
`

// TestStormOfAttempts is TestStorm with attempts that wait for their turn: no task runs before its attempt's turn, and
// no slot is lost.
func TestStormOfAttempts(t *testing.T) {
	t.Parallel()
	first, runs := setting("SEED", 1), min(setting("RUNS", 8), 200)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint("SEED=", seed), func(t *testing.T) {
			inBubble(t, func(w *world) {
				p := w.serve()
				p.push("main.dig", stormOfAttempts)
				ref := p.turn("")
				p.crash()
				w.on("turn", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					l, err := w.db.Line(ctx, ref, 0)
					if err != nil {
						return operators.Result{}, err
					}
					for _, s := range l.Taken {
						if strings.HasPrefix(s.Holder, fmt.Sprintf("%d/0/", o.AttemptID)) {
							return operators.Result{}, nil
						}
					}
					w.t.Errorf("%s of attempt %d runs without a turn: %v", o.TaskName, o.AttemptID, l.Taken)
					return operators.Result{}, nil
				})
				w.storm(uint64(seed), stormOfAttempts)
				p = w.serve()
				pass(20 * time.Minute) // the check finds what crashes left
				p.wantPool(ref, 0, 0)
			})
		})
	}
}

// TestConcurrencyCrashes crashes the server repeatedly, while one pool call in five fails or gets no response, and
// every third attempt is paused for a while.
func TestConcurrencyCrashes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"wait", "latest", "replace"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				d := &desk{}
				w.on("long", d.busy(3*time.Minute))
				faulty := faults.New(1, faults.Rates{Refuse: .1, LoseAnswer: .1})
				limits := func(o *node.Options) {
					o.Limits = host.Limits{ReapInterval: time.Minute, Crashes: -1}
					o.Semaphore = faulty.Process().Semaphore(w.db)
				}
				p := w.serve(limits)
				p.push("main.dig", limited("attempts: 1, on_limit: "+mode))
				var list []host.Attempt
				for i := range 10 {
					if i%3 != 2 {
						a, _ := p.another(i)
						list = append(list, a)
					}
					p.mayPause(list[len(list)-1], i%3 == 1)
					pass(time.Duration(i*37) * time.Second / 3)
					p.crash()
					p = w.serve(limits)
				}
				ended := map[string]int{}
				for _, a := range list {
					p.mayPause(a, false)
					ended[p.end(a)]++
				}
				want(t, "at once", d.most, 1)
				want(t, "the last one", p.status(list[len(list)-1]), "success")
				want(t, "all end as they may", ended["success"]+ended["killed"], len(list))
				if mode == "wait" {
					want(t, "all run", ended["success"], len(list))
				}
				pass(5 * time.Minute)
				p.wantPool(p.turn(""), 0, 0)
			})
		})
	}
}

// mayPause pauses an attempt, or lets it continue, unless it has ended or is already in that state.
func (p *process) mayPause(a host.Attempt, on bool) {
	do := p.Unpause
	if on {
		do = func(ctx context.Context, site, id int64) (host.Attempt, error) {
			return p.Pause(ctx, site, id, "alice", "")
		}
	}
	if _, err := do(p.w.t.Context(), a.Site, a.ID); err != nil && code(err) != host.Conflict {
		p.w.t.Error(err)
	}
}

// TestPriority proves that waiting tasks are ordered by the nearest `_priority`, then by the priority of their start,
// and that a resume keeps it.
func TestPriority(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var order []string
		fails := true
		w.on("long", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			order = append(order, fmt.Sprint(o.AttemptID, strings.TrimPrefix(o.TaskName, "+main")))
			if r, err := lasting(time.Minute)(ctx, o); !fails {
				return r, err
			}
			return operators.Result{}, operators.Failf("no")
		})
		p := w.serve()
		ref := p.pool(1)
		_, err := p.HoldPool(t.Context(), ref, true)
		w.must(err)
		p.push("main.dig", "zerodag: 1\n_parallel: true\n+g:\n  _priority: low\n  _parallel: true\n  +x: {_pool: warehouse, work>: long}\n  +y: {_pool: {name: warehouse, priority: highest}, work>: long}\n+z: {_pool: warehouse, work>: long}\n")
		a := p.start(1)
		pass(time.Second)
		b := p.start(2, func(r *catalogue.StartRequest) { r.Priority = "high" })
		pass(time.Second)
		_, err = p.HoldPool(t.Context(), ref, false)
		w.must(err)
		want(t, "status", p.end(a)+" "+p.end(b), "error error")
		want(t, "order", fmt.Sprint(order), "[1+g+y 2+g+y 2+z 1+z 1+g+x 2+g+x]")
		order, fails = nil, false
		again, err := p.Rerun(t.Context(), p.row(b), catalogue.RerunRequest{Mode: "failed", RetryName: "again"})
		w.must(err)
		w.must(p.View(t.Context(), p.row(again), func(s *engine.State) { want(t, "priority of a resume", s.Priority(), 1) }))
		want(t, "resume", p.end(again), "success")
		_, err = p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(9, 0), Params: param.New(), Priority: "urgent"})
		if code(err) != host.Invalid {
			t.Errorf("a start with an unknown priority says %v", err)
		}
	})
	inBubble(t, func(w *world) {
		var order []int64
		w.on("long", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			order = append(order, o.AttemptID)
			return lasting(time.Minute)(ctx, o)
		})
		p := w.serve()
		p.push("main.dig", limited("attempts: 1"))
		var last host.Attempt
		for i, word := range []string{"", "low", "", "high"} {
			last, _ = p.another(i, func(r *catalogue.StartRequest) { r.Priority = word })
			pass(time.Second)
		}
		want(t, "last", p.end(last), "success")
		pass(time.Hour)
		want(t, "order of turns", fmt.Sprint(order), "[1 4 3 2]")
		p.push("main.dig", limited("attempts: 1, on_limit: replace"))
		a, _ := p.another(5, func(r *catalogue.StartRequest) { r.Priority = "high" })
		pass(time.Second)
		b, _ := p.another(6)
		want(t, "what is more important is not replaced", p.end(a)+" "+p.end(b), "success success")
	})
}

// TestComputedPriority proves that a computed `_priority` is evaluated in the task that requests slots, that the
// nearest one wins, and that a priority given with the pool takes precedence.
func TestComputedPriority(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var order []string
		w.on("long", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
			order = append(order, fmt.Sprint(o.AttemptID, strings.TrimPrefix(o.TaskName, "+main")))
			return lasting(time.Minute)(ctx, o)
		})
		p := w.serve()
		ref := p.pool(1)
		_, err := p.HoldPool(t.Context(), ref, true)
		w.must(err)
		p.push("main.dig", "zerodag: 1\n_parallel: true\n+g:\n  _priority: '${word}'\n  _parallel: true\n  +x: {_pool: warehouse, work>: long}\n"+
			"  +y: {_priority: normal, _pool: warehouse, work>: long}\n  +z: {_pool: {name: warehouse, priority: lowest}, work>: long}\n")
		var list []host.Attempt
		for i, word := range []string{"low", "highest"} {
			list = append(list, p.start(int64(i+1), func(r *catalogue.StartRequest) { r.Params = param.New("word", word) }))
			pass(time.Second)
		}
		_, err = p.HoldPool(t.Context(), ref, false)
		w.must(err)
		want(t, "status", p.end(list[0])+" "+p.end(list[1]), "success success")
		want(t, "order", fmt.Sprint(order), "[2+g+x 1+g+y 2+g+y 1+g+x 1+g+z 2+g+z]")
	})
}
