package digdag

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/client"
)

// past is a history in memory.
type past struct {
	survey    Survey
	parts     [][]client.PastAttempt
	schedules []client.PastSchedule
}

func (p past) Attempts(_ context.Context, _ Filter, survey func(Survey), do func([]client.PastAttempt) error) error {
	survey(p.survey)
	for _, part := range p.parts {
		if err := do(part); err != nil {
			return err
		}
	}
	return nil
}

func (p past) Schedules(context.Context, Filter) ([]client.PastSchedule, error) {
	return p.schedules, nil
}

// target records the sizes of calls, and fails at one of them.
type target struct {
	sizes     []int
	schedules []int
	failAt    int
}

func (t *target) ImportAttempts(_ context.Context, list []client.PastAttempt, dryRun bool) (client.ImportedAttempts, error) {
	if t.sizes = append(t.sizes, len(list)); len(t.sizes) == t.failAt {
		return client.ImportedAttempts{}, errors.New("no answer")
	}
	return client.ImportedAttempts{Added: len(list) - 1, Missing: []client.MissingWorkflow{{Project: "p", Workflow: "w", Attempts: 1}}, Refused: []string{"x"}}, nil
}

func (t *target) ImportSchedules(_ context.Context, list []client.PastSchedule, enabling string, dryRun bool) ([]client.ImportedSchedule, error) {
	t.schedules = append(t.schedules, len(list))
	return make([]client.ImportedSchedule, len(list)), nil
}

// TestMove proves that calls are limited in number and size, that the report adds them up, and that it survives an
// error.
func TestMove(t *testing.T) {
	t.Parallel()
	large := make([]client.PastAttempt, 5)
	for i := range large {
		large[i].Params = param.New("text", strings.Repeat("x", 900<<10))
	}
	history := past{survey: Survey{Attempts: 255, Unfinished: 2, Deleted: 3}, parts: [][]client.PastAttempt{make([]client.PastAttempt, 250), large}, schedules: make([]client.PastSchedule, 201)}
	var to target
	shown := [2]int{}
	r, err := Move(t.Context(), history, &to, Options{Enabling: "here", Progress: func(sent, of int) { shown = [2]int{sent, of} }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int{{200, 50, 2, 2, 1}, {200, 1}}, [][]int{to.sizes, to.schedules}); diff != "" {
		t.Errorf("sizes of the calls (-want +got):\n%s", diff)
	}
	want := Report{Attempts: 255, Added: 250, Unfinished: 2, Deleted: 3, Missing: []client.MissingWorkflow{{Project: "p", Workflow: "w", Attempts: 5}},
		Refused: []string{"x", "x", "x", "x", "x"}, Schedules: make([]client.ImportedSchedule, 201)}
	if diff := cmp.Diff(want, r); diff != "" || shown != [2]int{255, 255} {
		t.Errorf("last progress %v, report (-want +got):\n%s", shown, diff)
	}
	failing := target{failAt: 2}
	r, err = Move(t.Context(), history, &failing, Options{Enabling: "here", Progress: func(int, int) {}})
	if err == nil || r.Attempts != 200 || len(failing.schedules) > 0 {
		t.Errorf("after a failed call: error %v, %d attempts, schedules in %v", err, r.Attempts, failing.schedules)
	}
	one := past{survey: Survey{Attempts: 4}, parts: [][]client.PastAttempt{{{ID: "7", Params: param.New("text", strings.Repeat("x", 5<<20))},
		{Params: param.New("text", strings.Repeat("<b>&", 450<<10))}, {Params: param.New("text", strings.Repeat("<b>&", 450<<10))}, {}}}}
	var some target
	r, err = Move(t.Context(), one, &some, Options{Progress: func(int, int) {}})
	if err != nil || r.Attempts != 4 || len(r.Refused) == 0 || !strings.HasPrefix(r.Refused[0], "attempt 7 of workflow") {
		t.Errorf("an attempt that fits into no call: error %v, report %+v", err, r)
	}
	if diff := cmp.Diff([]int{1, 2}, some.sizes); diff != "" {
		t.Errorf("characters that pages escape take no more space (-want +got):\n%s", diff)
	}
	none := target{}
	if _, err := Move(t.Context(), history, &none, Options{Progress: func(int, int) {}}); err != nil || len(none.schedules) > 0 {
		t.Errorf("without enabling: error %v, schedules in %v, want none", err, none.schedules)
	}
}
