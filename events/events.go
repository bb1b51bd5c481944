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

	"zerodag/engine"
)

// Version is the newest form that this package reads and writes.
const Version = 1

// Task is a message of the queue "tasks": runs to be done, or something that happens to
// the attempt at the message's time.
type Task struct {
	V    int          `json:"v"`
	Runs []engine.Run `json:"runs,omitempty"`
	Then *Event       `json:"then,omitempty"`
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
	return t, version(t.V)
}

// Event is a message of the queue "events", and what a log entry says happened. Results
// are not part of it: the changes hold them.
type Event struct {
	V    int         `json:"v,omitempty"`
	Kind Kind        `json:"event"`
	Run  *engine.Run `json:"run,omitempty"`
}

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Start     Kind = "start" // the attempt was started
	GoOn      Kind = "go_on"
	Kill      Kind = "kill"
	Due       Kind = "due"
	SLADue    Kind = "sla_due"
	Lost      Kind = "lost"
	Succeeded Kind = "succeeded"
	Failed    Kind = "failed"
	Later     Kind = "later" // a poll or a retry was asked for
)

// Of describes an event of the engine.
func Of(e engine.Event) Event {
	switch e := e.(type) {
	case engine.Start:
		return Event{Kind: Start}
	case engine.GoOn:
		return Event{Kind: GoOn}
	case engine.Kill:
		return Event{Kind: Kill}
	case engine.SLADue:
		return Event{Kind: SLADue}
	case engine.Due:
		return Event{Kind: Due, Run: &e.Run}
	case engine.Lost:
		return Event{Kind: Lost, Run: &e.Run}
	case engine.Succeeded:
		return Event{Kind: Succeeded, Run: &e.Run}
	case engine.Errored:
		return Event{Kind: Failed, Run: &e.Run}
	case engine.Later:
		return Event{Kind: Later, Run: &e.Run}
	}
	panic(fmt.Sprintf("events: unknown event %T", e))
}

// Engine is the event for the engine, brought by the message with this guard. A start is
// none: the attempt was started when its log began.
func (e Event) Engine(guard string) engine.Event {
	by := engine.By{Guard: guard}
	switch e.Kind {
	case GoOn:
		return engine.GoOn{By: by}
	case Kill:
		return engine.Kill{By: by}
	case SLADue:
		return engine.SLADue{By: by}
	case Due:
		return engine.Due{By: by, Run: *e.Run}
	}
	return nil
}

func (e Event) check() error {
	switch e.Kind {
	case Start, GoOn, Kill, SLADue:
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
