// Package http implements `http>` and `http_call>`: the first sends an HTTP request, and the second runs the response
// as tasks. Any agent may run them. They must open connections only through the task's client, and must never log a
// secret.
package http

import (
	"context"
	"unicode/utf16"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operators returns `http>` and `http_call>`.
func Operators() []operators.Operator {
	return []operators.Operator{
		{Name: "http", Summary: "sends an HTTP request", Retries: true, Run: run},
		{Name: "http_call", Summary: "runs the tasks of a workflow file that an HTTP server returns", Retries: true, Run: runCall},
	}
}

const (
	defaultMaxStored    = 64 << 10 // characters
	defaultMaxRedirects = 8
)

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	r, err := newRequest(t)
	if err != nil {
		return operators.Result{}, err
	}
	secret, found, err := t.Secrets.Get("http.uri")
	if err != nil {
		return operators.Result{}, err
	}
	if found {
		r.params.Get("_command")
		err = r.setURI(secret, true)
	} else {
		err = r.setCommandURI()
	}
	if err != nil {
		return operators.Result{}, err
	}
	store, err := r.params.BoolOr("store_content", false)
	if err != nil {
		return operators.Result{}, err
	}
	answer, err := r.run(ctx)
	if err != nil {
		return operators.Result{}, err
	}
	return r.result(answer, store)
}

// result returns what the task stores about a response. Values stored by an earlier `http>` are reset.
func (r *request) result(a *answer, store bool) (operators.Result, error) {
	stored := param.New("last_status", int64(a.status))
	reset := [][]string{{"http", "last_status"}}
	if store {
		text, err := a.text("")
		if err != nil {
			return operators.Result{}, err
		}
		if err := limit(text, r.settings.maxStored); err != nil {
			return operators.Result{}, err
		}
		stored.Set("last_content", text)
		reset = append(reset, []string{"http", "last_content"})
	}
	return operators.Result{Store: param.New("http", stored), ResetStore: reset}, nil
}

// limit returns an error if a string is too long, in characters as Digdag counts them: UTF-16 units.
func limit(text string, most int64) error {
	if n := int64(units(text)); n > most {
		return operators.Failf("Response content too large: %d > %d", n, most)
	}
	return nil
}

func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}
