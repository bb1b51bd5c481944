package engine

import (
	"slices"
	"time"

	"zerodag/engine/claim"
)

// Effect is something that a message still owes. Carrying one out twice is harmless: each has the dispatch that makes
// it unique.
type Effect interface{ effect() }

// Dispatch sends a task to be run at the time At, or immediately if that is zero.
type Dispatch struct {
	Run
	At     time.Time `json:"at,omitzero"`
	Cancel bool      `json:"cancel,omitempty"` // clean up, do not run
}

// Timer requests a Due event for a group at At.
type Timer struct {
	Run
	At time.Time `json:"at"`
}

// Acquire requests the slots that a task, or the Whole attempt, waits for. The event Granted answers it. It is owed for
// as long as the task waits.
type Acquire struct {
	Run
	Pool claim.Use `json:"pool"` // its Asked is requested
}

// Release releases a finished try's slots and its place in line. No event answers it: the message that ended the try
// owes it until it is done.
type Release struct {
	Task    TaskID     `json:"task"`
	Pool    claim.Pool `json:"pool"`
	Try     int        `json:"try"`
	Since   time.Time  `json:"since"`             // for a try that Waited
	Waited  bool       `json:"waited,omitempty"`  // it was never granted
	Project int64      `json:"project,omitempty"` // owns the pool that granted it
}

// TimeoutTimer requests a TimedOut event at At.
type TimeoutTimer struct {
	Expiry
	At time.Time `json:"at"`
}

// SLATimer requests an SLADue event at At.
type SLATimer struct {
	At time.Time `json:"at"`
}

// StartTimer requests a StartDue event at At.
type StartTimer struct {
	At time.Time `json:"at"`
}

// Continue requests a GoOn event.
type Continue struct{}

// End reports that the attempt has ended.
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

// debt lists the tasks whose run or timer one guard owes. It may also contain duplicates and tasks that the guard no
// longer owes; it is swept when most of its entries are such leftovers.
type debt struct {
	tasks []TaskID
	live  int
}

// leastSwept is the minimum length at which a debt is swept.
const leastSwept = 32

// owes reports whether the task's current run or timer is an effect still outstanding.
func (t *Task) owes() bool {
	return t.State == Running || t.rule().owed
}

// Outstanding lists what the message with this guard still owes, in the order of task ids, with releases of slots
// first. A host carries out this list and nothing else, both the first time and after a crash. Once the attempt has
// ended, messages owe only releases of slots; the message that ended it also owes End. Outstanding changes nothing.
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

// Owed lists what all messages together still owe, in the order of task ids, except for slot releases. It changes
// nothing.
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

// stillOwed appends to ids the tasks of a debt that its guard owes, sorted and without duplicates.
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

// owe and acquit maintain the index by guard, after and before a change of the task.
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
		// t owes until the next change; a later sweep drops it.
		d.tasks = s.stillOwed(d.tasks[:0], d, t.Guard)
	}
}
