package operatortest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Subject is an operator with JSON parameters that show how it behaves.
type Subject struct {
	Operator operators.Operator
	Good     string   // of a run that succeeds or requests another run
	Wrong    []string // each is the project's own mistake: a ConfigError
	Slow     string   // of a run that never ends; "" if there is none

	ReadsAll bool                         // passes on all parameters, so none are unused
	Own      bool                         // belongs to a project, so has no page
	Prepare  func(t *testing.T, w *World) // creates what Good and Slow need; may be nil
}

// Exercise checks what every operator must guarantee.
func Exercise(t *testing.T, s Subject) {
	t.Helper()
	t.Run("is described", s.described)
	t.Run("has a page", s.hasPage)
	t.Run("does not modify its input", s.changesNothing)
	t.Run("reports unknown keys", s.reportsUnknown)
	t.Run("preserves other state", s.keepsState)
	t.Run("is repeatable", s.repeats)
	t.Run("reports invalid parameters", s.wrong)
	t.Run("stops when canceled", s.stops)
	t.Run("stops at its deadline", s.timesOut)
}

func (s Subject) world(t *testing.T, params string) *World {
	t.Helper()
	w := New(t, params)
	if s.Prepare != nil {
		s.Prepare(t, w)
	}
	return w
}

// good runs Good; the only error that it may return is Later.
func (s Subject) good(t *testing.T, w *World) (operators.Result, *operators.Later) {
	t.Helper()
	result, err := s.Operator.Run(t.Context(), &w.Task)
	var later *operators.Later
	if err != nil && !errors.As(err, &later) {
		t.Fatalf("run: %v\nlog:\n%s", err, w.Output)
	}
	return result, later
}

func (s Subject) described(t *testing.T) {
	if s.Operator.Name == "" || s.Operator.Summary == "" || s.Operator.Run == nil {
		t.Errorf("name, summary and Run are required: %+v", s.Operator)
	}
}

// changesNothing checks that a run does not change parameter trees, which all tasks of an attempt share.
func (s Subject) changesNothing(t *testing.T) {
	w := s.world(t, s.Good)
	before := []string{param.Text(w.Params.All()), param.Text(w.Local), param.Text(w.State), param.Text(w.Config)}
	s.good(t, w)
	after := []string{param.Text(w.Params.All()), param.Text(w.Local), param.Text(w.State), param.Text(w.Config)}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the run changed its input: %s", diff)
	}
}

func (s Subject) reportsUnknown(t *testing.T) {
	if s.ReadsAll {
		t.Skip("this operator passes on all parameters")
	}
	params := Map(t, s.Good)
	params.Set("nobody_reads_this", int64(1))
	w := s.world(t, param.Text(params))
	s.good(t, w)
	if w.Params.Used("nobody_reads_this") {
		t.Error("the operator read an unknown key")
	}
	for _, key := range Map(t, s.Good).Keys() {
		if !w.Params.Used(key) {
			t.Errorf("%s is used, but the task log would report it as unused", key)
		}
	}
}

// keepsState checks that the operator keeps the count of `_retry` in its state.
func (s Subject) keepsState(t *testing.T) {
	w := s.world(t, s.Good)
	w.State = param.New("retry_count", int64(2))
	_, later := s.good(t, w)
	if later == nil {
		return
	}
	if v, _ := later.State.Get("retry_count"); v != int64(2) {
		t.Errorf("the state of the next run lost retry_count: %s", param.Text(later.State))
	}
}

// repeats checks that a run may be delivered twice.
func (s Subject) repeats(t *testing.T) {
	w := s.world(t, s.Good)
	first, _ := s.good(t, w)
	second, _ := s.good(t, w)
	for name, pair := range map[string][2]*param.Map{
		"sub-tasks": {first.Subtasks, second.Subtasks},
		"export":    {first.Export, second.Export},
		"store":     {first.Store, second.Store},
	} {
		if !param.Equal(pair[0], pair[1]) {
			t.Errorf("%s differ: %s and %s", name, param.Text(pair[0]), param.Text(pair[1]))
		}
	}
}

func (s Subject) wrong(t *testing.T) {
	for _, params := range s.Wrong {
		w := s.world(t, params)
		_, err := s.Operator.Run(t.Context(), &w.Task)
		var config *param.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s: got error %v, want a ConfigError", params, err)
		}
	}
}

// stops checks that a killed attempt does not wait for its tasks.
func (s Subject) stops(t *testing.T) {
	if s.Slow == "" {
		t.Skip("this operator never runs long")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.interrupted(t, ctx, cancel, context.Canceled)
}

func (s Subject) timesOut(t *testing.T) {
	if s.Slow == "" {
		t.Skip("this operator never runs long")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s.interrupted(t, ctx, nil, context.DeadlineExceeded)
}

// interrupted runs Slow; started is called once it is known to run.
func (s Subject) interrupted(t *testing.T, ctx context.Context, started func(), want error) {
	t.Helper()
	w := s.world(t, s.Slow)
	if started != nil {
		w.Output.OnWrite(started)
		time.AfterFunc(100*time.Millisecond, started) // for operators that write nothing
	}
	begin := time.Now()
	if _, err := s.Operator.Run(ctx, &w.Task); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("the run took %v to stop", took)
	}
}
