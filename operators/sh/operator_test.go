package sh_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/sh"
)

func TestSh(t *testing.T) {
	t.Parallel()
	operatortest.Exercise(t, operatortest.Subject{
		Operator: sh.Operator(),
		Good:     `{"_command": "true"}`,
		Slow:     `{"_command": "echo begun; sleep 1000"}`,
		ReadsAll: true,
		Wrong: []string{
			`{}`, `{"_command": []}`, `{"_command": "true", "shell": "/bin/sh"}`, `{"_command": "true", "shell": [[]]}`,
			`{"_command": "true", "sh": "x"}`, `{"_command": "true", "_env": {"A-B": "x"}}`, `{"_command": "true", "_env": {"A": [1]}}`,
			`{"_command": "true", "_env": 1}`, `{"_command": "echo ${x:-y}"}`, `{"_command": "true", "_workdir": {}}`,
		},
	})
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"_command": "echo $a $b $c", "a": "text", "b": {"x": [1]}, "c": 1.5}`:         "text {\"x\":[1]} 1.5\n",
		`{"_command": "echo $A", "A": 1, "_env": {"A": 2}}`:                             "2\n",
		`{"_command": "echo $A", "_env": {"A": "<${secret:k.e}>"}}`:                     "<v$1>\n",
		`{"_command": "echo '${secret: k.e }'"}`:                                        "v$1\n",
		`{"_command": "echo $DIGDAG_TASK_NAME $DIGDAG_TRY"}`:                            "+main+task 1\n",
		`{"_command": "echo $DIGDAG_TRY", "DIGDAG_TRY": "mine"}`:                        "mine\n",
		`{"_command": "echo $DIGDAG_PROJECT $DIGDAG_ATTEMPT_ID $DIGDAG_SESSION_ID"}`:    "project 5 4\n",
		`{"_command": "echo $DIGDAG_IDEMPOTENCY_KEY"}`:                                  "0-5-6\n",
		`{"_command": "echo $ZERODAG_TASK_NAME $ZERODAG_TRY $ZERODAG_IDEMPOTENCY_KEY"}`: "+main+task 1 0-5-6\n",
		`{"_command": "echo $ZERODAG_PROJECT $ZERODAG_ATTEMPT_ID $ZERODAG_SESSION_ID"}`: "project 5 4\n",
		// A parameter overrides either name, and _env overrides the parameter. The other name keeps its value.
		`{"_command": "echo $ZERODAG_TRY $DIGDAG_TRY", "ZERODAG_TRY": "mine"}`:                               "mine 1\n",
		`{"_command": "echo $ZERODAG_TRY $DIGDAG_TRY", "_env": {"DIGDAG_TRY": "mine"}, "DIGDAG_TRY": "x"}`:   "1 mine\n",
		`{"_command": "echo $ZERODAG_TRY $DIGDAG_TRY", "_env": {"ZERODAG_TRY": "mine"}, "ZERODAG_TRY": "x"}`: "mine 1\n",
		`{"_command": "echo $0 | sed 's/[0-9][0-9]*-[0-9][0-9]*/N/'"}`:                                       ".digdag/tmp/digdag-sh-N/runner.sh\n",
		`{"_command": "pwd | sed 's#.*/##'; echo $0 | cut -c1-18", "_workdir": "a/b"}`:                       "b\n../../.digdag/tmp/\n",
		`{"_command": "echo begun; false; echo never", "sh": {"shell": ["/bin/sh", "-x"]}}`:                  "+ echo begun\nbegun\n+ false\n+ echo never\nnever\n",
	} {
		w := operatortest.New(t, params)
		w.Folder(t, "a/b")
		w.Vault["k.e"] = "v$1"
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, sh.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if diff := cmp.Diff(want, w.Output.String()); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]operatortest.Ended{
		`{"_command": "true", "a": null}`:                    {Error: "Parameter 'a' is required but null", Kind: "config"},
		`{"_command": "exit 3"}`:                             {Error: "Command failed with code 3", Kind: "runtime"},
		`{"_command": "kill -9 $$"}`:                         {Error: "Command failed with code 137 (signal 9, killed)", Kind: "runtime"},
		`{"_command": "${secret:none}"}`:                     {Error: "Secret not found for key: 'none'", Kind: "secret not found"},
		`{"_command": "x", "_env": {"A": "${secret:none}"}}`: {Error: "Secret not found for key: 'none'", Kind: "secret not found"},
		`{"_command": "${BASH:+x}"}`:                         {Error: "Invalid parametrization: '${BASH:+x}'", Kind: "config"},
		`{"_command": "x", "_workdir": "none"}`:              {Error: `Cannot run program "/bin/sh" (in directory "ROOT/none"): there is no such directory`, Kind: "runtime"},
		`{"_command": "x", "shell": ["/nosuch/shell"]}`:      {Error: `Cannot run program "/nosuch/shell" (in directory "ROOT"): no such file or directory`, Kind: "runtime"},
	} {
		w := operatortest.New(t, params)
		got := operatortest.RunOnce(t, sh.Operator(), w)
		got.Error = strings.ReplaceAll(got.Error, w.Files.Root(), "ROOT")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestScratchNames checks that names keep the form that they have in Digdag's logs, unless the host names a folder.
func TestScratchNames(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^\.digdag/tmp/digdag-sh-\d+-\d+/runner\.sh\n$`)
	seen := map[string]bool{}
	for dispatch := range 3 {
		w := operatortest.New(t, `{"_command": "echo $0"}`)
		w.Dispatch = dispatch
		operatortest.RunOnce(t, sh.Operator(), w)
		if name := w.Output.String(); !form.MatchString(name) || seen[name] {
			t.Errorf("dispatch %d: %q", dispatch, name)
		} else {
			seen[name] = true
		}
	}
	w := operatortest.New(t, `{"_command": "echo $0"}`)
	w.RunFolder = operators.RunFolder
	operatortest.RunOnce(t, sh.Operator(), w)
	if name := w.Output.String(); !regexp.MustCompile(`^\.zerodag/tmp/zerodag-sh-\d+-\d+/runner\.sh\n$`).MatchString(name) {
		t.Errorf("in a named folder: %q", name)
	}
}

