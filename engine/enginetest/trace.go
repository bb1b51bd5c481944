package enginetest

import (
	"fmt"

	"zerodag/engine"
)

// Trace is what the states of tasks did in scenarios, for docs/state-machine.md.
type Trace struct {
	Moves    map[Move]bool
	Refusals map[string]map[engine.Refusal]bool // by kind of event
}

// Move is one transition of a kind of task. From is "new" for tasks that are made.
type Move struct{ From, To string }

func (t *Trace) event(e engine.Event, why engine.Refusal) {
	if t.Refusals == nil {
		t.Refusals = map[string]map[engine.Refusal]bool{}
	}
	kind := fmt.Sprintf("%T", e)[len("engine."):]
	if t.Refusals[kind] == nil {
		t.Refusals[kind] = map[engine.Refusal]bool{}
	}
	t.Refusals[kind][why] = true
}

func (t *Trace) applied(c engine.Change, before engine.Progress, _ *engine.State) {
	x, ok := c.(engine.TaskChanged)
	if !ok {
		return
	}
	if t.Moves == nil {
		t.Moves = map[Move]bool{}
	}
	t.Moves[Move{before.State.String(), x.Progress.State.String()}] = true
}
