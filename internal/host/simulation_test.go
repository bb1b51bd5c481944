package host_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest"
	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// sim runs two hosts over one store, one step of one of them at a time, as a seed has it.
// Each call of the store is a place where others come in between, where the call may fail,
// win and be told that it failed, or be the last one of its process.
type sim struct {
	seed       uint64
	random     *rand.Rand
	rates      simRates
	now        time.Time
	store      *simStore
	processes  []*simProcess
	coroutines []*coroutine
	number     int
	turn       chan struct{}
	trace      []string
	failures   []string
	healed     bool

	results map[string]int // that count, by run
	runs    map[string]int // of operators with I/O, by run
	losses  int
	killed  map[int64]bool // kills that were acknowledged before the end
	started []int64        // attempts that were acknowledged
}

// simRates say how often what goes wrong, in a thousand.
type simRates struct {
	refuse, loseAnswer, conflict int
	crash, drop, duplicate, lose int
}

// calm rates lose nothing that a process has in its hands.
var calm = simRates{refuse: 20, loseAnswer: 20, conflict: 30}

var stormy = simRates{refuse: 20, loseAnswer: 20, conflict: 30, crash: 8, drop: 30, duplicate: 30, lose: 60}

// simProcess is one life of a process.
type simProcess struct {
	*host.Host
	skew time.Duration
	dead bool
}

// coroutine is one thing that a process does. It runs only while the simulation waits
// for it.
type coroutine struct {
	number  int
	name    string
	process *simProcess
	attempt int64
	resume  chan struct{}
	locked  bool // it holds the attempt's lock
	wake    time.Time
	over    bool
	cancel  context.CancelFunc
}

type coroutineKey struct{}

// call is a call of the store under the attempt's lock; callFree one without.
func (s *sim) call(ctx context.Context, name string, do func() error) error {
	return s.at(ctx, name, true, do)
}

func (s *sim) callFree(ctx context.Context, name string, do func() error) error {
	return s.at(ctx, name, false, do)
}

func (s *sim) at(ctx context.Context, name string, locked bool, do func() error) error {
	c := ctx.Value(coroutineKey{}).(*coroutine)
	s.yield(c, locked && c.attempt != 0, time.Time{})
	s.note("%s: %s", c.name, name)
	switch {
	case s.hit(s.rates.crash):
		s.crash(c.process, "before "+name)
	case s.hit(s.rates.refuse):
		return fmt.Errorf("refused: %w", host.ErrUnavailable)
	case strings.HasPrefix(name, "append") && s.hit(s.rates.conflict):
		return host.ErrConflict
	}
	err := do()
	switch {
	case s.hit(s.rates.crash):
		s.crash(c.process, "after "+name)
	case err == nil && s.hit(s.rates.loseAnswer):
		return fmt.Errorf("answer lost: %w", host.ErrUnavailable)
	}
	return err
}

func (s *sim) hit(rate int) bool { return !s.healed && s.random.IntN(1000) < rate }

func (s *sim) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("%s ", s.now.Format("04:05"))+fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) {
	s.note("FAILED: "+format, args...)
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

// yield lets others come. In a process that has crashed nothing comes after it.
func (s *sim) yield(c *coroutine, locked bool, wake time.Time) {
	c.locked, c.wake = locked, wake
	s.turn <- struct{}{}
	<-c.resume
	if c.process.dead {
		runtime.Goexit()
	}
}

// crash ends a process; the caller is part of it.
func (s *sim) crash(p *simProcess, when string) {
	s.note("crash %s", when)
	p.dead = true
	runtime.Goexit()
}

func (s *sim) spawn(p *simProcess, name string, attempt int64, do func(context.Context)) *coroutine {
	s.number++
	c := &coroutine{number: s.number, name: fmt.Sprintf("%d %s", s.number, name), process: p, attempt: attempt, resume: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), coroutineKey{}, c))
	c.cancel = cancel
	s.coroutines = append(s.coroutines, c)
	go func() {
		defer func() {
			c.over = true
			s.turn <- struct{}{}
		}()
		<-c.resume
		if !p.dead {
			do(ctx)
		}
	}()
	return c
}

