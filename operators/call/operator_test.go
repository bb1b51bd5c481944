package call_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/call"
	"zerodag/operators/operatortest"
)

func child(t *testing.T, w *operatortest.World) {
	t.Helper()
	w.File(t, "child.dig", "timezone: Asia/Tokyo\n+x:\n  echo>: x\n")
	w.File(t, "sub/deep.dig", "_export: {a: 1}\n+x:\n  echo>: x\n")
	w.File(t, "wrong.dig", "junk: 1\n+x:\n  echo>: x\n")
}

func TestCall(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: call.Operator(),
		Good:     `{"_command": "child"}`,
		Wrong:    []string{`{}`, `{"_command": {}}`, `{"_command": "none.dig"}`, `{"_command": "wrong.dig"}`, `{"_command": "child", "_workdir": []}`},
		Prepare:  child,
	})
}

func TestWhatIsCalled(t *testing.T) {
	t.Parallel()
	const deep = `{"_export":{"a":1,"_workdir":"sub"},"+x":{"echo>":"x"}}`
	for params, want := range map[string]string{
		`{"_command": "child.dig"}`:                       `{"+x":{"echo>":"x"}}`,
		`{"_command": "child"}`:                           `{"+x":{"echo>":"x"}}`,
		`{"_command": "sub/deep"}`:                        deep,
		`{"_command": "deep", "_workdir": "sub"}`:         deep,
		`{"_command": "../child.dig", "_workdir": "sub"}`: `{"+x":{"echo>":"x"}}`,
	} {
		w := operatortest.New(t, params)
		child(t, w)
		if diff := cmp.Diff(operatortest.Ended{Subtasks: want}, operatortest.RunOnce(t, call.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]operatortest.Ended{
		`{"_command": "none"}`:                      {Error: "File not found: ROOT/none.dig", Kind: "config"},
		`{"_command": "none", "_workdir": "sub"}`:   {Error: "File not found: ROOT/sub/none.dig", Kind: "config"},
		`{"_command": "../x.dig"}`:                  {Error: "File name must not be outside of project path (ROOT): ../x.dig", Kind: "illegal argument"},
		`{"_command": "/etc/x.dig"}`:                {Error: "File name must not be outside of project path (ROOT): /etc/x.dig", Kind: "illegal argument"},
		`{"_command": "child", "_workdir": "/tmp"}`: {Error: "Working directory must not be outside of project path (ROOT): /tmp", Kind: "illegal argument"},
		`{"_command": "child", "_workdir": "a/../../b"}`: {
			Error: "Working directory must not be outside of project path (ROOT): a/../../b", Kind: "illegal argument"},
	} {
		w := operatortest.New(t, params)
		child(t, w)
		got := operatortest.RunOnce(t, call.Operator(), w)
		got.Error = strings.ReplaceAll(filepath.ToSlash(got.Error), filepath.ToSlash(w.Files.Root()), "ROOT")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}
