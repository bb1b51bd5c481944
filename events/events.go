// Package events holds what crosses a process boundary: the messages of the queues and
// what an entry of an attempt's log says happened.
//
// Hosts and functions write and read it. Every form says its version; a reader that finds
// a newer one must refuse the message, so that it comes back to a newer reader. It must
// never hold anything but data.
package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/param"
)

// Version is the newest form of all messages.
const Version = 1

// Task is a message of the queue "tasks": runs to be done, something that happens to the
// attempt at the message's time, or schedules that are to be fired then.
type Task struct {
	V    int          `json:"v"`
	Runs []engine.Run `json:"runs,omitempty"`
	Wait bool         `json:"wait,omitempty"` // the runs wait until the time of the message
	From []string     `json:"from,omitempty"` // guards whose messages came again: what they were at is taken over
	// Unbegun: none that had these messages began with them, so that what is taken over was not lost.
	Unbegun bool      `json:"unbegun,omitempty"`
	Then    *Event    `json:"then,omitempty"`
	Fire    []Firing  `json:"fire,omitempty"`
	Start   *Starting `json:"start,omitempty"`
}

// Firing names a schedule, and the time for which it is fired: one that was moved since is
// left alone.
type Firing struct {
	Site     int64 `json:"site,omitempty"`
	Schedule int64 `json:"id"`
	Run      int64 `json:"run"` // seconds since 1970
}

// Starting is a start that an event asked for and that has to wait.
type Starting struct {
	StartDetail
	Named bool `json:"named,omitempty"` // the author of a rule named its parameters
	Times int  `json:"times"`           // how often it was put off, this time included
}

// EncodeTask writes a message.
func EncodeTask(t Task) []byte {
	t.V = Version
	return must(json.Marshal(t))
}

// DecodeTask reads a message of this version or an older one.
func DecodeTask(body []byte) (Task, error) {
	var t Task
	if err := json.Unmarshal(body, &t); err != nil {
		return Task{}, fmt.Errorf("decode task message: %w", err)
	}
	if t.Then != nil {
		if err := t.Then.check(); err != nil {
			return Task{}, fmt.Errorf("decode task message: %w", err)
		}
	}
	if t.Start != nil && (t.Start.ID == "" || t.Start.Times < 0) {
		return Task{}, fmt.Errorf("decode task message: a start names its event: %q", t.Start.ID)
	}
	return t, version(t.V)
}

