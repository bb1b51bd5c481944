package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// TestOutstandingChangesNothing checks finding 14.4: reading what a message owes changes nothing, not even the order of
// an index. It ends a hundred tasks that one message owes, from the middle, so that its list of debts gets holes and is
// swept.
func TestOutstandingChangesNothing(t *testing.T) {
	t.Parallel()
	const tasks = 100
	config := param.New("_parallel", true)
	for i := range tasks {
		config.Set(fmt.Sprintf("+t%03d", i), param.New("sh>", "x"))
	}
	def, err := Define(dig.Workflow{Name: "wf", Zone: "UTC", Config: config})
	if err != nil {
		t.Fatal(err)
	}
	s, now := New(def, nil), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(e Event) {
		t.Helper()
		if _, why := s.Step(e, now); why != "" {
			t.Fatalf("%#v: %s", e, why)
		}
	}
	step(Start{By: By{Guard: "start"}, Limit: HardLimit})
	for left := tasks; left > 0; left-- {
		before := debts(s)
		list := s.Outstanding("start")
		s.Outstanding("another")
		if after := debts(s); !maps.EqualFunc(before, after, slices.Equal) {
			t.Fatalf("with %d tasks left the index was changed:\n%v\n%v", left, before, after)
		}
		if len(list) != left {
			t.Fatalf("%d effects, want %d", len(list), left)
		}
		for i, e := range list[1:] {
			if list[i].(Dispatch).Task >= e.(Dispatch).Task {
				t.Fatalf("effects are not in the order of tasks: %v", list)
			}
		}
		step(Succeeded{By: By{Guard: "result"}, Run: list[left/2].(Dispatch).Run})
		if d := s.owed["start"]; d != nil && len(d.tasks) > max(leastSwept, 2*d.live+1) {
			t.Fatalf("%d entries for %d tasks that are owed: they are never swept", len(d.tasks), d.live)
		}
	}
	if list := s.Outstanding("start"); len(list) != 0 {
		t.Errorf("after all tasks it owes %v", list)
	}
}

// debts returns a copy of the index of outstanding effects.
func debts(s *State) map[string][]TaskID {
	all := map[string][]TaskID{}
	for guard, d := range s.owed {
		all[guard] = slices.Clone(d.tasks)
	}
	return all
}
