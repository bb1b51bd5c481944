// Package fail implements `fail>`: it fails the task with a message. The host runs it between two steps of the engine;
// it must do no I/O.
package fail

import (
	"context"

	"zerodag/operators"
)

// Operator returns `fail>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "fail", Summary: "fails the task with a message", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	message, err := t.Params.StringOr("_command", "")
	if err != nil {
		return operators.Result{}, err
	}
	return operators.Result{}, &operators.Failure{Message: message}
}
