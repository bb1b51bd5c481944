package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/node"
	"zerodag/operators"
)

// desk counts the tasks that work at the same time.
type desk struct {
	mu        sync.Mutex
	now, most int
}

func (d *desk) use(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now += n
	d.most = max(d.most, d.now)
}

// busy returns work at a desk that takes the given time.
func (d *desk) busy(long time.Duration) work {
	return func(ctx context.Context, t *operators.Task) (operators.Result, error) {
		d.use(1)
		defer d.use(-1)
		return lasting(long)(ctx, t)
	}
}

func (p *process) pool(slots int64) host.PoolRef {
	p.w.t.Helper()
	ref := host.PoolRef{Name: "warehouse"}
	_, err := p.SetPool(p.w.t.Context(), ref, slots)
	p.w.must(err)
	return ref
}

// wantPool checks how many tasks have slots and how many wait. It reads the store directly, so a process's faults do
// not matter.
func (p *process) wantPool(ref host.PoolRef, taken, waiting int) {
	p.w.t.Helper()
	l, err := p.w.db.Line(p.w.t.Context(), ref, 100)
	p.w.must(err)
	if len(l.Taken) != taken || len(l.Waiting) != waiting {
		p.w.t.Errorf("the pool has %v taken, %v waiting, want %d and %d", l.Taken, l.Waiting, taken, waiting)
	}
}

// three is a workflow of three tasks that need a slot each.
const three = "zerodag: 1\n_parallel: true\n+a: {_pool: warehouse, work>: long}\n+b: {_pool: warehouse, work>: long}\n+c: {_pool: warehouse, work>: long}\n"

// TestPool proves that tasks of several attempts share a pool: no more run at once than there are slots, all of them
// run once, and no slot stays taken.
func TestPool(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("long", d.busy(10*time.Minute))
		p := w.serve()
		ref := p.pool(2)
		a := p.run(three)
		b := p.start(2)
		pass(time.Minute)
		p.wantPool(ref, 2, 4)
		want(t, "status", p.end(a), "success")
		want(t, "status", p.end(b), "success")
		want(t, "at once", d.most, 2)
		want(t, "runs", len(w.ran()), 6)
		want(t, "time", p.row(b).FinishedAt.Sub(a.CreatedAt).Round(time.Minute), 30*time.Minute)
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolPriority proves that the waiting task with the highest priority goes first, that a polling task keeps its
// slots, and that a failed attempt at a task gives them up.
func TestPoolPriority(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var mu sync.Mutex
		var order []string
		note := func(ctx context.Context, task *operators.Task) (operators.Result, error) {
			mu.Lock()
			order = append(order, strings.TrimPrefix(task.TaskName, "+main+"))
			mu.Unlock()
			return lasting(time.Minute)(ctx, task)
		}
		polls, fails := 0, 0
		w.on("note", note)
		w.on("polls", func(ctx context.Context, task *operators.Task) (operators.Result, error) {
			if _, err := note(ctx, task); err != nil || polls > 0 {
				return operators.Result{}, err
			}
			polls++
			return operators.Result{}, &operators.Later{After: time.Hour}
		})
		w.on("fails", func(ctx context.Context, task *operators.Task) (operators.Result, error) {
			if _, err := note(ctx, task); err != nil || fails > 0 {
				return operators.Result{}, err
			}
			fails++
			return operators.Result{}, operators.Failf("no")
		})
		p := w.serve()
		ref := p.pool(1)
		_, err := p.HoldPool(t.Context(), ref, true)
		w.must(err)
		a := p.run("zerodag: 1\n_parallel: true\n+low: {_pool: {name: warehouse, priority: low}, work>: note}\n+fails: {_pool: warehouse, _retry: {limit: 1, interval: 30}, work>: fails}\n" +
			"+high: {_pool: {name: '${\"ware\" + \"house\"}', priority: high}, work>: polls}\n")
		pass(time.Hour)
		want(t, "runs while it is held", len(w.ran()), 0)
		p.wantPool(ref, 0, 3)
		_, err = p.HoldPool(t.Context(), ref, false)
		w.must(err)
		want(t, "status", p.end(a), "success")
		want(t, "order", fmt.Sprint(order), "[high high fails low fails]")
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolKill proves that a kill ends waiting tasks at once, and that their slots go to others.
func TestPoolKill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		ref := p.pool(1)
		a := p.run(three)
		pass(time.Minute)
		b := p.start(2)
		pass(time.Minute)
		p.wantPool(ref, 1, 5)
		_, err := p.Kill(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(time.Second)
		row := p.row(a)
		want(t, "status", row.Status(), "killed")
		p.wantPool(ref, 1, 2)
		want(t, "status", p.end(b), "success")
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolMissing checks what is reported if a task can never get its slots.
func TestPoolMissing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		ref := p.pool(1)
		p.push("main.dig", "zerodag: 1\n+a: {_pool: warehouse, work>: x}\n")
		_, err := p.DeletePool(t.Context(), ref)
		w.must(err)
		a := p.start(1)
		want(t, "status", p.end(a), "error")
		want(t, "error", p.errorOf(a, "+a"), "Pool 'warehouse' does not exist: `zerodag pool set warehouse N` creates it with N slots (config) (<nil>)")
		p.pool(1)
		p.push("main.dig", "zerodag: 1\n+a: {_pool: {name: warehouse, slots: 2}, work>: x}\n")
		b := p.start(2)
		want(t, "status", p.end(b), "error")
		want(t, "runs", len(w.ran()), 0)
		p.wantPool(host.PoolRef{Name: "warehouse"}, 0, 0)
	})
}

