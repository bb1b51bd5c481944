package fail_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/fail"
	"zerodag/operators/operatortest"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]operatortest.Ended{
		`{"_command": "broke"}`:    {Error: "broke"},
		`{"_command": 42}`:         {Error: "42"},
		`{}`:                       {Error: ""},
		`{"_command": {"a": "b"}}`: {Error: `Expected string type for key '_command' but got {"a":"b"} (object)`, Kind: "config"},
	} {
		got := operatortest.RunOnce(t, fail.Operator(), operatortest.New(t, params))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
