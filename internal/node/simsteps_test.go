package node_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// run runs the simulation to its end and checks what must hold then.
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
			s.noteUnfinished()
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

// noteUnfinished records what the unfinished attempts are waiting for.
func (s *sim) noteUnfinished() {
	for _, a := range s.store.rows {
		if a.Done {
			continue
		}
		for _, e := range s.store.logs[a.ID] {
			s.note("attempt %d: entry %d %s", a.ID, e.Seq, e.Events)
		}
		if state := s.store.truth[a.ID]; state != nil {
			for _, t := range state.Tasks() {
				s.note("attempt %d: task %d %s %v, guard %q, dispatch %d", a.ID, t.ID, t.Name, t.State, t.Guard, t.Dispatch)
			}
			s.note("attempt %d: owed %+v", a.ID, state.Owed())
		}
	}
}

func (s *sim) waits() bool {
	return slices.ContainsFunc(s.store.rows, func(a *host.Attempt) bool { return !a.Done })
}

func (s *sim) idle() bool {
	return len(s.coroutines) == 0 && len(s.store.queues["events"].list)+len(s.store.queues["tasks"].list) == 0
}

// act carries out one of the possible next steps.
func (s *sim) act() {
	if n := s.random.IntN(400); n < 20 && !s.healed {
		s.disturb(n)
		return
	}
	if s.unrevived && s.random.IntN(20) == 0 {
		s.revive()
	}
	if s.random.IntN(60) == 0 {
		s.spawn(s.any(), "reap", 0, func(ctx context.Context) { ctx.Value(coroutineKey{}).(*coroutine).process.LookAfter(ctx) })
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

// pass lets time pass until the next due time, or for a second.
func (s *sim) pass(needed bool) {
	next := s.store.nextTime()
	if !needed || next.IsZero() || next.Sub(s.now) < time.Second {
		next = s.now.Add(time.Second)
	}
	s.now = next
	for _, x := range s.store.schedules {
		if !x.Times.Run.After(s.wall()) && !s.healed && len(s.store.rows) < 15 {
			p := s.any()
			s.spawn(p, "fire", 0, func(ctx context.Context) { p.FireOne(ctx, x) })
		}
	}
}

func (s *sim) any() *simProcess { return s.processes[s.random.IntN(len(s.processes))] }

// disturb injects an outside event.
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
			a, err := p.Start(ctx, catalogue.StartRequest{Workflow: workflow, SessionTime: session, RetryName: name})
			if err == nil {
				s.started = append(s.started, a.ID)
			}
		})
	case n == 10 && s.revives():
		s.revive()
	case n == 11 && s.revives():
		s.loseQueues()
	case n == 11 && s.rates.phantom == 0:
		s.setClocks(time.Duration(s.random.IntN(3)-1) * time.Hour)
	case n >= 12:
		s.wake(p)
	}
}

// revives reports whether the machines of the simulation have clocks that are never set, as a revival requires. On a
// single machine, whose clock may be set, there is no revival.
func (s *sim) revives() bool { return s.rates.phantom == 0 && (s.seed%4 == 0 || s.seed%4 == 3) }

// loseQueues simulates a restored table or a removed stack: no process is running, and there are no messages. From then on
// a revival is repeated until it is acknowledged.
func (s *sim) loseQueues() {
	if s.rates.crash == 0 {
		return // in a simulation where nothing is lost
	}
	s.note("the queues are lost")
	s.lost, s.unrevived = true, true
	for _, p := range s.processes {
		p.dead = true
	}
	s.bury()
	for _, q := range s.store.queues {
		q.list = nil
	}
}

// revive sends again everything that unfinished attempts wait for.
func (s *sim) revive() {
	p := s.any()
	s.spawn(p, "revive", 0, func(ctx context.Context) {
		if _, err := p.ReviveAll(ctx, 0); err == nil {
			s.unrevived = false
		}
	})
}