// noPools is a store of pools that fails every lookup.
type noPools struct{ pools }

type pools = host.Pools

func (noPools) Pool(context.Context, host.PoolRef) (host.Pool, error) {
	return host.Pool{}, errors.New("asked about a pool")
}

// TestPoolAtPush proves that a project is refused if its tasks name pools that do not exist, no matter where the tasks
// are, and that pools are not looked up for a project that names none.
func TestPoolAtPush(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		refused := func(p *process, files ...string) string {
			_, err := p.Push(t.Context(), catalogue.PushRequest{Project: "p", Revision: "no"}, archive(files...), 1)
			if err == nil {
				return ""
			}
			return err.Error()
		}
		text := "zerodag: 1\n+a:\n  _pool: {name: a, slots: 2}\n  loop>: 2\n  _do: {_pool: b, work>: x}\n+s:\n  switch>: x\n  _cases:\n    x:\n      +y: {_pool: c, work>: x}\n  _default: {_pool: 5, work>: x}\n" +
			"+g:\n  _error: {_pool: d, work>: x}\n  +x: {_pool: '${name}', work>: x}\n+l: {_pool: {name: none, limit: 2}, work>: x}\n+o:\n  http>: x\n  content: {_pool: none}\n"
		other := "zerodag: 1\n_defaults: {_pool: a}\n+x: {work>: x}\n_finally: {_pool: {name: e, wait: 1h}, work>: x}\n"
		var says []string
		for _, one := range []struct{ place, name, task string }{
			{"main.dig:3:11", "a", "+main+a"}, {"main.dig:5:9", "b", "+main+a^sub"}, {"main.dig:10:12", "c", "+main+s^sub+y"}, {"main.dig:11:14", "5", "+main+s^sub"},
			{"main.dig:13:12", "d", "+main+g^error"}, {"other.dig:3:1", "a", "+other+x"}, {"other.dig:4:20", "e", "+other^finally"},
		} {
			says = append(says, fmt.Sprintf("%s: %s (task %s)", one.place, host.NoPool(one.name), one.task))
		}
		want(t, "refused", refused(p, "main.dig", text, "other.dig", other), strings.Join(says, "\n"))
		list, err := p.Projects(t.Context(), host.ProjectQuery{})
		w.must(err)
		want(t, "projects", len(list), 0)
		id := p.push("main.dig", "+a: {work>: x, _pool: old}\n").ID
		for i, name := range []string{"5", "a", "b", "c", "d", "e"} {
			_, err := p.SetPool(t.Context(), host.PoolRef{Project: int64(i%2) * id, Name: name}, 2)
			w.must(err)
		}
		p.push("main.dig", text, "other.dig", other)
		unasked := w.serve(func(o *node.Options) { o.Pools = noPools{w.db} })
		unasked.push("main.dig", "+a: {work>: x, _pool: old}\n", "other.dig", "zerodag: 1\nconcurrency: {attempts: 1}\n+a: {_pool: '${name}', work>: x}\n")
		want(t, "an error of the store", refused(unasked, "main.dig", three), "look up pool warehouse: asked about a pool")
	})
}

