// Package ifelse implements `if>`: it runs subtasks if a condition holds, or others if it does not. The host runs it
// between two steps of the engine; it must do no I/O.
package ifelse

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `if>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "if", Summary: "runs tasks if a condition is true, or other tasks if it is false", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	then, err := operators.ReadOr(t.Params, "_do", param.AsMap, nil)
	if err != nil {
		return operators.Result{}, err
	}
	otherwise, err := operators.ReadOr(t.Params, "_else_do", param.AsMap, nil)
	if err != nil {
		return operators.Result{}, err
	}
	holds, err := operators.Read(t.Params, "_command", param.AsBool)
	if err != nil {
		return operators.Result{}, err
	}
	if then.Len() == 0 && otherwise.Len() == 0 {
		return operators.Result{}, param.Errorf("Both _do and _else_do are not specified.")
	}
	chosen := otherwise
	if holds {
		chosen = then
	}
	if chosen.Len() == 0 {
		return operators.Result{}, nil
	}
	return operators.Result{Subtasks: chosen}, nil
}
