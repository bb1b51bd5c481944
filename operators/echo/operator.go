// Package echo implements `echo>`: it shows a message. The host runs it between two steps of the engine; it must do no
// I/O except writing to the task's log.
package echo

import (
	"context"

	"zerodag/operators"
)

// Operator returns `echo>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "echo", Summary: "prints a message to the task's log and wherever the workflow is watched", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	message, err := t.Params.String("_command")
	if err == nil {
		t.Log.Echo(message)
	}
	return operators.Result{}, err
}
