// Package foreach implements `for_each>`: it runs subtasks for every combination of values. The host runs it between
// two steps of the engine; it must do no I/O.
package foreach

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `for_each>`.
func Operator() operators.Operator {
	return operators.Operator{
		Name: "for_each", Summary: "runs tasks for each combination of values", Inline: true, Run: run,
	}
}

// variable is one key of the command with its place and values.
type variable struct {
	index  int
	name   string
	values []param.Value
}

// choice is one value of one variable.
type choice struct {
	variable variable
	index    int
}

func run(_ context.Context, t *operators.Task) (operators.Result, error) {
	do, err := t.Params.Do()
	if err != nil {
		return operators.Result{}, err
	}
	variables, err := variables(t)
	if err != nil {
		return operators.Result{}, err
	}
	group := param.New()
	for _, choices := range combinations(variables) {
		export := param.New()
		for _, c := range choices {
			export.Set(c.variable.name, c.variable.values[c.index])
		}
		task, err := operators.WithExport(do, export)
		if err != nil {
			return operators.Result{}, err
		}
		group.Set(taskName(choices), task)
	}
	return t.Params.Group(group)
}

func variables(t *operators.Task) ([]variable, error) {
	command, err := operators.Read(t.Params, "_command", param.ParseMap)
	if err != nil {
		return nil, err
	}
	if v, _ := t.Params.Get("_command"); param.KindOf(v) == "string" {
		if err := t.CheckNames(command); err != nil {
			return nil, err
		}
	}
	var list []variable
	for name := range command.All() {
		values, err := operators.Read(operators.NewParams(command), name, param.ParseList)
		if err != nil {
			return nil, err
		}
		list = append(list, variable{len(list), name, values})
	}
	total := 1
	for _, v := range list {
		if total *= len(v.values); total > t.TaskLimit {
			return nil, param.Errorf("Too many for_each subtasks. Limit: %d", t.TaskLimit)
		}
	}
	return list, nil
}

// combinations returns the product of all variables, the last one varying fastest. As in Digdag, variables without
// values are skipped until one has values; after that, an empty list means no combinations at all.
func combinations(variables []variable) [][]choice {
	var all [][]choice
	for _, v := range variables {
		seeds := all
		if len(seeds) == 0 {
			seeds = [][]choice{nil}
		}
		all = nil
		for _, seed := range seeds {
			for i := range v.values {
				all = append(all, append(seed[:len(seed):len(seed)], choice{v, i}))
			}
		}
	}
	return all
}
