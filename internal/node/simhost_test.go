package node_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest"
	"zerodag/engine/enginetest/draw"
	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

func (s *sim) open() *simProcess {
	p := &simProcess{skew: time.Duration(s.random.IntN(3)-1) * 700 * time.Millisecond}
	registry := operators.NewRegistry(
		operators.Operator{Name: "echo", Inline: true, Run: s.inline},
		operators.Operator{Name: "notify", Run: s.notify},
		operators.Operator{Name: "fail", Inline: true, Run: func(context.Context, *operators.Task) (operators.Result, error) {
			return operators.Result{}, operators.Failf("late")
		}},
		operators.Operator{Name: "work", Retries: true, Run: s.work})
	pause := func(ctx context.Context, d time.Duration) {
		s.yield(ctx.Value(coroutineKey{}).(*coroutine), false, s.now.Add(d))
	}
	var inventory host.Inventory
	if s.rates.phantom > 0 {
		inventory = s.store
	}
	p.Node = node.New(node.Options{
		Ports: host.Ports{
			Log:       s.store,
			Inventory: inventory,
			Events:    s.store.queues["events"],
			Tasks:     s.store.queues["tasks"],
			Attempts:  s.store,
			Sessions:  simSessions{st: s.store},
			Workflows: simWorkflows{st: s.store},
			Projects:  simProjects{},
			Schedules: simSchedules{st: s.store},
			Now:       func() time.Time { return s.wall().Add(p.skew) },
			Limits:    host.Limits{ProcessTime: s.life(), Lease: simLease, Heartbeat: 1000 * time.Hour, AttemptTTL: 3 * time.Hour, Attempts: 1000},
		},
		Runtime: host.Runtime{
			Registry:  registry,
			Evaluator: evaluator.InProcess(nil),
			Workspace: func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
				return host.Workspace{Leave: func() {}}, nil
			},
		},
		Pause: pause,
	})
	return p
}

// wall returns the time on the machines' clocks.
func (s *sim) wall() time.Time { return s.now.Add(s.set) }

// setClocks sets the clocks of all machines. Relative waits are not delayed by that (see host.Message.Relative); leases
// and releases are independent of it.
func (s *sim) setClocks(to time.Duration) {
	by := to - s.set
	s.set, s.before = to, s.number
	s.note("clocks are set by %v", by)
	for _, q := range s.store.queues {
		for _, m := range q.list {
			if m.due.After(s.now) && (by > 0 || !m.Relative) {
				m.due = m.due.Add(-by)
			}
		}
	}
}

// choose makes random choices for one run, the same ones each time.
func (s *sim) choose(id operators.Identity) draw.Choose {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", id.AttemptID, id.TaskName, id.Dispatch)
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	return func(_ string, n int) int { return r.IntN(n) }
}

func (s *sim) inline(_ context.Context, t *operators.Task) (operators.Result, error) {
	return s.ending(t, 1)
}

func (*sim) notify(context.Context, *operators.Task) (operators.Result, error) {
	return operators.Result{}, nil
}

// work takes some time, checks whether it should run at all, and ends with a random outcome.
func (s *sim) work(ctx context.Context, t *operators.Task) (operators.Result, error) {
	c := ctx.Value(coroutineKey{}).(*coroutine)
	run := fmt.Sprintf("%d/%d.%d", t.AttemptID, t.TaskID, t.Dispatch)
	s.note("%s: runs %s", c.name, run)
	s.runs[run]++
	s.checkRun(t)
	s.yield(c, false, s.now.Add(time.Duration(s.choose(t.Identity)("seconds", 300))*time.Second))
	s.note("%s: ran %s", c.name, run)
	if ctx.Err() != nil {
		return operators.Result{}, ctx.Err()
	}
	return s.ending(t, 2)
}

