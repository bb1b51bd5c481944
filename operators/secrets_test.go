package operators_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators"
	"zerodag/operators/operatortest"
)

func secretTask() *operators.Task {
	return &operators.Task{Secrets: operatortest.Vault{"a.b": "value", "odd": `$1 \ ${secret:a.b}`, "empty": ""}}
}

func TestSecretText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                         "plain",
		"":                              "",
		"x${secret:a.b}y${secret:a.b}z": "xvalueyvaluez",
		"${ secret : a.b }":             "value",
		"${secret:odd}":                 `$1 \ ${secret:a.b}`,
		"[${secret:empty}]":             "[]",
		"${secret:\na.b\n}":             "value",
		"${name}":                       "${name}",
		"$NAME $(cmd) ${secret:a.b":     "$NAME $(cmd) ${secret:a.b",
		"${secret:}":                    "${secret:}",
		"${secret:none}":                "error: Secret not found for key: 'none'",
		"${x:-y}":                       "error: Invalid parametrization: '${x:-y}'",
		"${secret:none} ${x:y}":         "error: Invalid parametrization: '${x:y}'",
		"${a} and ${secret:a.b}":        "error: Invalid parametrization: '${a} and ${secret:a.b}'",
	} {
		got, err := secretTask().SecretText(text)
		if err != nil {
			got = "error: " + err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if hidden := strings.Contains(want, "value") || strings.Contains(text, "secret:odd"); hidden && !operators.HasSecret(text) {
			t.Errorf("%q has a secret", text)
		}
	}
}

// FuzzSecretText checks that any text around the secrets stays unchanged.
func FuzzSecretText(f *testing.F) {
	for _, text := range []string{"${secret:a.b}", "${x:y}", "$${", "${secret:}", "${secret:a.b}}", "${${secret:a.b}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := secretTask().SecretText(text)
		if err == nil && !operators.HasSecret(text) && got != text {
			t.Errorf("%q became %q", text, got)
		}
		if strings.ContainsAny(text, "${}:") {
			return
		}
		if got, err := secretTask().SecretText(text + "${secret:a.b}" + text); err != nil || got != text+"value"+text {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	})
}