// TestStopsAtTheFirstFailure checks that a script in a file with `zerodag: 1` ends at the first command that fails,
// with each installed shell, and that `+e` in `shell` turns this off.
func TestStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level       int
		params      string
		goesOn      bool
		needs, want string
	}{
		{0, `{}`, true, "", ""}, {1, `{}`, false, "", "Command failed with code 1"},
		{1, `{"shell": ["/bin/sh", "+e"]}`, true, "", ""}, {1, `{"sh": {"shell": ["/bin/sh", "-u"]}}`, false, "", "Command failed with code 1"},
		{1, `{"shell": ["bash"]}`, false, "bash", "Command failed with code 1"}, {1, `{"shell": ["/usr/bin/env", "bash"]}`, false, "bash", "Command failed with code 1"},
		{1, `{"shell": ["dash", "-x"]}`, false, "dash", "Command failed with code 1"}, {0, `{"shell": ["bash"]}`, true, "bash", ""},
		{1, `{"_env": {"A": "1"}}`, false, "", "Command failed with code 1"},
	} {
		if _, err := exec.LookPath(c.needs); c.needs != "" && err != nil {
			continue
		}
		w := operatortest.New(t, c.params)
		w.Level = c.level
		w.Params.All().Set("_command", "echo one\nfalse\necho two\n")
		got := operatortest.RunOnce(t, sh.Operator(), w)
		if got.Error != c.want || strings.Contains(w.Output.String(), "two") != c.goesOn {
			t.Errorf("%d %s: %+v, %q", c.level, c.params, got, w.Output.String())
		}
	}
	for script, want := range map[string]string{"set +e\nfalse\necho two": "", "false || true\necho two": "", "if false; then :; fi\necho two": "", "exit 3": "Command failed with code 3"} {
		w := operatortest.New(t, `{}`)
		w.Level = 1
		w.Params.All().Set("_command", script)
		if got := operatortest.RunOnce(t, sh.Operator(), w); got.Error != want {
			t.Errorf("%q: %+v", script, got)
		}
	}
}

// TestOtherProgramsStay checks that no option is added to a program that is not a shell.
func TestOtherProgramsStay(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{"_command": "text", "shell": ["/bin/cat"]}`)
	w.Level = 1
	if got := operatortest.RunOnce(t, sh.Operator(), w); got.Error != "" || w.Output.String() != "text" && w.Output.String() != "text\n" {
		t.Errorf("%+v, %q", got, w.Output.String())
	}
}
