// Package loop implements `loop>`: it runs subtasks a number of times. The host runs it between two steps of the
// engine; it must do no I/O.
package loop

import (
	"context"
	"strconv"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `loop>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "loop", Summary: "runs tasks a number of times", Inline: true, Run: run}
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	do, err := t.Params.Do()
	if err != nil {
		return operators.Result{}, err
	}
	count, err := count(t.Params)
	if err != nil {
		return operators.Result{}, err
	}
	if count > int64(t.TaskLimit) {
		return operators.Result{}, param.Errorf("Too many loop subtasks. Limit: %d", t.TaskLimit)
	}
	group := param.New()
	for i := range count {
		task, err := operators.WithExport(do, param.New("i", i))
		if err != nil {
			return operators.Result{}, err
		}
		group.Set("+loop-"+strconv.FormatInt(i, 10), task)
	}
	return t.Params.Group(group)
}

// count returns `count` or the command; the command must exist in any case, as in Digdag.
func count(p *operators.Params) (int64, error) {
	command, err := p.Int("_command")
	if err != nil {
		return 0, err
	}
	return p.IntOr("count", command)
}
