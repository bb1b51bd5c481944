// Package switchcase is `switch>`: it runs the tasks of the first case that a value fits. It is called by the host,
// between two steps of the engine, and must do no I/O.
package switchcase

import (
	"context"
	"regexp"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator is `switch>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "switch", Summary: "runs the tasks of the first case that a value fits", Inline: true, Run: run}
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
		fits, err := fits(name, value)
		if err != nil {
			return operators.Result{}, err
		}
		if fits {
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

// fits says whether a value is that of a case, or has what the regular expression between the slashes looks for.
func fits(name, value string) (bool, error) {
	inner, begins := strings.CutPrefix(name, "/")
	pattern, ends := strings.CutSuffix(inner, "/")
	if !begins || !ends {
		return name == value, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, param.Errorf("The case '%s' is no regular expression: %v", name, err)
	}
	return re.MatchString(value), nil
}
