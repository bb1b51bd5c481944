package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"zerodag/engine"
)

// Trace records the states of tasks in scenarios, for docs/state-machine.md.
type Trace struct {
	moves    map[move]map[string]bool           // with the kinds of events that caused them
	refusals map[string]map[engine.Refusal]bool // by kind of event; empty if it applied
	last     string
	waits    map[engine.Reason]bool // the waits that were seen
}

type move struct{ from, to engine.TaskState }

func (t *Trace) event(e engine.Event, why engine.Refusal) {
	if t.refusals == nil {
		t.moves, t.refusals = map[move]map[string]bool{}, map[string]map[engine.Refusal]bool{}
	}
	t.last = strings.TrimPrefix(fmt.Sprintf("%T", e), "engine.")
	if t.refusals[t.last] == nil {
		t.refusals[t.last] = map[engine.Refusal]bool{}
	}
	t.refusals[t.last][why] = true
}

// waiting records what an attempt's tasks wait for.
func (t *Trace) waiting(s *engine.State) {
	if t.waits == nil {
		t.waits = map[engine.Reason]bool{}
	}
	for _, x := range s.Tasks() {
		t.waits[s.WaitingOf(x.ID).Reason] = true
	}
}

// Waits reports whether a task was seen to wait for something.
func (t *Trace) Waits(r engine.Reason) bool { return t.waits[r] }

func (t *Trace) applied(c engine.Change, before engine.Progress) {
	x, ok := c.(engine.TaskChanged)
	if !ok {
		return
	}
	m := move{before.State, x.Progress.State}
	if t.moves[m] == nil {
		t.moves[m] = map[string]bool{}
	}
	t.moves[m][t.last] = true
}

// Add adds the records of another scenario.
func (t *Trace) Add(other *Trace) {
	if t.refusals == nil {
		t.moves, t.refusals = map[move]map[string]bool{}, map[string]map[engine.Refusal]bool{}
	}
	for m, kinds := range other.moves {
		if t.moves[m] == nil {
			t.moves[m] = map[string]bool{}
		}
		maps.Copy(t.moves[m], kinds)
	}
	if t.waits == nil {
		t.waits = map[engine.Reason]bool{}
	}
	maps.Copy(t.waits, other.waits)
	for kind, whys := range other.refusals {
		if t.refusals[kind] == nil {
			t.refusals[kind] = map[engine.Refusal]bool{}
		}
		maps.Copy(t.refusals[kind], whys)
	}
}

// Diagram draws all transitions that were seen, with the events that caused them.
func (t *Trace) Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> blocked\n")
	moves := slices.SortedFunc(maps.Keys(t.moves), func(a, b move) int {
		return int(a.from)*100 + int(a.to) - int(b.from)*100 - int(b.to)
	})
	for _, m := range moves {
		fmt.Fprintf(&b, "    %v --> %v: %s\n", m.from, m.to, strings.Join(slices.Sorted(maps.Keys(t.moves[m])), ", "))
	}
	for s := engine.Blocked; s <= engine.Canceled; s++ {
		if s.Done() {
			fmt.Fprintf(&b, "    %v --> [*]\n", s)
		}
	}
	return b.String()
}

// Refusals lists the possible refusals for a kind of event, in a fixed order.
func (t *Trace) Refusals(kind string) []string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(t.refusals[kind])) {
		if why != "" {
			list = append(list, string(why))
		}
	}
	return list
}
