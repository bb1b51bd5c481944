package py_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/operatortest"
	"zerodag/operators/py"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err == nil {
		return
	}
	if strings.Contains(os.Getenv("REQUIRE"), "python") {
		t.Fatal("python3 is not on this machine, and REQUIRE names it")
	}
	t.Skip("NOT TESTED: python3 is not on this machine")
}

const module = `
import digdag, os, sys

def good():
    pass

def slow():
    import time
    print("begun")
    sys.stdout.flush()
    time.sleep(1000)

def hello(name, n=3, *, only="kw"):
    print("hello %s %r %s" % (name, n, only))

def everything(**kw):
    print(sorted(kw))

class Klass(object):
    greeting = "class"
    def __init__(self, arg):
        self.arg = arg
    def run(self, name):
        print("run %s %s" % (self.arg, name))
    def method(self):
        print("method " + self.arg)
    @staticmethod
    def static(name):
        print("static " + name)
    @classmethod
    def of_class(cls, name):
        print(cls.greeting + " " + name)

class Plain:
    def run(self):
        print("plain")

def results():
    digdag.env.store({"a": 1}, b=[1.0, None])
    digdag.env.store(c=digdag.env.params["name"])
    digdag.env.export({"d": {"e": True}})
    digdag.env.set_state(x=1)
    digdag.env.add_subtask(hello, name="sub")
    digdag.env.add_subtask({"sh>": "true"}, _retry=1)
    digdag.env.add_subtask(Klass.method)

def boom():
    raise ValueError("exploded: é")

def leaves():
    sys.exit(3)

def unfit():
    digdag.env.store(a=object())

def unfit_task():
    digdag.env.add_subtask(a=object())

def ours():
    import zerodag
    zerodag.env.store({"a": 1}, b=zerodag.env.params["name"])
    zerodag.env.export(c=2)
    zerodag.env.set_state(x=1)
    zerodag.env.add_subtask(hello, name="sub")
    digdag.env.store(same=zerodag is digdag)

def mine():
    import zerodag
    digdag.env.store(zerodag=hasattr(zerodag, "mine"), digdag=hasattr(digdag, "mine"))

def older():
    import digdag_env
    digdag_env.store_params["old"] = digdag_env.params["name"]

def here():
    print(os.path.basename(os.getcwd()))
`

func tasks(t *testing.T, w *operatortest.World) {
	t.Helper()
	w.File(t, "tasks.py", module)
	w.File(t, "zerodag.py", "mine = True\ndef f():\n    pass\n")
	w.File(t, "digdag.py", "mine = True\ndef f():\n    pass\n")
	w.File(t, "pkg/__init__.py", "")
	w.File(t, "pkg/inner.py", "def f():\n    print('inner')\n")
	w.File(t, "sub/local.py", "import os\ndef f():\n    print(os.path.basename(os.getcwd()))\n")
	w.File(t, "syntax.py", "def f(:\n")
	w.File(t, "tokenize.py", "def f():\n    print('never')\n")
	w.File(t, "needs.py", "import nosuchmodule\ndef f():\n    pass\n")
}

func TestPy(t *testing.T) {
	t.Parallel()
	needPython(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: py.Operator(),
		Good:     `{"_command": "tasks.good"}`,
		Slow:     `{"_command": "tasks.slow"}`,
		ReadsAll: true,
		Prepare:  tasks,
		Wrong: []string{
			`{}`, `{"_command": []}`, `{"_command": "tasks.good", "py": 1}`, `{"_command": "tasks.good", "python": {}}`,
			`{"_command": "tasks.good", "python": 3}`, `{"_command": "tasks.good", "python": [{}]}`, `{"script": {}}`,
		},
	})
}