// checkRun fails unless the log ordered this run and all tasks before it have ended.
func (s *sim) checkRun(t *operators.Task) {
	state := s.store.truth[t.AttemptID]
	task := state.Task(engine.TaskID(t.TaskID))
	switch {
	case (task == nil || task.Dispatch < t.Dispatch) && s.phantoms > 0:
		return // the entry that ordered it was lost
	case task == nil || task.Dispatch < t.Dispatch:
		s.fail("run %d of task %d of attempt %d was not in the log when it began", t.Dispatch, t.TaskID, t.AttemptID)
		return
	case state.Canceled() && !state.Closes(task.ID) && task.Dispatch == t.Dispatch && len(s.processes) == 1:
		s.fail("task %d of attempt %d runs after a kill", t.TaskID, t.AttemptID)
	}
	for _, id := range task.Upstreams {
		if up := state.Task(id); up.State != engine.Success {
			s.fail("task %d of attempt %d runs before %d, which is %v", t.TaskID, t.AttemptID, id, up.State)
		}
	}
	if parent := state.Task(task.Parent); parent != nil && parent.State != engine.Planned && parent.State != engine.Success && task.Dispatch == t.Dispatch && task.State == engine.Running {
		s.fail("task %d of attempt %d runs in a parent that is %v", t.TaskID, t.AttemptID, parent.State)
	}
}

func (s *sim) ending(t *operators.Task, depth int) (operators.Result, error) {
	choose := s.choose(t.Identity)
	switch n := choose("ending", 20); {
	case n < 3:
		return operators.Result{}, operators.Failf("e%d", n)
	case n < 6 && t.RetryCount < 4:
		return operators.Result{}, &operators.Later{After: time.Duration(choose("after", 4)) * 20 * time.Second}
	}
	o := choose.Outcome(depth - 1)
	if t.TaskID > 120 {
		o.Subtasks = nil
	} else if o.Subtasks != nil {
		o.Subtasks = s.mixed(o.Subtasks, choose)
	} else if depth == 2 && choose("large", 150) == 0 {
		o.Subtasks = s.mixed(enginetest.Loop(190+choose("rounds", 300), true), choose)
	}
	return operators.Result{Subtasks: o.Subtasks, Export: o.Exports, Store: o.Stores, ResetStore: o.ResetStore}, nil
}

// mixed makes half the tasks in a generated tree do I/O.
func (s *sim) mixed(m *param.Map, choose draw.Choose) *param.Map {
	out := param.New()
	for k, v := range m.All() {
		switch x := v.(type) {
		case *param.Map:
			out.Set(k, s.mixed(x, choose))
		default:
			if k == "echo>" && choose("work", 2) == 0 {
				k = "work>"
			}
			out.Set(k, v)
		}
	}
	return out
}

// define creates the workflows: a random one, one with `zerodag: 1` and tasks that a kill spares, and one with a
// schedule.
func (s *sim) define() error {
	choose := draw.Choose(func(_ string, n int) int { return s.random.IntN(n) })
	for id := int64(1); id <= 3; id++ {
		config := choose.Workflow()
		if id == 2 {
			config = choose.Closings(config)
		}
		config = s.mixed(config, choose)
		if id == 3 {
			config.Set("schedule", param.New("minutes_interval>", int64(10)))
		}
		w, err := dig.Define(fmt.Sprint("w", id), config)
		if err != nil {
			return err
		}
		if s.store.compiled[id], err = engine.Define(w); err != nil {
			return err
		}
		s.store.defs[id] = host.Workflow{ID: id, Project: host.Ref{ID: 1, Name: "p"}, Name: w.Name, Zone: "UTC", Config: w.Config}
	}
	first := s.now.Truncate(10 * time.Minute).Add(10 * time.Minute)
	s.store.schedules = []host.Schedule{{ID: 1, Project: host.Ref{ID: 1, Name: "p"}, Workflow: host.Ref{ID: 3, Name: "w3"}, Times: host.Times{Run: first, Session: first}}}
	return nil
}
