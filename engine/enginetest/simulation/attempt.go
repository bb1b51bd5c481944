// Package simulation drives random attempts through random events, checks the invariants of the engine after each event
// and compares the engine with a small reference model.
//
// Tests of package engine and of hosts use it. It must never read a clock or draw a random number: choices are passed
// in. The model must stay slow and literal, and must not share any code with the engine.
package simulation

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/enginetest"
	"zerodag/engine/enginetest/draw"
	"zerodag/engine/param"
	"zerodag/engine/resume"
)

// Attempt drives a random attempt through random events, including the worst that a host can encounter, and checks the
// invariants after each event.
type Attempt struct {
	draw.Choose
	// Check, unless nil, checks further invariants after each event.
	Check func(*engine.State) error
	// Large makes operators generate more than one portion. There is then no model, because a model creates all tasks at
	// once.
	Large bool
	// Gated gives the workflow keys that need `zerodag: 1`. The model supports none of them.
	Gated bool

	def     *engine.Definition
	state   *engine.State
	mirror  *engine.State // from stored changes only
	earlier *enginetest.Earlier
	model   *Model
	now     time.Time
	events  int
	past    []engine.Event // events that applied
	guards  []string
	ran     map[engine.TaskID]int // finished runs of each task
	owed    map[engine.TaskID]owed
	final   map[engine.TaskID]engine.Progress
	forced  bool // a second kill applied
}

type owed struct {
	dispatch int
	guard    string
	waits    bool
}

// Start creates a workflow and starts its attempt.
func (s *Attempt) Start() error {
	raw := s.Workflow()
	if s.Gated {
		raw = s.Extended(raw)
		if s.One("outputs", 3) {
			raw.Set("outputs", param.New("rows", "${rows}"))
		}
		raw.Set("zerodag", int64(1))
		if s.One("tasks", 4) {
			raw.Set("concurrency", param.New("tasks", int64(1+s.Choose("places", 3))))
		}
	}
	w, err := dig.Define("wf", raw)
	if err != nil {
		return fmt.Errorf("random workflow: %w", err)
	}
	if s.def, err = engine.Define(w); err != nil {
		return err
	}
	limit := 1000
	if s.One("limited", 4) && !s.Large {
		limit = len(s.def.Nodes) + s.Choose("limit", 8)
	}
	s.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.owed, s.final, s.ran = map[engine.TaskID]owed{}, map[engine.TaskID]engine.Progress{}, map[engine.TaskID]int{}
	s.state, s.mirror = engine.New(s.def, nil), engine.New(s.def, nil)
	if !s.Large && !s.Gated {
		s.model = NewModel(s.def, limit)
	}
	return s.feed(s.start(limit, nil))
}

// Resume starts a new attempt of the same workflow from the finished one, perhaps only a part of it. It returns false
// if there is nothing to resume. There is no model of resuming.
func (s *Attempt) Resume() (bool, error) {
	carried, err := resume.Failed(s.state)
	if part := s.part(); !part.IsEmpty() {
		if carried, err = resume.OfPart(s.def, s.state, carried, part, s.now); err != nil && !strings.Contains(err.Error(), "Task pattern") {
			return false, err
		}
	}
	if err != nil {
		return false, nil // neither a success nor a part without tasks can be resumed
	}
	s.earlier = &enginetest.Earlier{State: s.state, Carried: carried, Earlier: s.earlier}
	s.model, s.past, s.guards, s.forced = nil, nil, nil, false
	s.owed, s.final, s.ran = map[engine.TaskID]owed{}, map[engine.TaskID]engine.Progress{}, map[engine.TaskID]int{}
	s.state, s.mirror = engine.New(s.def, nil), engine.New(s.def, nil)
	return true, s.feed(s.start(1000, carried))
}

// part draws the tasks that a resumed attempt skips, if any.
func (s *Attempt) part() (p engine.Part) {
	tasks := s.state.Tasks()
	name := func() string { return tasks[s.Choose("part", len(tasks))].Name }
	switch s.Choose("mode", 6) {
	case 3:
		p.Only = name()
	case 4:
		p.Until = name()
	case 5:
		p.Done = []string{name(), name()}
	}
	return p
}

