package forrange_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/forrange"
	"zerodag/operators/operatortest"
)

func TestForRange(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: forrange.Operator(),
		Good:     `{"_command": {"from": 0, "to": 10, "step": 4}, "_do": {"echo>": "x"}}`,
		Wrong: []string{
			`{"_command": {"from": 0, "to": 1, "step": 1}}`, `{"_do": {}}`, `{"_command": 3, "_do": {}}`,
			`{"_command": {"from": 0, "to": 5}, "_do": {}}`, `{"_command": {"from": "x", "to": 5, "step": 1}, "_do": {}}`,
			`{"_command": {"from": 0, "to": 5000, "step": 1}, "_do": {}}`,
		},
	})
}

func TestRanges(t *testing.T) {
	t.Parallel()
	part := func(from, to, index string) string {
		return `"+range-from=` + from + `&to=` + to + `":{"_export":{"range":{"from":` + from + `,"to":` + to + `,"index":` + index + `}}}`
	}
	for command, want := range map[string]string{
		`{"from": 0, "to": 10, "slices": 3}`:      `{` + part("0", "4", "0") + `,` + part("4", "8", "1") + `,` + part("8", "10", "2") + `}`,
		`{"from": 0, "to": 2, "slices": 10}`:      `{` + part("0", "1", "0") + `,` + part("1", "2", "1") + `}`,
		`{"from": "-5", "to": "0", "step": 4}`:    `{` + part("-5", "-1", "0") + `,` + part("-1", "0", "1") + `}`,
		`{"from": 5, "to": 5, "slices": 1}`:       ``,
		`{"from": 9, "to": 5, "step": 1}`:         ``,
		`"{\"from\": 0, \"to\": 1, \"step\": 9}"`: `{` + part("0", "1", "0") + `}`,
		`{"from": 9223372036854775806, "to": 9223372036854775807, "step": 5}`: `{` +
			part("9223372036854775806", "9223372036854775807", "0") + `}`,
		`{"from": -9223372036854775808, "to": 9223372036854775807, "slices": 2}`: `{` +
			part("-9223372036854775808", "0", "0") + `,` + part("0", "9223372036854775807", "1") + `}`,
	} {
		w := operatortest.New(t, `{"_do": {}, "_command": `+command+`}`)
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, operatortest.RunOnce(t, forrange.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`{"from": 0, "to": 5, "step": 1, "slices": 2}`: "Setting both step and slices options to for_range is invalid",
		`{"from": 0, "to": 5}`:                         "step or slices option is required for for_range",
		`{"from": 0, "to": 5, "step": 0}`:              "step option must be same or greater than 1 but got 0",
		`{"from": 0, "to": 5, "slices": -1}`:           "slices option must be same or greater than 1 but got -1",
		`{"from": 0, "step": 1}`:                       "Parameter 'to' is required but not set",
		`{"from": "0.5", "to": 3, "step": 1}`:          `Expected integer (long) type for key 'from' but got "0.5" (string)`,
		`{"from": 0, "to": 1001, "step": 1}`:           "Too many for_range subtasks (1001). Limit: 1000",
	} {
		w := operatortest.New(t, `{"_do": {}, "_command": `+command+`}`)
		got := operatortest.RunOnce(t, forrange.Operator(), w)
		if diff := cmp.Diff(operatortest.Ended{Error: want, Kind: "config"}, got); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}
