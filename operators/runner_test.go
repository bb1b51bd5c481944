package operators_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
)

const fullReport = `{"subtask_config": {"+subtask0": {"sh>": "x"}}, "export_params": {"a": 1}, "store_params": {"b": [2.0]},
	"error": {"class": "E", "message": "m", "backtrace": ["1", "2"]}}`

func TestParseReport(t *testing.T) {
	t.Parallel()
	r, err := operators.ParseReport([]byte(fullReport))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{param.Text(r.Subtasks), param.Text(r.Export), param.Text(r.Store), r.Reason(), r.Trace()}
	want := []string{`{"+subtask0":{"sh>":"x"}}`, `{"a":1}`, `{"b":[2.0]}`, "E: m", "1\n2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "[]", "{", `{"error": 1}`, `{"store_params": []}`, `{"error": {"backtrace": "x"}}`, `{"error": {"class": {}}}`} {
		if _, err := operators.ParseReport([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// FuzzParseReport checks that no report causes harm, since a user's program writes the file.
func FuzzParseReport(f *testing.F) {
	f.Add([]byte(fullReport))
	f.Add([]byte(`{"subtask_config": null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := operators.ParseReport(content)
		if err != nil {
			return
		}
		_ = r.Reason() // no report may cause a panic
		if n := len(r.Trace()); n > 17<<10 {
			t.Errorf("a traceback of %d bytes", n)
		}
		_ = r.Result()
		for _, m := range []*param.Map{r.Subtasks, r.Export, r.Store} {
			if again, err := param.ParseJSON(param.Text(m)); m != nil && (err != nil || !param.Equal(again, m)) {
				t.Errorf("%s does not read back: %v", param.Text(m), err)
			}
		}
	})
}
