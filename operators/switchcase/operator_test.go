package switchcase_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/operatortest"
	"zerodag/operators/switchcase"
)

func TestSwitch(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: switchcase.Operator(),
		Good:     `{"_command": "JP", "_cases": {"JP": {"echo>": "x"}}, "_default": {"echo>": "y"}}`,
		Wrong: []string{
			`{"_command": "JP"}`, `{"_command": "JP", "_cases": "x"}`, `{"_command": ["JP"], "_cases": {"JP": {"+a": {}}}}`,
			`{"_command": "JP", "_cases": {"JP": 1}}`, `{"_command": "JP", "_cases": {"/(/": {"+a": {}}}}`,
			`{"_command": "JP", "_cases": {"US": {"+a": {}}}, "_default": [1]}`,
		},
	})
}

// TestChoice checks that the task takes the first case that fits, in the order of the file.
func TestChoice(t *testing.T) {
	t.Parallel()
	const cases = `, "_cases": {"JP": {"+a": {}}, "/^U/": {"+b": {}}, "US": {"+c": {}}, "": {"+e": {}}, "7": {"+f": {}}, "true": {"+g": {}}, "none": null}`
	for params, want := range map[string]string{
		`{"_command": "JP"` + cases + `}`:                          `{"+a":{}}`,
		`{"_command": "US"` + cases + `}`:                          `{"+b":{}}`,
		`{"_command": ""` + cases + `}`:                            `{"+e":{}}`,
		`{` + cases[2:] + `}`:                                      `{"+e":{}}`,
		`{"_command": 7` + cases + `}`:                             `{"+f":{}}`,
		`{"_command": true` + cases + `}`:                          `{"+g":{}}`,
		`{"_command": "DE"` + cases + `}`:                          "",
		`{"_command": "DE"` + cases + `, "_default": {"+d": {}} }`: `{"+d":{}}`,
		`{"_command": "jp"` + cases + `, "_default": {"+d": {}} }`: `{"+d":{}}`,
	} {
		got := operatortest.RunOnce(t, switchcase.Operator(), operatortest.New(t, params))
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
