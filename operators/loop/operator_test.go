package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/loop"
	"zerodag/operators/operatortest"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: loop.Operator(),
		Good:     `{"_command": 3, "_parallel": {"limit": 2}, "_do": {"echo>": "x", "_export": {"a": 1}}}`,
		Wrong: []string{
			`{"_command": 3}`, `{"_do": {}}`, `{"_command": "many", "_do": {}}`, `{"count": 3, "_do": {}}`,
			`{"_command": 1001, "_do": {}}`, `{"_command": 1, "_do": 1}`, `{"_command": 1, "_do": {"_export": 1}}`,
			`{"_command": 1, "_do": {}, "_parallel": [1]}`, `{"_command": 1, "_do": {}, "_parallel": {}}`,
			`{"_command": 1, "_do": {}, "_parallel": "x"}`,
		},
	})
}

func TestSubtasks(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"_command": "2", "_do": {"echo>": "x"}}`:                                           `{"+loop-0":{"echo>":"x","_export":{"i":0}},"+loop-1":{"echo>":"x","_export":{"i":1}}}`,
		`{"_command": 9, "count": 1, "_do": {}}`:                                             `{"+loop-0":{"_export":{"i":0}}}`,
		`{"_command": 0, "_do": {}}`:                                                         ``,
		`{"_command": -2, "_do": {}}`:                                                        ``,
		`{"_command": 1, "_parallel": "true", "_do": {"_export": {"b": 1, "i": 9, "c": 2}}}`: `{"+loop-0":{"_export":{"b":1,"i":0,"c":2}},"_parallel":"true"}`,
		`{"_command": 0, "_parallel": {"limit": "3"}, "_do": {}}`:                            `{"_parallel":{"limit":"3"}}`,
		`{"_command": 0, "_parallel": {"limit": 0}, "_do": {}}`:                              `{"_parallel":{"limit":0}}`,
		`{"_command": 0, "_parallel": false, "_do": {}}`:                                     ``,
	} {
		got := operatortest.RunOnce(t, loop.Operator(), operatortest.New(t, params))
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