// TestPoolOfProject proves that a pool of the project takes precedence over a site pool.
func TestPoolOfProject(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		site := p.pool(5)
		p.push("main.dig", three)
		of := host.PoolRef{Project: p.workflow("main").Project.ID, Name: "warehouse"}
		_, err := p.SetPool(t.Context(), of, 1)
		w.must(err)
		a := p.start(1)
		pass(time.Minute)
		p.wantPool(site, 0, 0)
		p.wantPool(of, 1, 2)
		want(t, "status", p.end(a), "success")
		p.wantPool(of, 0, 0)
	})
}

// TestPoolLimit proves that a pool whose size is in the file exists as soon as a task requests it, one for each
// computed name and only for the project, that another revision changes its size, and that it is removed once it has
// been unused for a while.
func TestPoolLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(10*time.Minute))
		p := w.serve()
		site := p.pool(5)
		flow := func(limit int) string {
			task := fmt.Sprintf("{_pool: {name: 'warehouse', limit: %d}, work>: long}", limit)
			return "zerodag: 1\n_parallel: true\n+a: " + task + "\n+b: " + task + "\n+c: " + task + "\n" +
				"+each:\n  for_each>: {id: [1, 2, 3]}\n  _parallel: true\n  _do: {_pool: {name: 'of-${id}', limit: 1}, work>: long}\n"
		}
		a := p.run(flow(1))
		of := func(name string) host.PoolRef {
			return host.PoolRef{Project: p.workflow("main").Project.ID, Name: host.LimitPool(name)}
		}
		b := p.start(2)
		pass(time.Minute)
		p.wantPool(site, 0, 0)
		p.wantPool(of("warehouse"), 1, 5)
		for _, id := range []string{"1", "2", "3"} {
			p.wantPool(of("of-"+id), 1, 1)
		}
		list, err := p.Pools(t.Context(), host.PoolQuery{})
		w.must(err)
		want(t, "pools that somebody has made", len(list), 1)
		p.push("main.dig", flow(2))
		c := p.start(3)
		pass(time.Second)
		p.wantPool(of("warehouse"), 2, 7)
		for _, x := range []host.Attempt{a, b, c} {
			want(t, "status", p.end(x), "success")
		}
		p.wantPool(of("warehouse"), 0, 0)
		p.push("main.dig", "zerodag: 1\n+a: {_pool: {name: warehouse, slots: '${1 + 2}', limit: 2}, work>: long}\n")
		want(t, "more slots than there are", p.end(p.start(4)), "error")
		pass(25 * time.Hour)
		list, err = w.db.Pools(t.Context(), host.PoolQuery{Site: host.AnySite})
		w.must(err)
		want(t, "pools that are left", len(list), 1)
	})
}

// TestPoolCrashes crashes the server repeatedly, while one pool call in five fails or gets no response: there are never
// more running tasks than slots, all tasks end, and no slot stays taken.
func TestPoolCrashes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{three, strings.ReplaceAll(three, "_pool: warehouse", "_pool: {name: warehouse, limit: 2, wait: 5h}"), strings.ReplaceAll(three, "work>: long", "+x: {work>: long}")} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			poolCrashes(t, text)
		})
	}
}

