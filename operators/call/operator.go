// Package call implements `call>`: it runs another workflow file as subtasks. The host runs it between two steps of the
// engine; it must do no I/O except reading the project through Files.
package call

import (
	"context"
	"strings"

	"zerodag/operators"
)

// Operator returns `call>`.
func Operator() operators.Operator {
	return operators.Operator{
		Name: "call", Summary: "runs another workflow file as sub-tasks", Inline: true, Retries: true, Run: run,
	}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	file, err := t.Params.String("_command")
	if err != nil {
		return operators.Result{}, err
	}
	if !strings.HasSuffix(file, ".dig") {
		file += ".dig"
	}
	name, err := t.FileName(file)
	if err != nil {
		return operators.Result{}, err
	}
	subtasks, err := t.Files.Load(name)
	if err != nil {
		return operators.Result{}, t.FileError(name, err)
	}
	return operators.Result{Subtasks: subtasks}, nil
}