func TestOutput(t *testing.T) {
	t.Parallel()
	needPython(t)
	for params, want := range map[string]string{
		`{"_command": "tasks.hello", "name": "world"}`:                                      "hello world 3 kw\n",
		`{"_command": "tasks.hello", "name": "é✓", "n": 1.0, "only": 12345678901234567890}`: "hello é✓ 1.0 12345678901234567890\n",
		`{"_command": "tasks.everything", "b": 1, "a": 2}`:                                  "['_command', 'a', 'b']\n",
		`{"_command": "tasks.Klass", "arg": "A", "name": "N"}`:                              "run A N\n",
		`{"_command": "tasks.Klass.method", "arg": "A"}`:                                    "method A\n",
		`{"_command": "tasks.Klass.static", "arg": "A", "name": "N"}`:                       "static N\n",
		`{"_command": "tasks.Klass.of_class", "arg": "A", "name": "N"}`:                     "class N\n",
		`{"_command": "tasks.Plain"}`:                                                       "plain\n",
		`{"_command": "pkg.inner.f"}`:                                                       "inner\n",
		`{"_command": "local.f", "_workdir": "sub"}`:                                        "sub\n",
		`{"_command": "tasks.good", "python": ["python3", "-v"], "py": {}}`:                 "*",
		`{"_command": "local.f", "_workdir": "sub", "py": {"python": "python3"}}`:           "sub\n",
	} {
		w := operatortest.New(t, params)
		tasks(t, w)
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, py.Operator(), w)); diff != "" {
			t.Errorf("%s: %s\n%s", params, diff, w.Output)
		}
		if got := w.Output.String(); got != want && want != "*" {
			t.Errorf("%s: got %q, want %q", params, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	needPython(t)
	for command, want := range map[string]operatortest.Ended{
		"tasks.results": {
			Store:  `{"a":1,"b":[1.0,null],"c":"world"}`,
			Export: `{"d":{"e":true}}`,
			Subtasks: `{"+subtask0":{"name":"sub","py>":"tasks.hello"},"+subtask1":{"sh>":"true","_retry":1},` +
				`"+subtask2":{"py>":"tasks.Klass.method"}}`,
		},
		"tasks.ours":  {Store: `{"a":1,"b":"world","same":true}`, Export: `{"c":2}`, Subtasks: `{"+subtask0":{"name":"sub","py>":"tasks.hello"}}`},
		"tasks.mine":  {Store: `{"zerodag":false,"digdag":false}`}, // files with these names are never imported
		"tasks.older": {Store: `{"old":"world"}`},
	} {
		w := operatortest.New(t, `{"name": "world", "_command": "`+command+`"}`)
		tasks(t, w)
		if diff := cmp.Diff(want, operatortest.RunOnce(t, py.Operator(), w)); diff != "" {
			t.Errorf("%s: %s\n%s", command, diff, w.Output)
		}
	}
}

// TestErrors checks that a failure's message is the program's error, and that its traceback is separate.
func TestErrors(t *testing.T) {
	t.Parallel()
	needPython(t)
	for command, want := range map[string]string{
		"tasks.boom":        "ValueError: exploded: é",
		"tasks.hello":       "TypeError: Method 'hello' requires parameter 'name' but not set",
		"tasks.Klass":       "TypeError: Method 'Klass.__init__' requires parameter 'arg' but not set",
		"tasks.none":        "AttributeError: Module 'tasks' has no attribute 'none'",
		"tasks.None.method": "AttributeError: Module 'tasks' has no attribute 'None'",
		"nomodule.f":        "ModuleNotFoundError: No module named 'nomodule'",
		"needs.f":           "ModuleNotFoundError: No module named 'nosuchmodule'",
		"syntax.f":          "SyntaxError: invalid syntax (syntax.py, line 1)",
		"good":              "ValueError: 'good' names no function: write it as MODULE.FUNCTION",
		"tasks.leaves":      "SystemExit: Failed to call python command with code:3",
		"tasks.unfit_task":  "TypeError: Parameters must be serializable using JSON:",
		"tasks.unfit":       "Python command failed with code 1\n\tCan't parse output.json.",
		"tokenize.f":        "AttributeError: Module 'tokenize' has no attribute 'f'",
		"digdag.f":          "AttributeError: Module 'digdag' has no attribute 'f'",
		"zerodag.f":         "AttributeError: Module 'zerodag' has no attribute 'f'",
	} {
		w := operatortest.New(t, `{"_command": "`+command+`"}`)
		tasks(t, w)
		got := operatortest.RunOnce(t, py.Operator(), w)
		if !strings.HasPrefix(got.Error, want) || strings.Contains(got.Error, "Traceback") {
			t.Errorf("%s: got %+v, want %q", command, got, want)
		}
	}
}

func TestOwnScript(t *testing.T) {
	t.Parallel()
	needPython(t)
	for script, want := range map[string]operatortest.Ended{
		`print('x')`: {Error: "output.json does not exist. Something unexpected error happened. Please check logs.", Kind: "runtime"},
		`import sys; open(sys.argv[2], 'w').write('{\"store_params\": {\"a\": 1}}')`: {Store: `{"a":1}`},
		`import sys; sys.exit(2)`: {Error: "Python command failed with code 2", Kind: "runtime"},
		`import sys; open(sys.argv[2], 'w').write('[]')`: {
			Error: "read output.json: Parameter 'output.json' must be an object", Kind: "runtime"},
	} {
		w := operatortest.New(t, `{"script": "`+script+`"}`)
		if diff := cmp.Diff(want, operatortest.RunOnce(t, py.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", script, diff)
		}
	}
}