// poolCrashes is the test for a workflow of three tasks, or groups of one task, that share a pool of two slots.
func poolCrashes(t *testing.T, text string) {
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("long", d.busy(10*time.Minute))
		faulty := faults.New(1, faults.Rates{Refuse: .1, LoseAnswer: .1})
		limits := func(o *node.Options) {
			o.Limits = host.Limits{ReapInterval: time.Minute, Crashes: -1}
			o.Semaphore = faulty.Process().Semaphore(w.db)
		}
		ref := host.PoolRef{Name: "warehouse"}
		_, err := w.db.SetPool(t.Context(), ref, 2, w.now())
		w.must(err)
		p := w.serve(limits)
		a := p.run(text)
		if strings.Contains(text, "limit") {
			ref = host.PoolRef{Project: p.workflow("main").Project.ID, Name: host.LimitPool("warehouse")}
		}
		b := p.start(2)
		for i := range 12 {
			pass(time.Duration(i*37) * time.Second / 3)
			p.crash()
			p = w.serve(limits)
		}
		p.end(a)
		p.end(b)
		want(t, "at once", d.most, 2)
		pass(5 * time.Minute)
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolWait proves that a task that has waited for too long fails and gives up its place in line, that `_error`
// runs, that `wait` does not affect a task that has its slots, and that its next retry starts a new wait.
func TestPoolWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(3*time.Hour))
		tries := 0
		w.on("again", func(ctx context.Context, task *operators.Task) (operators.Result, error) {
			if tries++; tries == 1 {
				return operators.Result{}, operators.Failf("no")
			}
			return lasting(time.Minute)(ctx, task)
		})
		p := w.serve()
		ref := p.pool(1)
		a := p.run("zerodag: 1\n_parallel: true\n+a: {_pool: {name: warehouse, wait: 1h, priority: high}, work>: long}\n" +
			"+b: {_pool: {name: warehouse, wait: 1h}, _ignore_error: true, _error: {work>: told}, work>: never}\n" +
			"+c: {_pool: {name: warehouse, wait: 190m}, _retry: {limit: 1, interval: 60}, work>: again}\n")
		pass(time.Minute)
		p.wantPool(ref, 1, 2)
		pass(time.Hour)
		p.wantPool(ref, 1, 1)
		want(t, "error", p.errorOf(a, "+b"), "waited 1h for pool warehouse (wait)")
		want(t, "status", p.end(a), "success")
		want(t, "runs", strings.Join(w.ran(), " "), "+main+a/3 +main+b^error/1 +main+c/3 +main+c/6")
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolWaitRace proves that if slots become free at the exact moment at which a task has waited for too long, and
// either of two servers handles the message that grants them or the message of the deadline, the task either runs once
// or fails, and no slot stays taken.
func TestPoolWaitRace(t *testing.T) {
	t.Parallel()
	ran := map[int]bool{}
	for off := -2; off <= 2; off++ {
		inBubble(t, func(w *world) {
			w.on("long", lasting(time.Hour+time.Duration(off)*time.Second))
			list := w.several(node.Parts{Executor: true, Agent: true}, node.Parts{Executor: true, Agent: true})
			p := list[0]
			ref := p.pool(1)
			a := p.run("zerodag: 1\n_parallel: true\n+a: {_pool: {name: warehouse, priority: high}, work>: long}\n+b: {_pool: {name: warehouse, wait: 1h}, _ignore_error: true, work>: x}\n")
			want(t, "status", p.end(a), "success")
			ran[off] = len(w.ran()) == 2
			want(t, "it has run or failed", ran[off], p.errorOf(a, "+b") == "")
			p.wantPool(ref, 0, 0)
		})
	}
	want(t, "well before and well after", fmt.Sprint(ran[-2], ran[2]), "true false")
}

