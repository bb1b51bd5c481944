// Package forrange implements `for_range>`: it runs subtasks for consecutive parts of a range of whole numbers. The
// host runs it between two steps of the engine; it must do no I/O.
package forrange

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `for_range>`.
func Operator() operators.Operator {
	return operators.Operator{
		Name: "for_range", Summary: "runs tasks for consecutive parts of a range of whole numbers", Inline: true, Run: run,
	}
}

// span is the range with the size of its parts, which is at least 1.
type span struct{ from, to, step int64 }

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	do, err := t.Params.Do()
	if err != nil {
		return operators.Result{}, err
	}
	command, err := operators.Read(t.Params, "_command", param.ParseMap)
	if err != nil {
		return operators.Result{}, err
	}
	s, err := readSpan(operators.NewParams(command))
	if err != nil {
		return operators.Result{}, err
	}
	if n := s.parts(); n > uint64(t.TaskLimit) {
		return operators.Result{}, param.Errorf("Too many for_range subtasks (%d). Limit: %d", n, t.TaskLimit)
	}
	group, err := s.subtasks(do)
	if err != nil {
		return operators.Result{}, err
	}
	return t.Params.Group(group)
}

func (s span) subtasks(do *param.Map) (*param.Map, error) {
	group := param.New()
	for i := range int64(s.parts()) {
		from := s.from + i*s.step
		to := s.to
		if uint64(s.to)-uint64(from) > uint64(s.step) {
			to = from + s.step
		}
		part := param.New("from", from, "to", to, "index", i)
		task, err := operators.WithExport(do, param.New("range", part))
		if err != nil {
			return nil, err
		}
		group.Set(fmt.Sprintf("+range-from=%d&to=%d", from, to), task)
	}
	return group, nil
}

// parts counts without overflow, no matter how far apart the ends are.
func (s span) parts() uint64 {
	if s.from >= s.to {
		return 0
	}
	return ceil(uint64(s.to)-uint64(s.from), uint64(s.step))
}

func ceil(n, by uint64) uint64 { return (n-1)/by + 1 }

func readSpan(p *operators.Params) (span, error) {
	var s span
	var err error
	if s.from, err = operators.Read(p, "from", asLong); err != nil {
		return s, err
	}
	if s.to, err = operators.Read(p, "to", asLong); err != nil {
		return s, err
	}
	s.step, err = step(p, s)
	return s, err
}

func step(p *operators.Params, s span) (int64, error) {
	size, err := operators.ReadOr(p, "step", asLong, 0)
	if err != nil {
		return 0, err
	}
	slices, err := operators.ReadOr(p, "slices", asLong, 0)
	if err != nil {
		return 0, err
	}
	switch {
	case p.Has("step") && p.Has("slices"):
		return 0, param.Errorf("Setting both step and slices options to for_range is invalid")
	case !p.Has("step") && !p.Has("slices"):
		return 0, param.Errorf("step or slices option is required for for_range")
	case p.Has("step") && size < 1:
		return 0, param.Errorf("step option must be same or greater than 1 but got %d", size)
	case p.Has("slices") && slices < 1:
		return 0, param.Errorf("slices option must be same or greater than 1 but got %d", slices)
	case p.Has("step"):
		return size, nil
	case s.from >= s.to:
		return 1, nil
	}
	return int64(ceil(uint64(s.to)-uint64(s.from), uint64(slices))), nil
}

// asLong reads a whole number; its errors use Digdag's type name.
func asLong(key string, v param.Value) (int64, error) {
	n, err := param.AsInt(key, v)
	var wrong *param.ConfigError
	if errors.As(err, &wrong) {
		return 0, param.Errorf("%s", strings.Replace(wrong.Message, "(int)", "(long)", 1))
	}
	return n, err
}
