package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/plugin"
	"zerodag/operators/run"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const says = "#!/bin/sh\necho \"$0\" \"$@\"\n"
	for _, c := range []struct{ name, params, want string }{
		{"plain", `{}`, "./operators/plain\n"},
		{"tool", `{}`, "./operators/tool.sh\n"},
		{"tool.sh", `{}`, "./operators/tool.sh\n"},
		{"tool", `{"_workdir": "a/b"}`, "../../operators/tool.sh\n"},
		{"linked", `{}`, "./operators/linked\n"},
		{"mixed", `{}`, "./operators/mixed.py\n"}, // next to a module that is not executable
		{"named", `{"plugin": {"operators": {"named": {"command": ["lib/run.sh", "-x", "a b"]}}}}`, "./lib/run.sh -x a b\n"},
		{"named", `{"_workdir": "a", "plugin": {"operators": {"named": {"command": "lib/run.sh"}}}}`, "../lib/run.sh\n"},
		{"plain", `{"plugin": {"operators": {"plain": {"command": ["echo", "declared"]}}}}`, "declared\n"},
		{"plain", `{"plugin": {"repositories": ["https://example.com"], "dependencies": ["a:b:1"]}}`, "./operators/plain\n"},
		{"plain", `{"plugin": "text"}`, "./operators/plain\n"},
	} {
		w := operatortest.New(t, c.params)
		w.Folder(t, "a/b")
		for _, file := range []string{"plain", "tool.sh", "mixed.py", "../lib/run.sh"} {
			script(t, w, file, says)
		}
		w.File(t, "operators/mixed.json", "{}")
		if err := os.Symlink("plain", filepath.Join(w.Files.Root(), "operators/linked")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, own(t, w, c.name), w)); diff != "" {
			t.Errorf("%s> %s: %s", c.name, c.params, diff)
		}
		if diff := cmp.Diff(c.want, w.Output.String()); diff != "" {
			t.Errorf("%s> %s: %s", c.name, c.params, diff)
		}
	}
}

// TestNotFound checks that an unknown name gets the usual message, and that the error about a mistake contains a
// remedy.
func TestNotFound(t *testing.T) {
	t.Parallel()
	const unknown = "Unknown task type: "
	for _, c := range []struct{ name, params, want string }{
		{"nosuch", `{}`, unknown + "nosuch"},
		{"../lib/run", `{}`, unknown + "../lib/run"},
		{"*", `{}`, unknown + "*"},
		{"folder", `{}`, unknown + "folder"},
		{"java", `{"plugin": {"repositories": ["https://example.com"], "dependencies": ["a:java:1"]}}`, unknown + "java"},
		{"other", `{"plugin": {"operators": {"java": {"command": ["x"]}}}}`, unknown + "other"},
		{"locked", `{}`, "operators/locked.py is not executable: run `chmod +x operators/locked.py` and push the project again (archives made without file modes lose them)"},
		{"twice", `{}`, "twice> is ambiguous: keep one of operators/twice.py, operators/twice.sh"},
		{"x", `{"plugin": {"operators": {"x": {"command": []}}}}`, "plugin.operators.x.command is empty: write a program and its arguments"},
		{"x", `{"plugin": {"operators": {"x": {}}}}`, "Parameter 'command' is required but not set"},
		{"x", `{"plugin": {"operators": {"x": {"command": ["a"], "cwd": "b"}}}}`, "plugin.operators.x has the unknown key 'cwd': write command, a list of strings"},
		{"x", `{"plugin": {"operators": {"x": 1}}}`, "Parameter 'plugin.operators.x' must be an object"},
	} {
		w := operatortest.New(t, c.params)
		w.Folder(t, "operators/folder")
		script(t, w, "twice.py", "#!/bin/sh\n")
		script(t, w, "twice.sh", "#!/bin/sh\n")
		script(t, w, "../lib/run", "#!/bin/sh\n")
		w.File(t, "operators/locked.py", "#!/bin/sh\n")
		_, found, err := plugin.Operator().Find(&w.Task, c.name)
		got := unknown + c.name
		if err != nil {
			got = err.Error()
		}
		if found || got != c.want {
			t.Errorf("%s> %s: %v, got %q, want %q", c.name, c.params, found, got, c.want)
		}
	}
}

// TestNoProject checks that a missing project is not reported as an unknown name.
func TestNoProject(t *testing.T) {
	t.Parallel()
	w := operatortest.New(t, `{}`)
	w.Files = gone{w.Files}
	if _, _, err := plugin.Operator().Find(&w.Task, "x"); err == nil || !strings.Contains(err.Error(), "look for operators of the project") {
		t.Errorf("got %v", err)
	}
}

type gone struct{ operators.Files }

func (gone) Root() string { return "/nosuch/project" }

// TestRegistry checks that built-in operators take precedence, that an operator that neither a registry nor a project
// contains is unknown, and that no `_retry` retries it.
func TestRegistry(t *testing.T) {
	t.Parallel()
	ran := ""
	with := func(o operators.Operator) operators.Registry { return operators.NewRegistry(o, plugin.Operator()) }
	w := operatortest.New(t, `{}`)
	script(t, w, "echo", "#!/bin/sh\nexit 9\n")
	if names := with(operators.Operator{Name: "echo"}).Names(); !cmp.Equal(names, []string{"echo"}) {
		t.Errorf("names %v", names)
	}
	for config, want := range map[string]string{
		`{"echo>": "x"}`:                "",
		`{"nosuch>": "x", "_retry": 3}`: "Unknown task type: nosuch (config)",
		`{"*>": "x"}`:                   "Unknown task type: * (config)",
	} {
		echo := operators.Operator{Name: "echo", Run: func(_ context.Context, _ *operators.Task) (operators.Result, error) {
			ran = "built in"
			return operators.Result{}, nil
		}}
		job := &run.Job{Task: w.Task, Own: operatortest.Map(t, config), Vars: param.New(), Vault: noSecrets{}}
		out := run.Run(t.Context(), with(echo), asWritten{}, job)
		message, _ := out.Error.Get("message")
		if text, _ := message.(string); text != want || out.Later != nil {
			t.Errorf("%s: %+v, want %q", config, out, want)
		}
	}
	if ran != "built in" {
		t.Error("a file of the project took the place of a built-in operator")
	}
}

// asWritten evaluates nothing.
type asWritten struct{}

func (asWritten) Eval(_ context.Context, all, _ *param.Map, _ expr.Scope) (*param.Map, error) {
	return all, nil
}

func (asWritten) Template(_ context.Context, text string, _ *param.Map, _ expr.Scope) (string, error) {
	return text, nil
}

type noSecrets struct{}

func (noSecrets) Secret(string) (string, bool, error) { return "", false, nil }
