package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
)

// Effect is something a message still owes. Performing one twice is harmless: each
// carries the dispatch that makes it unique.
type Effect interface{ effect() }

// Dispatch sends a task to be run, at At when it is not zero.
type Dispatch struct {
	Run
	At     time.Time `json:"at,omitzero"`
	Cancel bool      `json:"cancel,omitempty"` // to be cleaned up, not run
}

// Timer asks for a Due event of a group at At.
type Timer struct {
	Run
	At time.Time `json:"at"`
}

// Acquire asks for the slots that a task, or the Whole attempt, waits for; Granted is the answer. It is owed for as long as the task waits.
type Acquire struct {
	Run
	Pool claim.Use `json:"pool"` // whose Asked it is
}

// Release gives up the slots of a try that is over, and its place in the line. Nobody answers it: it is owed by who
// has ended the try until that is done.
type Release struct {
	Task    TaskID     `json:"task"`
	Pool    claim.Pool `json:"pool"`
	Try     int        `json:"try"`
	Since   time.Time  `json:"since"`             // of one that Waited
	Waited  bool       `json:"waited,omitempty"`  // it was never granted
	Project int64      `json:"project,omitempty"` // that the pool belongs to which granted it
}

// TimeoutTimer asks for a TimedOut event at At.
type TimeoutTimer struct {
	Expiry
	At time.Time `json:"at"`
}

// SLATimer asks for an SLADue event at At.
type SLATimer struct {
	At time.Time `json:"at"`
}

// StartTimer asks for a StartDue event at At.
type StartTimer struct {
	At time.Time `json:"at"`
}

// Continue asks for a GoOn event.
type Continue struct{}

// End tells that the attempt is over.
type End struct {
	Success bool `json:"success"`
}

func (Dispatch) effect()     {}
func (Timer) effect()        {}
func (Acquire) effect()      {}
func (Release) effect()      {}
func (TimeoutTimer) effect() {}
func (SLATimer) effect()     {}
func (StartTimer) effect()   {}
func (Continue) effect()     {}
func (End) effect()          {}

// debt is the tasks whose run or timer one guard owes, and some that it no longer owes or that
// are there twice: it is swept when these are the most.
type debt struct {
	tasks []TaskID
	live  int
}

// leastSwept is the length from which on a debt is swept.
const leastSwept = 32

// owes says whether the task's current run or timer is an effect still outstanding.
func (t *Task) owes() bool {
	return t.State == Running || t.rule().owed
}

// Outstanding lists what the message with this guard still owes, in the order of task
// ids. A host carries out this list and nothing else, the first time as after a crash.
// Slots are given up before all else. After the end only the guard that ended the attempt owes more, and only End. It
// changes nothing.
func (s *State) Outstanding(guard string) []Effect {
	if s.ended {
		list := s.releases(guard)
		if guard == s.endGuard {
			list = append(list, End{Success: s.Succeeded()})
		}
		return list
	}
	list := s.releases(guard)
	if s.slotGuard == guard && s.asks() {
		list = append(list, Acquire{Run: s.slotRun(), Pool: *s.slot})
	}
	if d := s.owed[guard]; d != nil {
		ids := s.stillOwed(make([]TaskID, 0, len(d.tasks)), d, guard)
		list = slices.Grow(list, len(ids))
		for _, id := range ids {
			list = append(list, s.effectOf(s.task(id)))
		}
	}
	list = append(list, s.timersOf(guard)...)
	if !s.startsAt.IsZero() && s.startsGuard == guard {
		list = append(list, StartTimer{At: s.startsAt})
	}
	if !s.slaAt.IsZero() && s.slaGuard == guard {
		list = append(list, SLATimer{At: s.slaAt})
	}
	if slices.ContainsFunc(s.growing, func(g growth) bool { return g.Guard == guard }) {
		list = append(list, Continue{})
	}
	return list
}

// Owed lists what all messages together still owe, in the order of task ids, but for slots that are to be given up. It
// changes nothing.
func (s *State) Owed() []Effect {
	if s.ended {
		return []Effect{End{Success: s.Succeeded()}}
	}
	var list []Effect
	if s.asks() {
		list = append(list, Acquire{Run: s.slotRun(), Pool: *s.slot})
	}
	for _, t := range s.tasks {
		if t != nil && t.owes() {
			list = append(list, s.effectOf(t))
		}
		if t != nil && t.timerOwed() {
			list = append(list, TimeoutTimer{t.expiry(), t.Timeout.At})
		}
	}
	if !s.startsAt.IsZero() {
		list = append(list, StartTimer{At: s.startsAt})
	}
	if !s.slaAt.IsZero() {
		list = append(list, SLATimer{At: s.slaAt})
	}
	if len(s.growing) > 0 {
		list = append(list, Continue{})
	}
	return list
}

// stillOwed appends to ids the tasks of a debt that its guard owes, ascending and once each.
func (s *State) stillOwed(ids []TaskID, d *debt, guard string) []TaskID {
	for _, id := range d.tasks {
		if t := s.task(id); t.owes() && t.Guard == guard {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (s *State) effectOf(t *Task) Effect {
	run := Run{Task: t.ID, Dispatch: t.Dispatch}
	if t.State == GroupRetryWaiting && t.Group {
		return Timer{Run: run, At: t.RetryAt}
	}
	if t.Waits() {
		return Acquire{Run: run, Pool: *t.Pool}
	}
	return Dispatch{Run: run, At: t.RetryAt, Cancel: t.Cancel}
}

// owe and acquit keep the index by guard, after and before a change of the task.
func (s *State) owe(t *Task) {
	s.noteFreed(t)
	s.noteTimer(t)
	if !t.owes() {
		return
	}
	d := s.owed[t.Guard]
	if d == nil {
		d = &debt{}
		s.owed[t.Guard] = d
	}
	d.tasks = append(d.tasks, t.ID)
	d.live++
}

func (s *State) acquit(t *Task) {
	s.dropTimer(t)
	if !t.owes() {
		return
	}
	d := s.owed[t.Guard]
	switch d.live--; {
	case d.live == 0:
		delete(s.owed, t.Guard)
	case len(d.tasks) >= leastSwept && 2*d.live < len(d.tasks):
		// t owes until the change that follows, and is left out by a later sweep.
		d.tasks = s.stillOwed(d.tasks[:0], d, t.Guard)
	}
}
