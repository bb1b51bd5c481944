// Package events holds the data that crosses a process boundary: the messages of the queues, and the events in entries
// of an attempt's log.
//
// Hosts and functions write and read it. Every format has a version; a reader that finds a newer one must refuse the
// message, so that it is redelivered to a newer reader. The package must contain nothing but data.
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

// Version is the newest version of all messages.
const Version = 1

// Task is a message in the queue "tasks": runs to execute, an event for the attempt at the message's time, or schedules
// to fire at that time.
type Task struct {
	V    int          `json:"v"`
	Runs []engine.Run `json:"runs,omitempty"`
	Wait bool         `json:"wait,omitempty"` // the runs wait until the time of the message
	From []string     `json:"from,omitempty"` // guards whose messages were redelivered: their work is taken over
	// Unbegun means that no one began to process these messages, so that the work taken over was not lost.
	Unbegun bool      `json:"unbegun,omitempty"`
	Then    *Event    `json:"then,omitempty"`
	Fire    []Firing  `json:"fire,omitempty"`
	Start   *Starting `json:"start,omitempty"`
}

// Firing names a schedule, and the time for which it fires: a schedule that has been moved since then is skipped.
type Firing struct {
	Site     int64 `json:"site,omitempty"`
	Schedule int64 `json:"id"`
	Run      int64 `json:"run"` // seconds since 1970
}