// TestPoolWaitCrash proves that a wait continues while no server is running, and that the next server ends a wait whose
// time has passed.
func TestPoolWaitCrash(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{10 * time.Minute, 3 * time.Hour} {
		inBubble(t, func(w *world) {
			ref := host.PoolRef{Name: "warehouse"}
			p := w.serve()
			p.pool(1)
			_, err := p.HoldPool(t.Context(), ref, true)
			w.must(err)
			a := p.run("zerodag: 1\n+a: {_pool: {name: warehouse, wait: 2h}, work>: x}\n")
			pass(30 * time.Minute)
			p.crash()
			pass(away)
			p = w.serve()
			want(t, "status", p.end(a), "error")
			want(t, "error", p.errorOf(a, "+a"), "waited 2h for pool warehouse (wait)")
			late := p.row(a).FinishedAt.Sub(a.CreatedAt) - max(2*time.Hour, away+30*time.Minute)
			want(t, "late by less than the lease of a message", late >= 0 && late < 6*time.Minute, true)
			pass(2 * time.Minute)
			p.wantPool(ref, 0, 0)
		})
	}
}

// TestPoolCheck proves that a check finds a slot whose task has ended, and a slot that was freed without waking the
// next task.
func TestPoolCheck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		ref := p.pool(1)
		a := p.run("zerodag: 1\n+a: {_pool: warehouse, work>: x}\n")
		want(t, "status", p.end(a), "success")
		left := host.Claim{Holder: host.Holder{Attempt: a.ID, Task: 2, Try: 1}.String(), Slots: 1}
		w.must(w.db.TakeSlots(t.Context(), ref, left, []int{0}, false, w.now()))
		b := p.start(2)
		pass(time.Second)
		p.wantPool(ref, 1, 1)
		want(t, "status", p.end(b), "success")
		want(t, "it took at most three minutes", p.row(b).FinishedAt.Sub(b.CreatedAt) < 3*time.Minute, true)
		p.wantPool(ref, 0, 0)
	})
}

// crossed is a workflow whose tasks need slots of two pools, in either order.
const crossed = `zerodag: 1
_parallel: true
+a: {_pool: [warehouse, api], work>: long}
+b: {_pool: [api, warehouse], work>: long}
+c: {_pool: [{name: warehouse, wait: 5h}, {name: lake, limit: 1}, api], work>: long}
+d: {_pool: warehouse, work>: long}
`

// TestPoolList proves that tasks that need slots of several pools, named in any order, all get them, no more at once
// than each pool allows, and that no slot stays taken. The same holds if the server dies repeatedly and one pool call
// in five fails, though a task may then fail because it was lost too often.
func TestPoolList(t *testing.T) {
	t.Parallel()
	for _, crashes := range []int{0, 14} {
		inBubble(t, func(w *world) {
			d := &desk{}
			w.on("long", d.busy(3*time.Minute))
			rates := faults.Rates{Refuse: .1, LoseAnswer: .1}
			if crashes == 0 {
				rates = faults.Rates{}
			}
			faulty := faults.New(1, rates)
			limits := func(o *node.Options) {
				o.Limits = host.Limits{ReapInterval: time.Minute, Crashes: -1}
				o.Semaphore = faulty.Process().Semaphore(w.db)
			}
			warehouse, api := host.PoolRef{Name: "warehouse"}, host.PoolRef{Name: "api"}
			for _, ref := range []host.PoolRef{warehouse, api} {
				_, err := w.db.SetPool(t.Context(), ref, 1, w.now())
				w.must(err)
			}
			p := w.serve(limits)
			list := []host.Attempt{p.run(crossed), p.start(2), p.start(3)}
			if crashes == 0 {
				pass(time.Minute)
				p.wantPool(api, 1, 8)
				p.wantPool(warehouse, 1, 3)
			}
			for i := range crashes {
				pass(time.Duration(i*41) * time.Second / 3)
				p.crash()
				p = w.serve(limits)
			}
			for _, a := range list {
				if status := p.end(a); crashes == 0 {
					want(t, "status", status, "success")
				}
			}
			want(t, "at once", d.most, 1)
			if crashes == 0 {
				want(t, "runs", len(w.ran()), 12)
			}
			pass(5 * time.Minute)
			p.wantPool(warehouse, 0, 0)
			p.wantPool(api, 0, 0)
			p.wantPool(host.PoolRef{Project: p.workflow("main").Project.ID, Name: host.LimitPool("lake")}, 0, 0)
		})
	}
}