func (s *Attempt) start(limit int, carried []engine.Carried) engine.Start {
	e := engine.Start{By: s.by(), Params: s.Params(), Limit: limit, Carried: carried}
	if s.Gated {
		e.Priority = s.Choose("priority", 5) - 2
	}
	if s.Gated && s.One("at", 5) {
		e.At = s.now.Add(time.Duration(s.Choose("minutes", 3)) * time.Minute)
	}
	if s.Gated && s.One("slot", 3) {
		e.Slot = &claim.Pool{Name: "whole", Slots: 1, Size: 1}
	}
	return e
}

// Ended reports whether the attempt has ended.
func (s *Attempt) Ended() bool { return s.state.Ended() }

func (s *Attempt) by() engine.By {
	s.events++
	return engine.By{Guard: fmt.Sprintf("m%d", s.events)}
}

// Step feeds one random event.
func (s *Attempt) Step() error {
	s.now = s.now.Add(time.Duration(s.Choose("seconds", 20)) * time.Second)
	switch s.Choose("event", 16) {
	case 11:
		if len(s.past) > 0 {
			return s.feed(again(s.past[s.Choose("which", len(s.past))], s.by()))
		}
	case 12:
		run := engine.Run{Task: engine.TaskID(s.Choose("task", len(s.state.Tasks())+2)), Dispatch: s.Choose("dispatch", 4)}
		return s.feed(s.ending(run, true))
	case 13:
		if s.Gated && s.One("pause", 3) {
			if s.state.Paused() != nil {
				return s.feed(engine.Unpause{By: s.by()})
			}
			return s.feed(engine.Pause{By: s.by(), Who: "alice"})
		}
		if s.One("kill", 4) {
			return s.feed(engine.Kill{By: s.by(), Force: s.One("second", 2)})
		}
	case 14:
		return s.feed(engine.GoOn{By: s.by()})
	case 15:
		return s.reload()
	}
	return s.carryOut(true)
}

// Finish carries out everything that is owed, and lets every run succeed, until the attempt has ended.
func (s *Attempt) Finish() error {
	for range 20_000 {
		if s.Ended() {
			return s.afterEnd()
		}
		if err := s.carryOut(false); err != nil {
			return err
		}
	}
	return fmt.Errorf("the attempt is stuck or endless: %s", s.dump())
}

// carryOut carries out one effect that some guard owes.
func (s *Attempt) carryOut(wild bool) error {
	effects := s.answered()
	if s.state.Paused() != nil && (len(effects) == 0 || !wild) {
		return s.feed(engine.Unpause{By: s.by()})
	}
	if len(effects) == 0 {
		return fmt.Errorf("nothing is owed and the attempt is not over: %s", s.dump())
	}
	return s.answer(effects[s.Choose("effect", len(effects))], wild)
}

// answered returns the owed effects that an event answers.
func (s *Attempt) answered() (effects []engine.Effect) {
	for _, g := range s.guards {
		for _, e := range s.state.Outstanding(g) {
			if _, released := e.(engine.Release); !released { // releases have no answer
				effects = append(effects, e)
			}
		}
	}
	return effects
}

// run carries out the run of a dispatched task.
func (s *Attempt) run(e engine.Dispatch, wild bool) error {
	if wild && e.At.IsZero() && s.One("fence", 20) {
		return s.feed(engine.Fenced{By: s.by(), Run: e.Run})
	}
	if !e.At.IsZero() && s.One("due", 2) {
		return s.feed(engine.Due{By: s.by(), Run: e.Run})
	}
	return s.feed(s.ending(e.Run, wild))
}

// answer feeds an event that answers an effect.
func (s *Attempt) answer(e engine.Effect, wild bool) error {
	switch e := e.(type) {
	case engine.Dispatch:
		return s.run(e, wild)
	case engine.Acquire:
		if wild && s.One("lost", 6) {
			return s.feed(engine.Lost{By: s.by(), Run: e.Run})
		}
		if wild && s.One("no slots", 6) {
			return s.feed(engine.Errored{By: s.by(), Run: e.Run, Error: param.New("message", "no such pool")})
		}
		return s.feed(engine.Granted{By: s.by(), Run: e.Run})
	case engine.Timer:
		if wild && s.One("lost", 6) {
			return s.feed(engine.Lost{By: s.by(), Run: e.Run})
		}
		return s.feed(engine.Due{By: s.by(), Run: e.Run})
	case engine.TimeoutTimer:
		return s.feed(engine.TimedOut{By: s.by(), Expiry: e.Expiry})
	case engine.StartTimer:
		return s.feed(engine.StartDue{By: s.by()})
	case engine.SLATimer:
		return s.feed(engine.SLADue{By: s.by()})
	case engine.Continue:
		return s.feed(engine.GoOn{By: s.by()})
	}
	return nil
}

