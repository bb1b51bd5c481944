package foreach

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/operatortest"
)

func TestForEach(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: Operator(),
		Good:     `{"_command": {"a": [1, 2]}, "_parallel": true, "_do": {"echo>": "x"}}`,
		Wrong: []string{
			`{"_command": {"a": [1]}}`, `{"_do": {}}`, `{"_command": "x", "_do": {}}`, `{"_command": {"a": 3}, "_do": {}}`,
			`{"_command": {"a": null}, "_do": {}}`, `{"_command": {"a": [1]}, "_do": {"_export": 2}}`,
		},
	})
}

func TestNamesAndValues(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"_command": {"fruit": ["apple"], "verb": ["eat", "very long"]}, "_do": {}}`: `{"+for-0=fruit=0=apple&1=verb=0=eat":{"_export":{"fruit":"apple","verb":"eat"}},` +
			`"+for-0=fruit=0=apple&1=verb=1=very%20lon":{"_export":{"fruit":"apple","verb":"very long"}}}`,
		`{"_command": "{\"a\": \"[1.0, null]\"}", "_do": {}}`:   `{"+for-0=a=0=1.0":{"_export":{"a":1.0}},"+for-0=a=1=null":{"_export":{"a":null}}}`,
		`{"_command": {"a": [{"k": 1}]}, "_do": {}}`:            `{"+for-0=a=0=%7B%22k%22%3A1%7D":{"_export":{"a":{"k":1}}}}`,
		`{"_command": {"a": [1, 2], "b": []}, "_do": {}}`:       ``,
		`{"_command": {"a": [], "b": [1]}, "_do": {}}`:          `{"+for-1=b=0=1":{"_export":{"b":1}}}`,
		`{"_command": {}, "_parallel": true, "_do": {"+x": 1}}`: `{"_parallel":true}`,
	} {
		got := operatortest.RunOnce(t, Operator(), operatortest.New(t, params))
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"abcdefgh1": "abcdefgh", "a b/c": "a%20b%2Fc", "": "", "a*~": "a*%7E", "日本": "%E6%97%A5%E6%9C%AC",
		"abcdef😀x": "abcdef%F0%9F%98%80", "abcdefg😀": "abcdefg%3F",
	} {
		if got := tag(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": {"a": [1, 2, 3], "b": [1, 2]}, "_do": {}}`)
	w.TaskLimit = 5
	want := operatortest.Ended{Error: "Too many for_each subtasks. Limit: 5", Kind: "config"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, Operator(), w)); diff != "" {
		t.Error(diff)
	}
}