// TestPoolListGoes proves that a task that has slots of one pool and waits for another leaves both pools when it is
// killed, is paused, or has waited for too long, and that a slot that it left behind is found.
func TestPoolListGoes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(time.Minute))
		p := w.serve()
		ref, api := p.pool(1), host.PoolRef{Name: "api"}
		_, err := p.SetPool(t.Context(), api, 1)
		w.must(err)
		_, err = p.HoldPool(t.Context(), ref, true)
		w.must(err)
		a := p.run("zerodag: 1\n+a: {_pool: [{name: warehouse, wait: 2h}, api], work>: long}\n")
		pass(time.Minute)
		p.wantPool(api, 1, 0)
		p.wantPool(ref, 0, 1)
		_, err = p.Pause(t.Context(), a.Site, a.ID, "alice", "")
		w.must(err)
		pass(time.Minute)
		p.wantPool(api, 0, 0)
		p.wantPool(ref, 0, 0)
		_, err = p.Unpause(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(110 * time.Minute)
		p.wantPool(api, 1, 0)
		p.wantPool(ref, 0, 1)
		pass(11 * time.Minute)
		want(t, "error", p.errorOf(a, "+a"), "waited 2h for pool warehouse (wait)")
		p.wantPool(api, 0, 0)
		p.wantPool(ref, 0, 0)
		b := p.start(2)
		pass(time.Minute)
		p.wantPool(api, 1, 0)
		left := host.Claim{Holder: host.Holder{Attempt: b.ID, Task: 2, Try: 1}.String(), Slots: 1}
		w.must(w.db.TakeSlots(t.Context(), ref, left, []int{0}, false, w.now()))
		_, err = p.Kill(t.Context(), b.Site, b.ID)
		w.must(err)
		pass(time.Second)
		p.wantPool(api, 0, 0)
		p.wantPool(ref, 0, 0)
	})
}

// grouped is a workflow in which a group of tasks has slots.
const grouped = `zerodag: 1
+before: {work>: w}
+g:
  _pool: [warehouse, api]
  _finally: {work>: last}
  +a: {work>: long}
  +b: {work>: long}
  +c: {_pool: zoo, work>: long}
`

// TestPoolGroup proves that a group has its slots from before its first task to the end of its last one, and not for
// its `_finally`; that two such groups never overlap; that after a kill the next group gets the slots when the tasks
// below the killed one have ended; and that no slot stays taken.
func TestPoolGroup(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("long", d.busy(10*time.Minute))
		w.on("last", lasting(time.Hour))
		p := w.serve()
		ref, api := p.pool(1), host.PoolRef{Name: "api"}
		_, err := p.SetPool(t.Context(), api, 2)
		w.must(err)
		_, err = p.SetPool(t.Context(), host.PoolRef{Name: "zoo"}, 1)
		w.must(err)
		a := p.run(grouped)
		pass(time.Second)
		b := p.start(2)
		pass(time.Second)
		c := p.start(3)
		pass(15 * time.Minute)
		want(t, "so far", strings.Join(w.ran(), " "), "+main+before/1 +main+g+a/1 +main+before/1 +main+before/1 +main+g+b/1")
		p.wantPool(api, 2, 1) // the second one waits for the warehouse, the third one for the api
		p.wantPool(ref, 1, 1)
		w.must(p.View(t.Context(), p.row(b), func(s *engine.State) {
			want(t, "the group waits", s.Task(3).Name+" "+s.Task(3).Pool.Asked().Name, "+main+g warehouse")
		}))
		_, err = p.Kill(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(20 * time.Minute)
		p.wantPool(ref, 1, 1)
		pass(12 * time.Minute)
		p.wantPool(ref, 1, 0) // while the `_finally` of the first and of the second one run
		want(t, "status", p.end(a)+" "+p.end(b)+" "+p.end(c), "killed success success")
		want(t, "at once", d.most, 1)
		p.wantPool(ref, 0, 0)
		p.wantPool(api, 0, 0)
	})
}