// ending returns an event that a run may end with.
func (s *Attempt) ending(run engine.Run, wild bool) engine.Event {
	if t := s.state.Task(run.Task); t != nil && t.Preparing && (!wild || !s.One("unprepared", 4)) {
		return s.prepared(t, run)
	}
	if !wild {
		return engine.Succeeded{By: s.by(), Run: run}
	}
	switch s.Choose("ending", 12) {
	case 7, 8, 9:
		return engine.Errored{By: s.by(), Run: run, Error: param.New("message", fmt.Sprintf("e%d", s.Choose("error", 3)))}
	case 10:
		after := time.Duration(s.Choose("after", 3)) * 700 * time.Millisecond
		return engine.Later{By: s.by(), Run: run, After: after, Retry: s.One("retry", 2), State: param.New("retry_count", int64(s.Choose("count", 3)))}
	case 11:
		return engine.Lost{By: s.by(), Run: run}
	}
	o := s.Outcome(1)
	if s.Large && s.One("large", 3) && len(s.state.Tasks()) < 400 {
		o.Subtasks = enginetest.Loop(190+s.Choose("rounds", 30), true)
	}
	if len(s.state.Tasks()) > 150 && !s.Large {
		o.Subtasks = nil
	}
	return engine.Succeeded{By: s.by(), Run: run, Result: o}
}

// prepared returns the result of a run that prepares a task.
func (s *Attempt) prepared(t *engine.Task, run engine.Run) engine.Event {
	e := engine.Prepared{By: s.by(), Run: run}
	if t.Ends {
		e.Outputs = param.New("rows", int64(s.Choose("rows", 3)))
	} else if s.One("skip", 3) {
		e.Skip = "_if is false"
	} else if s.One("pool", 2) {
		first := s.Choose("first pool", 5)
		claim := s.claim(fmt.Sprint("p", first))
		for i := range s.Choose("pools", 3) {
			claim.Then = append(claim.Then, s.claim(fmt.Sprint("p", first+i+1)))
		}
		e.Pool = &claim
	}
	if t.Config.Has("_timeout") {
		e.Timeout = &claim.Limits{Try: time.Duration(s.Choose("try", 3)) * time.Minute, Total: time.Duration(s.Choose("total", 3)) * 2 * time.Minute, Warn: time.Duration(s.Choose("warn", 3)) * 20 * time.Second}
	}
	return e
}

func (s *Attempt) claim(name string) claim.Pool {
	return claim.Pool{Name: name, Slots: 1 + s.Choose("slots", 2), Inherits: s.One("inherits", 2), Wait: time.Duration(s.Choose("wait", 3)) * time.Minute, Size: 2 * s.Choose("size", 2)}
}

// again returns an event as delivered a second time, by a different message.
func again(e engine.Event, by engine.By) engine.Event {
	switch e := e.(type) {
	case engine.Succeeded:
		e.By = by
		return e
	case engine.Prepared:
		e.By = by
		return e
	case engine.Granted:
		e.By = by
		return e
	case engine.Errored:
		e.By = by
		return e
	case engine.Later:
		e.By = by
		return e
	case engine.Due:
		e.By = by
		return e
	case engine.Lost:
		e.By = by
		return e
	case engine.TimedOut:
		e.By = by
		return e
	case engine.SLADue:
		return engine.SLADue{By: by}
	case engine.Kill:
		e.By = by
		return e
	case engine.Pause:
		e.By = by
		return e
	case engine.Unpause:
		e.By = by
		return e
	case engine.StartDue:
		e.By = by
		return e
	}
	return e
}

// reload continues with a snapshot's state.
func (s *Attempt) reload() error {
	fresh, err := s.snapshot()
	if err != nil {
		return err
	}
	s.state = fresh
	return enginetest.SameState(s.state, s.mirror)
}

func (s *Attempt) snapshot() (*engine.State, error) {
	text, err := engine.EncodeState(s.state)
	if err != nil {
		return nil, err
	}
	return engine.DecodeState(s.def, nil, text)
}

func (s *Attempt) dump() string {
	text := ""
	for _, t := range s.state.Tasks() {
		text += fmt.Sprintf("\n#%d %s %v d=%d", t.ID, t.Name, t.State, t.Dispatch)
	}
	return text
}
