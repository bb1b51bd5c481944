// Package paramstore implements `param_set>` and `param_get>`: text stored for tasks of other attempts and projects.
// Any agent may run them; they must use no store but operators.ParamStore.
package paramstore

import (
	"context"
	"fmt"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operators returns `param_set>` and `param_get>`.
func Operators() []operators.Operator {
	return []operators.Operator{
		{Name: "param_set", Summary: "stores values for other attempts", Retries: true, Run: set},
		{Name: "param_get", Summary: "reads values stored by param_set>", Retries: true, Run: get},
	}
}

// entry is one of the task's keys with its text.
type entry struct{ key, text string }

// entries returns all of the task's own keys, including `_retry` and the like, as in Digdag.
func entries(t *operators.Task) ([]entry, error) {
	if t.Store == nil {
		return nil, param.Errorf("param_server.type is required to use this operator.")
	}
	if t.Local.Len() == 0 {
		return nil, param.Errorf("no key is set.")
	}
	var list []entry
	for key, v := range t.Local.All() {
		t.Params.Get(key)
		if v == nil {
			continue
		}
		text, err := param.AsString(key, v)
		if err != nil {
			return nil, err
		}
		list = append(list, entry{key, text})
	}
	return list, nil
}

func set(ctx context.Context, t *operators.Task) (operators.Result, error) {
	list, err := entries(t)
	if err != nil {
		return operators.Result{}, err
	}
	values := make(map[string]string, len(list))
	for _, e := range list {
		values[e.key] = e.text
	}
	if err := t.Store.Set(ctx, values); err != nil {
		return operators.Result{}, fmt.Errorf("store params: %w", err)
	}
	return operators.Result{}, nil
}

func get(ctx context.Context, t *operators.Task) (operators.Result, error) {
	list, err := entries(t)
	if err != nil {
		return operators.Result{}, err
	}
	values := param.New()
	for _, e := range list {
		value, _, err := t.Store.Get(ctx, e.key) // a missing value is the empty string
		if err != nil {
			return operators.Result{}, fmt.Errorf("read param %s: %w", e.key, err)
		}
		values.Set(e.text, value)
	}
	return operators.Result{Store: values}, nil
}
