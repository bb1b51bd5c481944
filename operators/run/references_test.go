package run_test

import (
	"context"
	"testing"

	"zerodag/engine/param"
	"zerodag/internal/evaluators/evaluator"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/run"
)

// TestWrittenReferences checks that a secret is inserted where a project's own text refers to it, and nowhere else: a
// reference that comes from data, in any pieces, is never resolved.
func TestWrittenReferences(t *testing.T) {
	t.Parallel()
	data := param.DataMap(param.New("evil", "${secret:a.b}", "open", "${secret:a.", "env", "a", "dollar", "$",
		"tail", "b}", "both", "x ${secret:a.b} ${1+1}", "shell", "${HOME:-x}",
		"other", "a} ${secret:a.b"))
	for own, want := range map[string]string{
		"${secret:a.b}":                          "value",
		"pw=${secret:a.b}&n=${evil}":             "pw=value&n=${secret:a.b}",
		"${evil}":                                "${secret:a.b}",
		"${evil}${secret:a.b}":                   "${secret:a.b}value",
		"${both}":                                "x ${secret:a.b} ${1+1}",
		"${open}b}":                              "${secret:a.b}",
		"${open + tail}":                         "${secret:a.b}",
		"${'$' + '{secret:a.b}'}":                "${secret:a.b}",
		"${dollar}{secret:a.b}":                  "value", // the project contains the name
		"${secret:${env}.b}":                     "value", // the project lets the data choose
		"${secret:${other}}":                     "error: Secret not found for key: 'a'",
		"$${secret:a.b}":                         "value", // as in Digdag
		"${shell}":                               "${HOME:-x}",
		"${secret:a.b} ${evil.split('').length}": "value 13",
		"${code}":                                "value", // an _export in the project
		"${data} ${evil}":                        "${secret:a.b} ${secret:a.b}",
		"nested ${f.g} ${f}":                     "nested value {\"g\":\"value\",\"d\":\"${secret:a.b}\"}",
		"${f.g + ''}":                            "value",
	} {
		vars := param.Merge(data, param.New("code", "${secret:a.b}", "data", param.Literal("${secret:a.b}"),
			"f", param.New("g", "${secret:a.b}", "d", param.Literal("${secret:a.b}"))))
		if own == "${code}" {
			own = "${secret:a.b}"
		}
		if got := secretOf(t, own, vars); got != want {
			t.Errorf("%s: got %q, want %q", own, got, want)
		}
	}
}

// TestReferencesInParts checks the same for strings that an operator extracts from a parameter: JSON from the project
// may refer to secrets, but JSON that was fetched may not.
func TestReferencesInParts(t *testing.T) {
	t.Parallel()
	vars := param.DataMap(param.New("fetched", `{"k":"\u0024{secret:a.b}"}`))
	for own, want := range map[string]string{
		`{"k":"${secret:a.b}"}`: "value",
		`${fetched}`:            "${secret:a.b}",
	} {
		got := secretIn(t, own, vars, func(task *operators.Task, text string) (string, error) {
			m, err := param.ParseMap("json", text)
			if err != nil {
				return "", err
			}
			k, _ := m.Get("k")
			part, _ := k.(string)
			return task.SecretPart(text, part)
		})
		if got != want {
			t.Errorf("%s: got %q, want %q", own, got, want)
		}
	}
}

func secretOf(t *testing.T, command string, vars *param.Map) string {
	t.Helper()
	return secretIn(t, command, vars, (*operators.Task).SecretText)
}

type vault map[string]string

func (v vault) Secret(key string) (string, bool, error) {
	value, found := v[key]
	return value, found, nil
}

// secretIn runs a task that reads its command with the secrets in it.
func secretIn(t *testing.T, command string, vars *param.Map, read func(*operators.Task, string) (string, error)) string {
	t.Helper()
	got := "not run"
	registry := operators.NewRegistry(operators.Operator{Name: "look", Run: func(_ context.Context, task *operators.Task) (operators.Result, error) {
		text, err := task.Params.String("_command")
		if err == nil {
			text, err = read(task, text)
		}
		if got = text; err != nil {
			got = "error: " + err.Error()
		}
		return operators.Result{}, nil
	}})
	j := &run.Job{Own: param.New("look>", command), Vars: vars, Vault: vault{"a.b": "value"}}
	j.Log = operatortest.New(t, "{}").Log
	if out := run.Run(t.Context(), registry, evaluator.InProcess(nil), j); out.Error != nil {
		return "error: " + param.Text(out.Error)
	}
	return got
}
