package ifelse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/ifelse"
	"zerodag/operators/operatortest"
)

func TestIf(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ifelse.Operator(),
		Good:     `{"_command": true, "_do": {"echo>": "x"}, "_else_do": {"echo>": "y"}}`,
		Wrong: []string{
			`{"_do": {"a": 1}}`, `{"_command": "yes", "_do": {"a": 1}}`, `{"_command": true, "_do": "x"}`,
			`{"_command": true, "_do": {}}`, `{"_command": true, "_do": {"a": 1}, "_else_do": [1]}`,
		},
	})
}

func TestChoice(t *testing.T) {
	t.Parallel()
	const both = `, "_do": {"+a": {}}, "_else_do": {"+b": {}}}`
	for params, want := range map[string]string{
		`{"_command": true` + both:                   `{"+a":{}}`,
		`{"_command": "true"` + both:                 `{"+a":{}}`,
		`{"_command": 1` + both:                      `{"+a":{}}`,
		`{"_command": 0` + both:                      `{"+b":{}}`,
		`{"_command": ""` + both:                     `{"+b":{}}`,
		`{"_command": "false"` + both:                `{"+b":{}}`,
		`{"_command": false, "_do": {"+a": {}}}`:     "",
		`{"_command": true, "_else_do": {"+a": {}}}`: "",
	} {
		got := operatortest.RunOnce(t, ifelse.Operator(), operatortest.New(t, params))
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