// TestPoolGroupRounds proves that a group that is retried gives up its slots between two retries, that a group that has
// waited for too long fails as a whole, that a pause takes it out of the line, and that a server that takes over finds
// it in its place in line.
func TestPoolGroupRounds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		fails := 0
		w.on("fails", func(context.Context, *operators.Task) (operators.Result, error) {
			if fails++; fails < 3 {
				return operators.Result{}, operators.Failf("no")
			}
			return operators.Result{}, nil
		})
		p := w.serve()
		ref := p.pool(1)
		a := p.run("zerodag: 1\n+g: {_pool: {name: warehouse, wait: 2h}, _retry: {limit: 2, interval: 3600}, +a: {work>: x}, +b: {work>: fails}}\n")
		pass(time.Minute)
		p.wantPool(ref, 0, 0)
		_, err := p.HoldPool(t.Context(), ref, true)
		w.must(err)
		pass(time.Hour)
		p.wantPool(ref, 0, 1)
		want(t, "first round", strings.Join(w.ran(), " "), "+main+g+a/1 +main+g+b/1")
		_, err = p.Pause(t.Context(), a.Site, a.ID, "alice", "")
		w.must(err)
		pass(time.Hour)
		p.wantPool(ref, 0, 0)
		_, err = p.Unpause(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(time.Minute)
		p.crash()
		p = w.serve()
		pass(time.Hour)
		p.wantPool(ref, 0, 1)
		_, err = p.HoldPool(t.Context(), ref, false)
		w.must(err)
		want(t, "status", p.end(a), "success")
		want(t, "three rounds", len(w.ran()), 6)
		_, err = p.HoldPool(t.Context(), ref, true)
		w.must(err)
		b := p.start(2)
		pass(time.Hour)
		p.wantPool(ref, 0, 1)
		want(t, "status", p.end(b), "error")
		want(t, "error", p.errorOf(b, "+g"), "waited 2h for pool warehouse (wait)")
		want(t, "rounds", len(w.ran()), 6)
		p.wantPool(ref, 0, 0)
	})
}

// TestPoolOfFile proves that an attempt has slots of `_pool` at the top of its file from before its first task to its
// end, requests them when it has its turn (`concurrency`) and not before, and that an attempt that is killed while it
// waits runs nothing.
func TestPoolOfFile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := &desk{}
		w.on("long", d.busy(10*time.Minute))
		p := w.serve()
		ref := p.pool(1)
		a := p.run("zerodag: 1\n_pool: warehouse\nconcurrency: {attempts: 2, tasks: 1}\n+a: {work>: long}\n+b: {work>: long}\n")
		pass(time.Second)
		b := p.start(2)
		pass(time.Second)
		c := p.start(3)
		pass(time.Minute)
		p.wantPool(ref, 1, 1) // the third one waits for its turn
		_, err := p.Kill(t.Context(), b.Site, b.ID)
		w.must(err)
		want(t, "status", p.end(b), "killed")
		p.wantPool(ref, 1, 1)
		want(t, "status", p.end(a)+" "+p.end(c), "success success")
		want(t, "at once", d.most, 1)
		want(t, "runs", len(w.ran()), 4)
		p.wantPool(ref, 0, 0)
	})
}

