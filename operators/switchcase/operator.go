// Package switchcase implements `switch>`: it runs the tasks of the first case that matches a value. The host runs it
// between two steps of the engine; it must do no I/O.
package switchcase

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `switch>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "switch", Summary: "runs the tasks of the first case that matches a value", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	value, err := operators.ReadOr(t.Params, "_command", param.AsString, "")
	if err != nil {
		return operators.Result{}, err
	}
	cases, err := operators.Read(t.Params, "_cases", param.AsMap)
	if err != nil {
		return operators.Result{}, err
	}
	otherwise, err := operators.ReadOr(t.Params, "_default", param.AsMap, nil)
	if err != nil {
		return operators.Result{}, err
	}
	for name, v := range cases.All() {
		pattern, err := param.ParsePattern(name)
		if err != nil {
			return operators.Result{}, param.Errorf("The case '%s' is not a valid regular expression: %v", name, err)
		}
		if pattern.Is(value) {
			tasks, err := param.AsMap(name, v)
			return chosen(tasks), err
		}
	}
	return chosen(otherwise), nil
}

func chosen(tasks *param.Map) operators.Result {
	if tasks.Len() == 0 {
		return operators.Result{}
	}
	return operators.Result{Subtasks: tasks}
}
