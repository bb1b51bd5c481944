package engine

import (
	"fmt"
	"time"
)

// Refusal is the reason why an event changed nothing; empty if it applied.
type Refusal string

// Reasons why an event does not apply.
const (
	NotStarted Refusal = "the attempt was not started"
	Started    Refusal = "the attempt was already started"
	Over       Refusal = "the attempt is over"
	NoTask     Refusal = "no such task"
	Stale      Refusal = "the task's run is not the current one"
	Again      Refusal = "it already happened"
	NotKilled  Refusal = "the attempt was not killed before"
	Killed     Refusal = "the attempt was killed"
)

// Step decides what an event changes at the given time, changes the state accordingly and returns the changes to be
// stored. An event that is late, repeated or for another run changes nothing, and the Refusal is the reason. now must
// not be earlier than in the previous step. The cost depends on what changes, not on the attempt's size.
func (s *State) Step(e Event, now time.Time) ([]Change, Refusal) {
	if why := s.refuse(e); why != "" {
		return nil, why
	}
	d := &decision{State: s, now: now, guard: e.from()}
	switch e := e.(type) {
	case Start:
		d.start(e)
	case Succeeded:
		d.succeeded(d.logged(e.Run, e.Logged), e.Result)
	case Prepared:
		d.prepared(s.task(e.Task), e)
	case Granted:
		if e.Task == Whole {
			d.admitted(e.Project)
		} else {
			d.granted(s.task(e.Task), e.Project)
		}
	case Errored:
		d.errored(d.logged(e.Run, e.Logged), e.Error)
	case Later:
		d.later(d.logged(e.Run, e.Logged), e)
	case Due:
		d.due(s.task(e.Task))
	case Lost:
		d.lost(s.task(e.Task), e)
	case Fenced:
		d.fenced(s.task(e.Task))
	case Kill:
		d.kill(e)
	case Pause:
		d.pause(e)
	case Unpause:
		d.unpause()
	case GoOn:
		d.goOn()
	case TimedOut:
		d.timedOut(s.task(e.Task))
	case StartDue:
		d.startDue()
	case SLADue:
		d.slaDue()
	default:
		panic(fmt.Sprintf("engine: unknown event %T", e))
	}
	d.settle()
	return d.changes, ""
}

func (s *State) refuse(e Event) Refusal {
	if _, first := e.(Start); first != !s.started {
		if first {
			return Started
		}
		return NotStarted
	}
	if s.ended {
		return Over
	}
	switch e := e.(type) {
	case Succeeded:
		if t := s.Task(e.Task); t != nil && (t.Preparing || t.Waits()) {
			return Stale
		}
		return s.noResult(e.Run)
	case Prepared:
		if t := s.Task(e.Task); t != nil && !t.Preparing {
			return Stale
		}
		return s.noResult(e.Run)
	case Granted:
		return s.noGrant(e.Run)
	case Errored:
		return s.noResult(e.Run)
	case Later:
		if t := s.Task(e.Task); t != nil && t.Waits() {
			return Stale
		}
		return s.noResult(e.Run)
	case Due:
		return s.stale(e.Run)
	case Lost:
		return s.stale(e.Run)
	case Fenced:
		return s.noFence(e)
	case TimedOut:
		return s.noTimeout(e.Expiry)
	case Kill:
		return s.noKill(e)
	case Pause:
		return s.noPause()
	case Unpause:
		if s.paused == nil {
			return Again
		}
	case GoOn:
		if len(s.growing) == 0 {
			return Again
		}
	case StartDue:
		if s.startsAt.IsZero() {
			return Again
		}
	case SLADue:
		if s.slaAt.IsZero() {
			return Again
		}
	}
	return ""
}

// noResult returns why a run can have no result: prepared groups have only timers, or fail while they wait for slots,
// and a task that waits for its next run may also have to wait for a place, which Due decides.
func (s *State) noResult(r Run) Refusal {
	if t := s.Task(r.Task); t != nil && (t.Group && !t.Preparing && !t.Waits() || t.State == GroupRetryWaiting && s.hasPlaces(t)) {
		return Stale
	}
	return s.stale(r)
}

func (s *State) stale(r Run) Refusal {
	t := s.Task(r.Task)
	switch {
	case t == nil:
		return NoTask
	case !t.owes() || t.Dispatch != r.Dispatch:
		return Stale
	}
	return ""
}

// noFence returns why a run is not fenced: waiting tasks have no run to fence.
func (s *State) noFence(e Fenced) Refusal {
	if why := s.stale(e.Run); why != "" {
		return why
	}
	switch t := s.task(e.Task); {
	case t.State != Running:
		return Stale
	case t.Guard == e.Guard:
		return Again
	}
	return ""
}