// stormOfPools is a workflow whose tasks share two pools; the attempt has slots of a third one, and task 2 is a group
// that has slots.
const stormOfPools = `zerodag: 1
_pool: aa
_parallel: true
+k:
  _pool: api
  _retry: 2
  +x: {_pool: {name: warehouse, slots: 2}, work>: grouped}
  +y: {work>: grouped}
  +z: {_pool: {name: warehouse, wait: 20s}, _ignore_error: true, work>: fails}
+a: {_pool: warehouse, work>: slow}
+b: {_pool: {name: warehouse, slots: 2}, work>: later}
+c: {_pool: {name: warehouse, slots: 3, priority: high}, _retry: 3, work>: fails}
+d: {_pool: api, work>: w}
+f: {_pool: {name: warehouse, wait: 20s}, _ignore_error: true, work>: slow}
+h: {_pool: {name: "of-${1 + 1}", slots: 2, limit: 2}, work>: slow}
+i: {_pool: [{name: warehouse, slots: 2}, {name: "of-${1 + 1}", limit: 2}, api], _retry: 2, work>: two}
+j: {_pool: [api, {name: warehouse, wait: 30s}], _ignore_error: true, work>: two}
+e:
  loop>: 2
  _do:
    _parallel: true
    +x: {_pool: api, work>: w}
    +y: {_pool: warehouse, echo>: x}
`

// TestStormOfPools proves that hosts over a store that fails, with messages that are lost, duplicated and reordered and
// processes that crash, bring every attempt to its end, that no task runs before it has its slots, and that no slot is
// lost.
func TestStormOfPools(t *testing.T) {
	t.Parallel()
	first, runs := setting("SEED", 1), min(setting("RUNS", 6), 200)
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprint("SEED=", seed), func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.on("w", w.withSlots("api"))
				w.on("fails", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					if r, err := w.withSlots("warehouse")(ctx, o); o.RetryCount > 1 {
						return r, err
					}
					return operators.Result{}, operators.Failf("no")
				})
				w.on("two", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					r, err := w.withSlots("api")(ctx, o)
					if err == nil {
						r, err = w.withSlots("warehouse")(ctx, o)
					}
					return r, err
				})
				w.on("grouped", func(ctx context.Context, o *operators.Task) (operators.Result, error) {
					for task, pool := range map[int64]string{1: "aa", 2: "api"} {
						whole := *o
						whole.TaskID = task
						if r, err := w.withSlots(pool)(ctx, &whole); err != nil {
							return r, err
						}
					}
					return operators.Result{}, nil
				})
				for name, slots := range map[string]int{"warehouse": 3, "api": 2, "aa": 2} {
					_, err := w.db.SetPool(t.Context(), host.PoolRef{Name: name}, slots, w.now())
					w.must(err)
				}
				w.storm(uint64(seed), stormOfPools)
				p := w.serve()
				pass(20 * time.Minute) // the check finds what crashes left
				for _, name := range []string{"warehouse", "api", "aa"} {
					p.wantPool(host.PoolRef{Name: name}, 0, 0)
				}
				p.wantPool(host.PoolRef{Project: p.workflow("main").Project.ID, Name: host.LimitPool("of-2")}, 0, 0)
			})
		})
	}
}

// withSlots is work that checks whether its task has slots of a pool.
func (w *world) withSlots(name string) work {
	return func(ctx context.Context, t *operators.Task) (operators.Result, error) {
		l, err := w.db.Line(ctx, host.PoolRef{Name: name}, 0)
		if err != nil {
			return operators.Result{}, err
		}
		for _, s := range l.Taken {
			if strings.HasPrefix(s.Holder, fmt.Sprintf("%d/%d/", t.AttemptID, t.TaskID)) {
				return operators.Result{}, nil
			}
		}
		w.t.Errorf("task %s of attempt %d runs without slots: %v", t.TaskName, t.AttemptID, l.Taken)
		return operators.Result{}, nil
	}
}