// step resumes a coroutine until it yields.
func (s *sim) step(c *coroutine) {
	c.resume <- struct{}{}
	<-s.turn
	if c.over {
		c.cancel()
		s.coroutines = slices.DeleteFunc(s.coroutines, func(x *coroutine) bool { return x == c })
	}
}

// runnable lists the coroutines that can go on: nobody else has their attempt's lock.
func (s *sim) runnable() []*coroutine {
	type place struct {
		p *simProcess
		a int64
	}
	locked := map[place]*coroutine{}
	for _, c := range s.coroutines {
		if c.locked {
			locked[place{c.process, c.attempt}] = c
		}
	}
	var list []*coroutine
	for _, c := range s.coroutines {
		holder := locked[place{c.process, c.attempt}]
		if (holder == nil || holder == c) && !c.wake.After(s.now) || c.process.dead {
			list = append(list, c)
		}
	}
	return list
}

// bury restarts processes that crashed, once nothing of them is left.
func (s *sim) bury() {
	for i, p := range s.processes {
		if !p.dead {
			continue
		}
		for _, c := range slices.Clone(s.coroutines) {
			if c.process == p {
				s.step(c)
			}
		}
		s.processes[i] = s.open()
	}
}

func (s *sim) open() *simProcess {
	p := &simProcess{skew: time.Duration(s.random.IntN(3)-1) * 700 * time.Millisecond}
	registry := operators.NewRegistry(
		operators.Operator{Name: "echo", Inline: true, Run: s.inline},
		operators.Operator{Name: "notify", Run: s.notify},
		operators.Operator{Name: "fail", Inline: true, Run: func(context.Context, *operators.Task) (operators.Result, error) {
			return operators.Result{}, operators.Failf("late")
		}},
		operators.Operator{Name: "work", Retries: true, Run: s.work})
	p.Host = host.New(host.Options{Log: s.store, Events: s.store.queues["events"], Tasks: s.store.queues["tasks"], Attempts: s.store,
		Sessions: simSessions{st: s.store}, Workflows: simWorkflows{st: s.store}, Projects: simProjects{}, Schedules: simSchedules{st: s.store},
		Registry: registry, Evaluator: func() operators.Evaluator { return expr.New(expr.Options{}) },
		Workspace: func(context.Context, operators.Identity, host.Workflow) (host.Workspace, error) {
			return host.Workspace{Leave: func() {}}, nil
		},
		Now: func() time.Time { return s.now.Add(p.skew) }, Limits: host.Limits{Lease: simLease, Heartbeat: 1000 * time.Hour, AttemptTTL: 3 * time.Hour, Attempts: 1000}})
	p.SetPause(func(ctx context.Context, d time.Duration) {
		s.yield(ctx.Value(coroutineKey{}).(*coroutine), false, s.now.Add(d))
	})
	return p
}