// wake marks the event that a task waits for, or is about to wait for, as having happened.
func (s *sim) wake(p *simProcess) {
	type sleeper struct {
		attempt int64
		run     engine.Run
	}
	var list []sleeper
	for _, a := range s.store.rows {
		state := s.store.truth[a.ID]
		if a.Done || state == nil {
			continue
		}
		for _, t := range state.Tasks() {
			switch {
			case t.Group:
			case t.State == engine.RetryWaiting:
				list = append(list, sleeper{a.ID, engine.Run{Task: t.ID, Dispatch: t.Dispatch}})
			case t.State == engine.Running:
				list = append(list, sleeper{a.ID, engine.Run{Task: t.ID, Dispatch: t.Dispatch + 1}})
			}
		}
	}
	s.random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	for _, x := range list[:min(len(list), 1+s.random.IntN(3))] {
		s.spawn(p, "wake", 0, func(ctx context.Context) { p.Wake(ctx, x.attempt, x.run) })
	}
}

const simLease = 90 * time.Second

// life is longer than any process of the simulation spends on one run, and unlimited if nothing is revived.
func (s *sim) life() time.Duration {
	if s.revives() {
		return 15 * time.Minute
	}
	return 0
}

// simVisibility is how long a message of "tasks" stays invisible if no process got it.
const simVisibility = 15 * time.Minute

// throttle receives a message for no process: it comes back after the queue's own visibility.
func (s *sim) throttle(q *simQueue, m *simMessage) {
	m.received(s.now)
	m.until = s.now.Add(simLease)
	if q.name == "tasks" {
		m.until = s.now.Add(simVisibility)
	}
	m.held, m.sure = &coroutine{over: true}, false
	s.note("throttled %s", m.ID)
}

// deliver hands a message to a process; an event sometimes comes with the messages behind it.
func (s *sim) deliver(q *simQueue, m *simMessage) {
	p := s.any()
	if list := q.behind(m); len(list) > 1 && s.random.IntN(2) == 0 {
		s.deliverTogether(p, q, list)
		return
	}
	if s.hit(s.rates.throttle) {
		s.throttle(q, m)
		return
	}
	m.received(s.now)
	m.until = s.now.Add(simLease)
	m.sure = !s.hit(s.rates.lose)
	d := host.Delivery{Message: m.Message, Receipt: m.receipt(), Count: m.count}
	d.Unbegun = q.name == "tasks" && m.count > 1 && s.now.Sub(m.first) >= time.Duration(m.count-1)*simVisibility
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

// deliverTogether hands a process several messages of an attempt.
func (s *sim) deliverTogether(p *simProcess, q *simQueue, messages []*simMessage) {
	var list []host.Delivery
	sure := !s.hit(s.rates.lose)
	for _, m := range messages {
		m.received(s.now)
		m.until, m.sure = s.now.Add(simLease), sure
		d := host.Delivery{Message: m.Message, Receipt: m.receipt(), Count: m.count}
		d.Due = m.due
		list = append(list, d)
	}
	attempt, _ := strconv.ParseInt(messages[0].Group, 10, 64)
	held := s.spawn(p, fmt.Sprintf("%s and %d more", list[0].ID, len(list)-1), attempt, func(ctx context.Context) { p.TakeEvents(ctx, q, list) })
	for _, m := range messages {
		m.held = held
	}
}

// checkAll checks what must hold at the end.
func (s *sim) checkAll() {
	for _, id := range s.started {
		a := s.store.row(id)
		if a == nil || !a.Done {
			s.fail("attempt %d was acknowledged and is not over", id)
		}
		if s.killed[id] && !a.Canceled && s.phantoms == 0 {
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
	if s.blamed > 0 {
		s.fail("%d runs count as lost, and nothing was lost", s.blamed)
	}
	if s.losses > 0 && s.rates.throttle == 0 && !s.revives() {
		s.fail("%d runs were taken over, and nothing was lost", s.losses)
	}
	if s.doubled > 0 {
		s.fail("%d runs were taken over that had begun, and nothing was lost", s.doubled)
	}
}