// Starting is a start that an event requested and that has to wait.
type Starting struct {
	StartDetail
	Named bool `json:"named,omitempty"` // the author of a rule named its parameters
	Times int  `json:"times"`           // how many times it was postponed, including this time
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

// Event is a message in the queue "events", and an event in a log entry. In an entry, it has no results: the changes
// contain them.
type Event struct {
	V       int         `json:"v,omitempty"`
	Kind    Kind        `json:"event"`
	Run     *engine.Run `json:"run,omitempty"`
	Results []Result    `json:"results,omitempty"`
	Logs    []Log       `json:"logs,omitempty"`  // of Results: short ones, which are not yet stored
	Guard   string      `json:"guard,omitempty"` // of TakeOver: the guard that fenced the runs
	// Expiry is set for TimedOut: the timer that has expired.
	Expiry *engine.Expiry `json:"expiry,omitempty"`
	// Blameless is set for Lost if the run had not begun, or if a stop of the server ended it.
	Blameless bool `json:"blameless,omitempty"`
	// Force is set for a second Kill, which ends the tasks that the first one spared.
	Force bool `json:"force,omitempty"`
	// Who and Reason are set for Pause and shown to users.
	Who    string `json:"who,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Slots is set for the kind Slots: it names who should request slots, and of which pool.
	Slots *SlotsAsk `json:"slots,omitempty"`
}

// SlotsAsk names a try of a task, or an attempt as a whole, that waits for slots, or once did.
type SlotsAsk struct {
	Task     engine.TaskID `json:"task"`
	Try      int           `json:"try"`
	Pool     string        `json:"pool"`
	Slots    int           `json:"slots"`
	Priority int           `json:"priority,omitempty"`
	Since    int64         `json:"since"` // milliseconds since 1970
	// Woken means that the try is or was in the line for the pool of Project (0 for the site).
	Woken   bool  `json:"woken,omitempty"`
	Site    int64 `json:"site"`
	Project int64 `json:"project,omitempty"`
	// By, unless 0, is an attempt that waits for this one's slot (Task is engine.Whole) and takes it over, according to
	// OnLimit of its workflow. Priority and Since are those of that attempt.
	By      int64  `json:"by,omitempty"`
	OnLimit string `json:"onLimit,omitempty"`
}

// complete reports whether it names a try of a task, or the whole attempt.
func (s *SlotsAsk) complete() bool {
	return s.Task >= engine.Whole && s.Try >= 1 && s.Slots >= 1 && s.Pool != ""
}

// Log is the gzipped log of a run, by the name of its file.
type Log struct {
	Name    string `json:"name"`
	Content []byte `json:"content"`
}

// Result is the result of one run, on its way to the log.
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
	Exports *param.Map    `json:"export,omitempty"`  // of Prepared
	Outputs *param.Map    `json:"outputs,omitempty"` // of Prepared
	Retry   bool          `json:"retry,omitempty"`   // of Later
	After   time.Duration `json:"after,omitempty"`   // of Later: nanoseconds
	State   *param.Map    `json:"state,omitempty"`

	LogIncomplete bool `json:"log_incomplete,omitempty"` // of all but Prepared
}

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Start     Kind = "start" // the attempt was started
	GoOn      Kind = "go_on"
	Kill      Kind = "kill"
	Pause     Kind = "pause" // nothing new may begin
	Unpause   Kind = "unpause"
	StartDue  Kind = "start_due" // the start time of the attempt has been reached
	Due       Kind = "due"
	SLADue    Kind = "sla_due"
	TimedOut  Kind = "timed_out" // the time limit of a task's `_timeout` has passed
	Lost      Kind = "lost"
	Succeeded Kind = "succeeded"
	Prepared  Kind = "prepared" // the `zerodag: 1` keys of a task are evaluated
	Granted   Kind = "granted"  // a task that waited for slots of a pool has them
	Slots     Kind = "slots"    // a task should request the slots that it waits for
	Failed    Kind = "failed"
	Later     Kind = "later"   // a poll or a retry was requested
	Results   Kind = "results" // of runs that ended concurrently
	Check     Kind = "check"   // the executor should check whether the attempt ever began
	Fenced    Kind = "fenced"
	Revive    Kind = "revive"    // the executor should restore a message for each wait of the attempt
	TakeOver  Kind = "take_over" // runs that a revival fenced and that have not ended since are lost
)

// Of describes an engine event.
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

// Engine converts e to engine events and attributes them to the message with this guard. A start returns none, because
// the attempt was started when its log began.
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

// ResultOf returns the result of a run for transport.
func ResultOf(e engine.Event) Result {
	switch e := e.(type) {
	case engine.Succeeded:
		return Result{Kind: Succeeded, Run: e.Run, Outcome: e.Result, LogIncomplete: e.LogIncomplete}
	case engine.Prepared:
		return Result{Kind: Prepared, Run: e.Run, Skip: e.Skip, Pool: e.Pool, Timeout: e.Timeout, Exports: e.Exports, Outputs: e.Outputs}
	case engine.Errored:
		return Result{Kind: Failed, Run: e.Run, Outcome: engine.Outcome{Error: e.Error}, LogIncomplete: e.LogIncomplete}
	case engine.Later:
		return Result{Kind: Later, Run: e.Run, After: e.After, State: e.State, Retry: e.Retry, Until: e.Until, SlowAt: e.SlowAt, Warned: e.Warned, LogIncomplete: e.LogIncomplete}
	}
	panic(fmt.Sprintf("events: %T is not the end of a run", e))
}

func (r Result) engine(by engine.By) engine.Event {
	logged := engine.Logged{LogIncomplete: r.LogIncomplete}
	switch r.Kind {
	case Succeeded:
		return engine.Succeeded{By: by, Run: r.Run, Logged: logged, Result: r.Outcome}
	case Prepared:
		return engine.Prepared{By: by, Run: r.Run, Skip: r.Skip, Pool: r.Pool, Timeout: r.Timeout, Exports: r.Exports, Outputs: r.Outputs}
	case Failed:
		return engine.Errored{By: by, Run: r.Run, Logged: logged, Error: r.Outcome.Error}
	}
	return engine.Later{By: by, Run: r.Run, Logged: logged, After: r.After, State: r.State, Retry: r.Retry, Until: r.Until, SlowAt: r.SlowAt, Warned: r.Warned}
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

// EncodeList writes the events of an entry.
func EncodeList(list []Event) []byte { return must(json.Marshal(list)) }

// DecodeList reads the events of an entry.
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

// must returns the encoding of a value of one of our types, which can always be encoded.
func must(text []byte, err error) []byte {
	if err != nil {
		panic("events: " + err.Error())
	}
	return text
}