// choose is random in the way of one run: the same each time that it is asked.
func (s *sim) choose(id operators.Identity) enginetest.Choose {
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

// work takes a time, looks whether it should run at all, and ends in some way.
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

// checkRun says that the log ordered this run and that nothing before the task is open.
func (s *sim) checkRun(t *operators.Task) {
	state := s.store.truth[t.AttemptID]
	task := state.Task(engine.TaskID(t.TaskID))
	switch {
	case task == nil || task.Dispatch < t.Dispatch:
		s.fail("run %d of task %d of attempt %d was not in the log when it began", t.Dispatch, t.TaskID, t.AttemptID)
		return
	case state.Canceled() && task.Dispatch == t.Dispatch && len(s.processes) == 1:
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

// mixed makes half of the tasks of a generated tree such that do I/O.
func (s *sim) mixed(m *param.Map, choose enginetest.Choose) *param.Map {
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

// define makes the workflows: two at random, and one with a schedule.
func (s *sim) define() error {
	choose := enginetest.Choose(func(_ string, n int) int { return s.random.IntN(n) })
	for id := int64(1); id <= 3; id++ {
		config := s.mixed(choose.Workflow(), choose)
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

func newSim(seed uint64, rates simRates, processes int) (*sim, error) {
	s := &sim{seed: seed, random: rand.New(rand.NewPCG(seed, 1)), rates: rates, now: time.Date(2026, 1, 1, 0, 3, 0, 0, time.UTC), turn: make(chan struct{}),
		results: map[string]int{}, runs: map[string]int{}, killed: map[int64]bool{}}
	s.store = &simStore{sim: s, defs: map[int64]host.Workflow{}, compiled: map[int64]*engine.Definition{}, logs: map[int64][]host.Entry{},
		truth: map[int64]*engine.State{}, archives: map[int64][]byte{}, queues: map[string]*simQueue{}}
	for _, name := range []string{"events", "tasks"} {
		s.store.queues[name] = &simQueue{simStore: s.store, name: name}
	}
	for range processes {
		s.processes = append(s.processes, s.open())
	}
	return s, s.define()
}

// run lets the simulation come to its end, and checks what must hold then.
func (s *sim) run() {
	for steps := 0; ; steps++ {
		if steps == 3000 {
			s.note("healed")
			s.healed = true
		}
		s.bury()
		if len(s.failures) > 0 {
			break
		}
		if s.healed && s.idle() && !s.waits() {
			break
		}
		if steps > 60_000 {
			s.fail("it does not end")
			break
		}
		s.act()
	}
	for _, p := range s.processes {
		p.dead = true
	}
	for len(s.coroutines) > 0 {
		s.step(s.coroutines[0])
	}
	if len(s.failures) == 0 {
		s.checkAll()
	}
}

func (s *sim) waits() bool {
	return slices.ContainsFunc(s.store.rows, func(a *host.Attempt) bool { return !a.Done })
}

func (s *sim) idle() bool {
	return len(s.coroutines) == 0 && len(s.store.queues["events"].list)+len(s.store.queues["tasks"].list) == 0
}

// act does one thing of those that can happen now.
func (s *sim) act() {
	if n := s.random.IntN(400); n < 12 && !s.healed {
		s.disturb(n)
		return
	}
	if s.random.IntN(60) == 0 {
		s.spawn(s.any(), "reap", 0, func(ctx context.Context) { ctx.Value(coroutineKey{}).(*coroutine).process.Reap(ctx) })
		return
	}
	can := s.runnable()
	ready := [2][]*simMessage{s.store.queues["events"].ready(), s.store.queues["tasks"].ready()}
	n := len(can) + len(ready[0]) + len(ready[1])
	if n == 0 || s.random.IntN(10) == 0 {
		s.pass(n == 0)
		return
	}
	switch n = s.random.IntN(n); {
	case n < len(can):
		s.step(can[n])
	case n-len(can) < len(ready[0]):
		s.deliver(s.store.queues["events"], ready[0][n-len(can)])
	default:
		s.deliver(s.store.queues["tasks"], ready[1][n-len(can)-len(ready[0])])
	}
}

// pass lets time pass: to the next thing that is due, or a second.
func (s *sim) pass(needed bool) {
	next := s.store.nextTime()
	if !needed || next.IsZero() || next.Sub(s.now) < time.Second {
		next = s.now.Add(time.Second)
	}
	s.now = next
	for _, x := range s.store.schedules {
		if !x.Times.Run.After(s.now) && !s.healed && len(s.store.rows) < 15 {
			p := s.any()
			s.spawn(p, "fire", 0, func(ctx context.Context) { p.Fire(ctx, x) })
		}
	}
}

func (s *sim) any() *simProcess { return s.processes[s.random.IntN(len(s.processes))] }

// disturb is something from outside.
func (s *sim) disturb(n int) {
	p := s.any()
	switch {
	case n == 0 && s.rates.crash > 0:
		s.note("crash from outside")
		p.dead = true
	case n < 3 && len(s.started) > 0:
		id := s.started[s.random.IntN(len(s.started))]
		s.spawn(p, "kill", 0, func(ctx context.Context) {
			over := s.store.row(id).Done
			if _, err := p.Kill(ctx, 0, id); err == nil && !over && !s.store.truth[id].Ended() {
				s.killed[id] = true
			}
		})
	case n < 10 && len(s.store.rows) < 12:
		name, session := strconv.Itoa(s.random.IntN(3)), time.Unix(int64(s.random.IntN(3))*86400, 0).UTC()
		workflow := int64(1 + s.random.IntN(2))
		s.spawn(p, "api", 0, func(ctx context.Context) {
			a, err := p.Start(ctx, host.StartRequest{Workflow: workflow, SessionTime: session, RetryName: name})
			if err == nil {
				s.started = append(s.started, a.ID)
			}
		})
	}
}

const simLease = 90 * time.Second

// deliver hands a message to a process.
func (s *sim) deliver(q *simQueue, m *simMessage) {
	p := s.any()
	m.count++
	m.lease++
	m.until = s.now.Add(simLease)
	m.sure = !s.hit(s.rates.lose)
	d := host.Delivery{Message: m.Message, Receipt: strconv.Itoa(m.lease), Count: m.count}
	d.Due = m.due
	if s.hit(s.rates.drop) {
		s.note("dropped %s", m.ID)
		m.held, m.sure = &coroutine{over: true, process: p}, false
		return
	}
	prefix, _, _ := strings.Cut(m.ID, "/")
	attempt, _ := strconv.ParseInt(prefix, 10, 64)
	handle := func(ctx context.Context) {
		if q.name == "events" {
			p.DoEvent(ctx, d)
		} else {
			p.DoTask(ctx, d)
		}
	}
	m.held = s.spawn(p, fmt.Sprintf("%s#%d", m.ID, m.count), attempt, handle)
	if s.hit(s.rates.duplicate) {
		d.Count++
		s.spawn(p, fmt.Sprintf("%s#%d again", m.ID, m.count), attempt, handle)
	}
}

// checkAll is what must hold at the end.
func (s *sim) checkAll() {
	for _, id := range s.started {
		a := s.store.row(id)
		if a == nil || !a.Done {
			s.fail("attempt %d was acknowledged and is not over", id)
		}
		if s.killed[id] && !a.Canceled {
			s.fail("the kill of attempt %d was acknowledged and is lost", id)
		}
	}
	sessions := map[time.Time]int{}
	for _, a := range s.store.rows {
		if a.Workflow.ID == 3 {
			sessions[a.SessionTime]++
		}
	}
	last := s.store.schedules[0].Times
	for t := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC); t.Before(last.Session); t = t.Add(10 * time.Minute) {
		if sessions[t] != 1 {
			s.fail("session %v has %d attempts", t, sessions[t])
		}
	}
	if s.rates.crash+s.rates.drop+s.rates.duplicate+s.rates.lose > 0 {
		return
	}
	for run, n := range s.runs {
		if n > 1 {
			s.fail("%s ran %d times, and nothing was lost", run, n)
		}
	}
	if s.losses > 0 {
		s.fail("%d runs were taken over, and nothing was lost", s.losses)
	}
}

// simulate runs a seed and returns what happened.
func simulate(seed uint64) (trace []string, err error) {
	rates, processes := stormy, 2
	if seed%3 == 0 {
		rates = calm
	}
	if seed%2 == 0 {
		processes = 1
	}
	s, err := newSim(seed, rates, processes)
	if err != nil {
		return nil, err
	}
	s.run()
	if len(s.failures) > 0 {
		err = errors.New(strings.Join(s.failures, "\n"))
	}
	return s.trace, err
}

// TestSimulation proves what DESIGN section 6 asks for, of as many seeds as there are
// seconds for, or as RUNS says, from SEED on. A seed leads to the same log each time.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, runs := setting("SEED", 1), setting("RUNS", 0)
	end := time.Now().Add(10 * time.Second)
	if testing.Short() {
		end = time.Now().Add(2 * time.Second)
	}
	n := 0
	for seed := uint64(first); runs > 0 && n < runs || runs == 0 && time.Now().Before(end); seed++ {
		trace, err := simulate(seed)
		if err != nil {
			text := strings.Join(trace[max(0, len(trace)-400):], "\n")
			t.Fatalf("%s\n\nseed %d: %v\n\nagain: SEED=%d RUNS=1 go test ./internal/host -run TestSimulation", text, seed, err, seed)
		}
		if n++; n%10 == 1 {
			again, _ := simulate(seed)
			if i := differ(trace, again); i >= 0 {
				t.Fatalf("seed %d does not lead to the same log: line %d is %q, then %q", seed, i, trace[i:min(i+3, len(trace))], again[i:min(i+3, len(again))])
			}
		}
	}
	t.Logf("%d seeds from %d", n, first)
}

func differ(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}
