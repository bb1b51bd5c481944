package engine

import (
	"time"

	"zerodag/engine/claim"
)

// Waiting describes why a task that is due or under way is not running: what it waits for, since when and, if known,
// until when. Each reason has a row in waits, which determines how the rest of the package treats it.
type Waiting struct {
	Reason Reason
	Since  time.Time   // zero if not recorded
	Until  time.Time   // when the wait ends without an event; zero: when something else ends it
	Pool   *claim.Pool // whose slots are requested; nil for other reasons, and while a pause keeps it out of the line
}

// Reason is what a task waits for.
type Reason uint8

// The reasons; NoWait means that the task does not wait.
const (
	NoWait       Reason = iota
	ForStartTime        // the time for which the attempt was started
	ForTurn             // the attempt's turn: `concurrency`
	ForPause            // the end of a pause
	ForSlots            // slots of a pool
	ForPlace            // a place of `concurrency: {tasks: N}`
	ForKeys             // the evaluation of its keys
	ForRetry            // the time of its next retry
	ForPoll             // the time of its next poll
)

// waitRule defines what the package does while a task waits.
type waitRule struct {
	name string
	// idle: the task's dispatch number belongs to no run of its operator.
	idle bool
	// stops: the try's clock is stopped, but not the total of `_timeout`.
	stops bool
	// ready: it could run otherwise, and is shown as ready.
	ready bool
	// owed: a guard owes the run or the timer that ends the wait.
	owed bool
}

// waits returns the table of reasons.
func waits() [ForPoll + 1]waitRule {
	return [...]waitRule{
		NoWait:       {},
		ForStartTime: {name: "start_time", stops: true},
		ForTurn:      {name: "turn", idle: true, stops: true, ready: true},
		ForPause:     {name: "pause", idle: true, stops: true, ready: true},
		ForSlots:     {name: "slots", idle: true, stops: true, ready: true},
		ForPlace:     {name: "place", idle: true, stops: true, ready: true},
		ForKeys:      {name: "keys", idle: true, owed: true},
		ForRetry:     {name: "retry", owed: true},
		ForPoll:      {name: "poll", owed: true},
	}
}

// String returns the reason's name as the API shows it; "" for none.
func (r Reason) String() string { return waits()[r].name }

// Ready reports whether a task that waits for this could run otherwise.
func (r Reason) Ready() bool { return waits()[r].ready }

// StopsTry reports whether a try's clock stops while a task waits for this reason. The total of `_timeout` continues.
func (r Reason) StopsTry() bool { return waits()[r].stops }

// reason returns the reason derived from a task's progress alone. Held means waiting for a place unless the attempt's
// state shows another reason.
func (p *Progress) reason() Reason {
	switch {
	case p.Preparing:
		return ForKeys
	case p.Held:
		return ForPlace
	case p.State == Running && p.Pool != nil && p.Pool.Waits:
		return ForSlots
	case (p.State == RetryWaiting || p.State == GroupRetryWaiting) && p.Params.Has(jobState):
		return ForPoll
	case p.State == RetryWaiting, p.State == GroupRetryWaiting:
		return ForRetry
	}
	return NoWait
}

// rule returns the rule for the reason why the task waits.
func (p *Progress) rule() waitRule { return waits()[p.reason()] }

// reasonOf returns what a task waits for, taking its attempt into account.
func (s *State) reasonOf(t *Task) Reason {
	r := t.reason()
	whole := t.Parent == 0 && s.Waits()
	switch {
	case t.Parent == 0 && !s.startsAt.IsZero() && !t.State.Done():
		return ForStartTime
	case whole && s.paused != nil, r == ForPlace && s.pauses(t):
		return ForPause
	case whole && (r == ForPlace || !r.Ready()):
		return ForTurn
	}
	return r
}

// WaitingOf returns what a task waits for. It has no reason if the task waits for nothing, or only for other tasks.
func (s *State) WaitingOf(id TaskID) Waiting {
	t := s.Task(id)
	if t == nil || t.State.Done() {
		return Waiting{}
	}
	w := Waiting{Reason: s.reasonOf(t), Since: t.UpdatedAt}
	switch w.Reason {
	case NoWait:
		return Waiting{}
	case ForStartTime:
		w.Since, w.Until = time.Time{}, s.startsAt
	case ForTurn:
		asked := s.slot.Asked()
		w.Since, w.Pool = s.slot.Since, &asked
	case ForPause:
		w.Since = s.paused.At
	case ForSlots:
		asked := t.Pool.Asked()
		w.Since, w.Until, w.Pool = t.Pool.Since, t.Pool.WaitEnds(), &asked
	case ForRetry, ForPoll:
		w.Until = t.RetryAt
	}
	return w
}