// decision is a step in progress.
type decision struct {
	*State
	now     time.Time
	guard   string
	changes []Change
	look    []TaskID // tasks whose surroundings changed
	cut     TaskID   // the task whose log the event reports as incomplete; 0: none
}

// logged records what an event reports about a run's log.
func (d *decision) logged(r Run, l Logged) *Task {
	if l.LogIncomplete {
		d.cut = r.Task
	}
	return d.task(r.Task)
}

// apply records a change and carries it out.
func (d *decision) apply(c Change) {
	d.changes = append(d.changes, c)
	d.State.Apply(c)
}

// move changes a task's state; edit may set more of its progress.
func (d *decision) move(t *Task, to TaskState, out *Outcome, edit func(*Progress)) {
	if t.State.Done() {
		panic(fmt.Sprintf("engine: invalid transition of %s [%v -> %v]", t.Name, t.State, to))
	}
	p := t.Progress
	p.State, p.UpdatedAt, p.RetryAt, p.Held = to, d.now, time.Time{}, false
	p.LogIncomplete = p.LogIncomplete || t.ID == d.cut && d.cut != 0
	if edit != nil {
		edit(&p)
	}
	if to.Done() || to == Planned {
		p.Preparing, p.Ends = false, false
	}
	if to != Running && to != RetryWaiting && to != GroupRetryWaiting {
		p.Guard = ""
	}
	if !t.keepsSlots(p) {
		p.Pool = p.Pool.GivenUp(d.guard)
	}
	p.Timeout = d.timed(&p, t)
	p.Idle = t.idle(&p)
	d.apply(TaskChanged{Task: t.ID, Progress: p, Outcome: out})
	d.look = append(d.look, t.ID)
}

// settle follows up on the changes so far until nothing changes anymore.
func (d *decision) settle() {
	for len(d.look) > 0 {
		id := d.look[0]
		d.look = d.look[1:]
		t := d.task(id)
		d.makeRoom(t)
		if t.opensChildren() || d.opensSLA(t) {
			d.unblock(t.children)
		}
		if t.passed() {
			d.unblockAfter(t)
		}
		if t.State == Planned && t.active == 0 {
			d.childrenDone(t)
		}
		if !t.State.Done() {
			continue
		}
		if t.Parent == 0 {
			d.apply(AttemptEnded{At: d.now, Guard: d.guard})
			return
		}
		d.childDone(d.task(t.Parent), t)
	}
}

// childDone updates a task after one of its children has ended.
func (d *decision) childDone(p, child *Task) {
	if child.State.Error() && p.State == Planned && p.Ending == Blocked && p.active > 0 && p.failed > 0 && d.failsFast(p) {
		d.cancelBelow(p)
	}
	if p.State == Planned && p.active == 0 {
		d.childrenDone(p)
	}
}

// unblock starts the tasks of a list that nothing blocks anymore.
func (d *decision) unblock(ids []TaskID) {
	for _, id := range ids {
		t := d.task(id)
		if t.State != Blocked || t.waiting > 0 || d.holdsBack(t) || d.crowded(t) || d.undecided(t) {
			continue
		}
		if p := d.task(t.Parent); p.opensChildren() || d.opensSLA(p) && d.isSLA(t) {
			d.ready(t)
		}
	}
}

// unblockAfter starts the tasks that waited for a task, including those behind carried-over tasks.
func (d *decision) unblockAfter(t *Task) {
	for next := []*Task{t}; len(next) > 0; {
		t, next = next[0], next[1:]
		d.unblock(t.downstream)
		for _, id := range t.downstream {
			if x := d.task(id); x.Resumed && x.passed() {
				next = append(next, x)
			}
		}
	}
}

// ready moves a task out of the blocked state. Groups are planned at once; like Digdag, this decides that before it
// checks for a kill.
func (d *decision) ready(t *Task) {
	t.scope = d.scopeOf(t)
	switch {
	case t.toPrepare():
		d.prepare(t)
	case t.Group && !(t.Cancel && t.hasClosing()):
		d.move(t, Planned, nil, nil)
	case t.Cancel:
		d.move(t, Canceled, nil, nil)
	default:
		d.dispatch(t, nil)
	}
}

// dispatch sends a task to be run now; edit, unless nil, may set more of its progress.
func (d *decision) dispatch(t *Task, edit func(*Progress)) {
	d.move(t, Running, nil, func(p *Progress) {
		if edit != nil {
			edit(p)
		}
		p.Dispatch++
		p.Guard, p.Preparing = d.guard, false
		if p.StartedAt.IsZero() {
			p.StartedAt = d.now
		}
	})
}