// Event is a message of the queue "events", and what a log entry says happened. In an entry
// results are not part of it: the changes hold them.
type Event struct {
	V       int         `json:"v,omitempty"`
	Kind    Kind        `json:"event"`
	Run     *engine.Run `json:"run,omitempty"`
	Results []Result    `json:"results,omitempty"`
	Logs    []Log       `json:"logs,omitempty"`  // of Results: short ones, which are not stored yet
	Guard   string      `json:"guard,omitempty"` // of TakeOver: that which fenced the runs
	// Expiry, of TimedOut, is the timer whose time has come.
	Expiry *engine.Expiry `json:"expiry,omitempty"`
	// Blameless: of Lost: nobody had begun with the run, or a stop of the server took it.
	Blameless bool `json:"blameless,omitempty"`
	// Force, of Kill: it is a second one, which ends what the first one has left alone.
	Force bool `json:"force,omitempty"`
	// Who and Reason, of Pause, are shown to people.
	Who    string `json:"who,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Slots, of Slots, says who is to try for the slots of which pool.
	Slots *SlotsAsk `json:"slots,omitempty"`
}

// SlotsAsk names a try of a task, or an attempt as a whole, that waits for slots, or waited for them once.
type SlotsAsk struct {
	Task     engine.TaskID `json:"task"`
	Try      int           `json:"try"`
	Pool     string        `json:"pool"`
	Slots    int           `json:"slots"`
	Priority int           `json:"priority,omitempty"`
	Since    int64         `json:"since"` // milliseconds since 1970
	// Woken: the try stands in the line of the pool of Project (0: of the site), or stood there.
	Woken   bool  `json:"woken,omitempty"`
	Site    int64 `json:"site"`
	Project int64 `json:"project,omitempty"`
	// By, unless 0, is an attempt that waits for the slot of this one (Task is engine.Whole) and is to have it, by
	// OnLimit of its workflow. Priority and Since are those of that attempt.
	By      int64  `json:"by,omitempty"`
	OnLimit string `json:"onLimit,omitempty"`
}

// complete reports whether it names a try of a task, or the whole attempt.
func (s *SlotsAsk) complete() bool {
	return s.Task >= engine.Whole && s.Try >= 1 && s.Slots >= 1 && s.Pool != ""
}

// Log is the log of a run, gzip, by the name of its file.
type Log struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// Result is what one run came to, on its way to the log.
type Result struct {
	Kind    Kind           `json:"event"` // Succeeded, Prepared, Failed or Later
	Run     engine.Run     `json:"run"`
	Outcome engine.Outcome `json:"outcome,omitzero"` // of Succeeded and Failed
	Skip    string         `json:"skip,omitempty"`   // of Prepared
	Pool    *claim.Pool    `json:"pool,omitempty"`   // of Prepared
	Until   time.Time      `json:"until,omitzero"`   // of Later
	SlowAt  time.Time      `json:"slowAt,omitzero"`  // of Later
	Warned  bool           `json:"warned,omitempty"` // of Later

	Timeout *claim.Limits `json:"timeout,omitempty"` // of Prepared
	Retry   bool          `json:"retry,omitempty"`   // of Later
	After   time.Duration `json:"after,omitempty"`   // of Later: nanoseconds
	State   *param.Map    `json:"state,omitempty"`
}

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Start     Kind = "start" // the attempt was started
	GoOn      Kind = "go_on"
	Kill      Kind = "kill"
	Pause     Kind = "pause" // nothing new is to begin
	Unpause   Kind = "unpause"
	StartDue  Kind = "start_due" // the time has come at which the attempt is to begin
	Due       Kind = "due"
	SLADue    Kind = "sla_due"
	TimedOut  Kind = "timed_out" // the time that `_timeout` gives a task is over
	Lost      Kind = "lost"
	Succeeded Kind = "succeeded"
	Prepared  Kind = "prepared" // it is known what the gate keys of a task come to
	Granted   Kind = "granted"  // a task that waited for slots of a pool has them
	Slots     Kind = "slots"    // a task should try for the slots that it waits for
	Failed    Kind = "failed"
	Later     Kind = "later"   // a poll or a retry was asked for
	Results   Kind = "results" // of runs that ended side by side
	Check     Kind = "check"   // the executor should look whether the attempt ever began
	Fenced    Kind = "fenced"
	Revive    Kind = "revive"    // the executor should see to it that all that the attempt waits for has a message
	TakeOver  Kind = "take_over" // what a revival fenced and nobody has ended since is lost
)

// Of describes an event of the engine.
func Of(e engine.Event) Event {
	switch e := e.(type) {
	case engine.Start:
		return Event{Kind: Start}
	case engine.GoOn:
		return Event{Kind: GoOn}
	case engine.Kill:
		return Event{Kind: Kill, Force: e.Force}
	case engine.Pause:
		return Event{Kind: Pause, Who: e.Who, Reason: e.Reason}
	case engine.Unpause:
		return Event{Kind: Unpause}
	case engine.StartDue:
		return Event{Kind: StartDue}
	case engine.SLADue:
		return Event{Kind: SLADue}
	case engine.TimedOut:
		return Event{Kind: TimedOut, Expiry: &e.Expiry}
	case engine.Due:
		return Event{Kind: Due, Run: &e.Run}
	case engine.Lost:
		return Event{Kind: Lost, Run: &e.Run, Blameless: e.Blameless}
	case engine.Fenced:
		return Event{Kind: Fenced, Run: &e.Run}
	case engine.Succeeded:
		return Event{Kind: Succeeded, Run: &e.Run}
	case engine.Prepared:
		return Event{Kind: Prepared, Run: &e.Run}
	case engine.Granted:
		return Event{Kind: Granted, Run: &e.Run}
	case engine.Errored:
		return Event{Kind: Failed, Run: &e.Run}
	case engine.Later:
		return Event{Kind: Later, Run: &e.Run}
	}
	panic(fmt.Sprintf("events: unknown event %T", e))
}

// Engine is what happened for the engine, brought by the message with this guard. A start is
// nothing: the attempt was started when its log began.
func (e Event) Engine(guard string) []engine.Event {
	by := engine.By{Guard: guard}
	switch e.Kind {
	case GoOn:
		return []engine.Event{engine.GoOn{By: by}}
	case Kill:
		return []engine.Event{engine.Kill{By: by, Force: e.Force}}
	case Pause:
		return []engine.Event{engine.Pause{By: by, Who: e.Who, Reason: e.Reason}}
	case Unpause:
		return []engine.Event{engine.Unpause{By: by}}
	case StartDue:
		return []engine.Event{engine.StartDue{By: by}}
	case SLADue:
		return []engine.Event{engine.SLADue{By: by}}
	case TimedOut:
		return []engine.Event{engine.TimedOut{By: by, Expiry: *e.Expiry}}
	case Due:
		return []engine.Event{engine.Due{By: by, Run: *e.Run}}
	}
	var list []engine.Event
	for _, r := range e.Results {
		list = append(list, r.engine(by))
	}
	return list
}

// ResultOf is how the end of a run travels.
func ResultOf(e engine.Event) Result {
	switch e := e.(type) {
	case engine.Succeeded:
		return Result{Kind: Succeeded, Run: e.Run, Outcome: e.Result}
	case engine.Prepared:
		return Result{Kind: Prepared, Run: e.Run, Skip: e.Skip, Pool: e.Pool, Timeout: e.Timeout}
	case engine.Errored:
		return Result{Kind: Failed, Run: e.Run, Outcome: engine.Outcome{Error: e.Error}}
	case engine.Later:
		return Result{Kind: Later, Run: e.Run, After: e.After, State: e.State, Retry: e.Retry, Until: e.Until, SlowAt: e.SlowAt, Warned: e.Warned}
	}
	panic(fmt.Sprintf("events: %T is not the end of a run", e))
}

func (r Result) engine(by engine.By) engine.Event {
	switch r.Kind {
	case Succeeded:
		return engine.Succeeded{By: by, Run: r.Run, Result: r.Outcome}
	case Prepared:
		return engine.Prepared{By: by, Run: r.Run, Skip: r.Skip, Pool: r.Pool, Timeout: r.Timeout}
	case Failed:
		return engine.Errored{By: by, Run: r.Run, Error: r.Outcome.Error}
	}
	return engine.Later{By: by, Run: r.Run, After: r.After, State: r.State, Retry: r.Retry, Until: r.Until, SlowAt: r.SlowAt, Warned: r.Warned}
}

func (e Event) check() error {
	switch e.Kind {
	case Start, GoOn, Kill, Pause, Unpause, StartDue, SLADue, Check, Revive:
		return nil
	case TakeOver:
		if e.Guard == "" {
			return fmt.Errorf("event %q names no guard", e.Kind)
		}
		return nil
	case Slots:
		if e.Slots == nil || !e.Slots.complete() {
			return fmt.Errorf("event %q names no try of a task", e.Kind)
		}
		return nil
	case Results:
		for _, r := range e.Results {
			if !slices.Contains([]Kind{Succeeded, Prepared, Failed, Later}, r.Kind) {
				return fmt.Errorf("%q is not the end of a run", r.Kind)
			}
		}
		return nil
	case TimedOut:
		if e.Expiry == nil {
			return fmt.Errorf("event %q names no timer", e.Kind)
		}
		return nil
	case Due:
		if e.Run == nil {
			return fmt.Errorf("event %q names no run", e.Kind)
		}
		return nil
	}
	return fmt.Errorf("event %q is none that a message brings", e.Kind)
}

// Encode writes a message.
func Encode(e Event) []byte {
	e.V = Version
	return must(json.Marshal(e))
}

// Decode reads a message of this version or an older one.
func Decode(body []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	if err := version(e.V); err != nil {
		return Event{}, err
	}
	return e, e.check()
}

// EncodeList writes what an entry says happened.
func EncodeList(list []Event) []byte { return must(json.Marshal(list)) }

// DecodeList reads what an entry says happened.
func DecodeList(text []byte) ([]Event, error) {
	var list []Event
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	return list, nil
}

func version(v int) error {
	if v < 1 || v > Version {
		return fmt.Errorf("the message has form %d, this program reads up to %d", v, Version)
	}
	return nil
}

// must is for values of our own types, which always can be written.
func must(text []byte, err error) []byte {
	if err != nil {
		panic("events: " + err.Error())
	}
	return text
}
