// Package fail is `fail>`: it fails the task with a message. It is called by the host,
// between two steps of the engine, and must do no I/O.
package fail

import (
	"context"

	"zerodag/operators"
)

// Operator is `fail>`.
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
