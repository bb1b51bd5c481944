// Package echo is `echo>`: it shows a message. It is called by the host, between two
// steps of the engine, and must do no I/O but the task's log.
package echo

import (
	"context"

	"zerodag/operators"
)

// Operator is `echo>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "echo", Summary: "shows a message, in the task's log and where the workflow is watched", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	message, err := t.Params.String("_command")
	if err == nil {
		t.Log.Echo(message)
	}
	return operators.Result{}, err
}
