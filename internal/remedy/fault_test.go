package remedy

import (
	"strings"
	"testing"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// TestRemedies proves, for each form of error, that the remedy is shown with the names from the error.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ operator, message, want string }{
		{"sh", "Command failed with code 127: no (runtime)", "is it on the PATH"},
		{"sh", "Command failed with code 126", "chmod +x?"},
		{"sh", "Command failed with code 3", ""},
		{"sh", "Failed to evaluate a variable a ${N:?x} (SyntaxError: y)", "${N:...} is shell syntax: put the script in a file, or write ${this.N || '...'}"},
		{"echo", "Failed to evaluate a variable ${foo} (ReferenceError: foo is not defined) (config)", "-p foo=..., export it with `_export: {foo: ...}`"},
		{"echo", "Failed to evaluate a variable ${atempt_id} (ReferenceError: atempt_id is not defined)", "did you mean ${attempt_id}?"},
		{"echo", "Failed to evaluate a variable ${len(l)} (ReferenceError: len is not defined) (config)", "write, for example, ${x.length}"},
		{"echo", "Failed to evaluate a variable ${require('fs').x} (ReferenceError: require is not defined) (config)", "expressions only see parameters"},
		{"echo", "Failed to evaluate a variable ${table-name} (ReferenceError: table is not defined) (config)", `write ${this["table-name"]}, or rename the parameter to table_name`},
		{"echo", "Failed to evaluate a variable ${yesterday} (ReferenceError: yesterday is not defined) (config)", "${moment(session_time).subtract(1, 'day').format('YYYY-MM-DD')}"},
		{"echo", "Failed to evaluate a variable ${(1.5).toLocaleString('de')} (RangeError: toString() radix argument must be between 2 and 36) (config)", "only English"},
		{"echo", "Failed to evaluate a variable ${name | upper} (ReferenceError: upper is not defined) (config)", "${x.toUpperCase()}"},
		{"echo", "Failed to evaluate a variable ${flag == False} (ReferenceError: False is not defined) (config)", "write true, false and null, as in JavaScript"},
		{"echo", "Failed to evaluate a variable ${process.env.HOME} (ReferenceError: process is not defined) (config)", "only commands see environment variables"},
		{"echo", "Failed to evaluate a variable ${last_session_time} (ReferenceError: last_session_time is not defined) (config)", "only exists in workflows with a `schedule:`"},
		{"echo", "Expected 'true' or 'false' for key '_if' but got \"0 > 0\" (string) (config)", "`_if: ${rows > 0}`"},
		{"echo", "Failed to evaluate a variable ${a.b} (TypeError: Cannot read property 'b' of undefined)", "the part before .b has no value"},
		{"echo", "Failed to evaluate a variable ${a()} (TypeError: a is not a function)", "`zerodag docs expressions`"},
		{"py", "Python command failed with code 1\nError messages from python: No module named 'a.b' (ModuleNotFoundError)", "searches for a.b.py"},
		{"py", "Error messages from python: 'T' object has no attribute 'go' (AttributeError)", "is there a `def go` in the class T?"},
		{"py", "Error messages from python: Method 'f' requires parameter 'x' but not set (TypeError)", "write `x: ...` in the task"},
		{"py", "ModuleNotFoundError: No module named 'a.b'", "searches for a.b.py"},
		{"py", "AttributeError: 'T' object has no attribute 'go'", "is there a `def go` in the class T?"},
		{"rb", "NameError: uninitialized constant Foo", "with the project file that defines Foo"},
		{"rb", "Ruby command failed with code 1: uninitialized constant Foo", "with the project file that defines Foo"},
		{"echo", "Failed to evaluate a variable ${JSON.parse(http.last_content).a} (SyntaxError: Unexpected token <)", "is not JSON, but perhaps an error page"},
		{"py", "SystemExit: Failed to call python command with code:bad thing Possible cause: x", "the function called sys.exit"},
		{"py", "AttributeError: Module 'json' has no attribute 'f'", "hides the file: rename it"},
		{"sh", "Parameter 'comment' is required but null (config)", "'' for an empty text"},
		{"sh", `Cannot run program "/bin/sh" (in directory "/x"): there is no such directory`, "_workdir must be a folder"},
		{"sh", "Parameter '_env' must be an object (config)", "`_env: {name: value}`"},
		{"http_call", "Parameter 'method' is required but not set (config)", "write `method: ...` in the task"},
		{"pg", "Parameter 'host' is required but not set: write it into `_export: ...` (config)", "neither a parameter nor a secret sets it"},
		{"http", "HTTP request failed: GET http://x: dial tcp: lookup x: no such host", "is the address correct"},
		{"require", "Dependent workflow does not exist. projectId: 1, workflowName:x", "set project_name for a different project"},
		{"loop", "Expected integer (int) type for key '_command' but got \"x\" (string)", "after loop>:, which takes: whole number"},
		{"nosuch", "Unknown task type: nosuch (config)", "`zerodag operators` lists the operators"},
		{"snow", "Unknown task type: snow (config)", "belongs to the plugin digdag_operator_snowflake"},
		{"mail", "Missing SMTP configuration (config)", "`_export: {mail: {host: ..., port: ..., from: ...}}`"},
		{"fail", "", "give a reason"},
		{"fail", "no rows", ""},
		{"sh", "Invalid parametrization: '${N:-1}' (config)", "${N:...} is shell syntax, and a second $ does not help"},
		{"sh", "Invalid parametrization: '${a:b}' (config)", "refers to a secret"},
		{"http", "HTTP request failed: GET http://x:999999: dial tcp: address 999999: invalid port", ":PORT (at most 65535)"},
		{"sh", "Expected integer (int) type for key 'interval' but got \"2s\" (string) (config)", "interval must be a whole number, and intervals are in seconds"},
	} {
		config := param.New(c.operator+">", "x", "_retry", param.New("interval", "2s"))
		got := strings.Join(Fault{Message: c.message, Config: config}.Remedies(), "\n")
		if strings.Contains(got, "shows the syntax") && !strings.Contains(c.want, "takes") {
			t.Errorf("%s> %q: the operator itself is written rightly: %s", c.operator, c.message, got)
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s> %q: %q, want %q", c.operator, c.message, got, c.want)
		}
	}
	secret := Fault{Message: "Secret not found for key: 'a b'", Project: "p q"}.Remedies()
	if want := "zerodag secrets --project 'p q' --set 'a b'=-"; !strings.HasPrefix(strings.Join(secret, ""), want) {
		t.Errorf("%q, want %s", secret, want)
	}
}

// TestSlipOfAName proves that the remedy for a typo in an expression shows the intended name and where it gets its
// value.
func TestSlipOfAName(t *testing.T) {
	t.Parallel()
	names := map[string]dig.Place{"database": {File: "w.dig", Line: 2, Column: 3}, "atempt_ids": {File: "w.dig", Line: 3, Column: 3}}
	for name, want := range map[string]string{
		"databse":   "did you mean ${database}, which is set in w.dig:2:3?",
		"atempt_id": "did you mean ${atempt_ids}, which is set in w.dig:3:3?", // the author's names take precedence over built-in ones
		"sesion_id": "did you mean ${session_id}?",
		"customer":  "there is no parameter customer: pass it with -p",
		"JSN":       "did you mean JSON?",
	} {
		f := Fault{Message: "Failed to evaluate a variable ${" + name + "} (ReferenceError: " + name + " is not defined)", Config: param.New("echo>", "x"), Names: names}
		if got := strings.Join(f.Remedies(), "\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestWhatWasNotStored proves that the outcome of a task is shown only for names that the task should have stored.
func TestWhatWasNotStored(t *testing.T) {
	t.Parallel()
	lost, stores := LostNames{}, func(name string) *param.Map { return param.New("sh>", "x", "_store", param.New(name, "stdout")) }
	lost.Add("+w+a", stores("rows"), true, false)
	lost.Add("+w+b", stores("ID"), false, true)
	lost.Add("+w+c", stores("done"), false, false)
	for name, want := range map[string]string{
		"rows": "+w+a failed, so it did not store rows: write ${this.rows || '...'}",
		"ID":   "+w+b was skipped, so it did not store ID: write ${this.ID || '...'}",
		"done": "there is no parameter done: ",
	} {
		f := Fault{Message: "Failed to evaluate a variable ${" + name + "} (ReferenceError: " + name + " is not defined)", Config: param.New("echo>", "x"), Lost: lost}
		if got := strings.Join(f.Remedies(), "\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestWhereAParameterBelongs proves that the remedy for a missing parameter names the place where it would be read:
// below the key of its siblings, if they have one.
func TestWhereAParameterBelongs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config  *param.Map
		missing string
		want    string
	}{
		{param.New("fail>", "x", "_retry", param.New("limt", int64(3))), "limit", "write `limit: ...` below _retry:"},
		{param.New("for_range>", param.New("from", int64(1))), "to", "write `to: ...` below for_range>:"},
		{param.New("loop>", "3", "_parallel", param.New("limt", int64(1))), "limit", "write `limit: ...` below _parallel:"},
		{param.New("mail>", param.New("data", "x")), "to", "write `to: ...` in the task"},
		{param.New("http_call>", "x"), "method", "write `method: ...` in the task, or export it"},
	} {
		got := strings.Join(Fault{Message: "Parameter '" + c.missing + "' is required but not set (config)", Config: c.config}.Remedies(), "\n")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.missing, got, c.want)
		}
	}
}

// TestFilesOfEarlierTasks proves that a file missing on a server is explained, but not a file missing in a local run.
func TestFilesOfEarlierTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    Fault
		want bool
	}{
		{Fault{Message: "[Errno 2] No such file or directory: 'orders.csv' (FileNotFoundError)", Project: "p", Config: param.New("py>", "m.f")}, true},
		{Fault{Message: "Command failed with code 1", Lines: []string{"wc: orders.csv: No such file or directory"}, Project: "p", Config: param.New("sh>", "wc -l orders.csv")}, true},
		{Fault{Message: "Command failed with code 1", Lines: []string{"wc: orders.csv: No such file or directory"}, Config: param.New("sh>", "wc -l orders.csv")}, false},
		{Fault{Message: "Command failed with code 1", Lines: []string{"no"}, Project: "p", Config: param.New("sh>", "false")}, false},
	} {
		if got := strings.Contains(strings.Join(c.f.Remedies(), "\n"), "fresh copy of the project"); got != c.want {
			t.Errorf("%+v: %t, want %t", c.f, got, c.want)
		}
	}
}

// TestNamesOfElsewhere proves that the remedy for another program's name shows zerodag's name.
func TestNamesOfElsewhere(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Failed to evaluate a variable ${date} (ReferenceError: date is not defined)":                                     "did you mean ${session_date}?",
		"Failed to evaluate a variable ${ds} (ReferenceError: ds is not defined)":                                         "did you mean ${session_date}?",
		"Failed to evaluate a variable ${moment(session_time).add(1, days)} (ReferenceError: days is not defined)":        "quote the unit: 'days'",
		"Failed to evaluate a variable ${moment(session_time).add(1, 'days') + day} (ReferenceError: day is not defined)": "there is no parameter day",
	} {
		if got := strings.Join(Fault{Message: message, Config: param.New("echo>", "x")}.Remedies(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}

// TestRemediesOfScripts proves that the script is used to explain a command that its shell does not find, and a name
// that only the shell knows.
func TestRemediesOfScripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, line, message, want string }{
		{"source x", "runner.sh: 1: source: not found", "Command failed with code 127", "write . instead"},
		{"[[ a ]]", "runner.sh: 1: [[: not found", "Command failed with code 127", "write `shell: [bash]`"},
		{"$ ls", "runner.sh: 1: $: not found", "Command failed with code 127", "remove the $"},
		{"ls\u00a0-l", "runner.sh: 1: ls\u00a0-l: not found", "Command failed with code 127", "no-break or invisible character"},
		{"echo a\nshell: [bash]", "runner.sh: 2: shell:: not found", "Command failed with code 127", "indent it less"},
		{"x.sh", "runner.sh: 1: x.sh: not found", "Command failed with code 127", "write ./x.sh"},
		{"load.bat", "line 1: load.bat: command not found", "Command failed with code 127", "a Windows script"},
		{`scripts\load.sh`, "runner.sh: 1: scriptsload.sh: not found", "Command failed with code 127", "write / between folders"},
		{"foo", "runner.sh: 1: foo: not found", "Command failed with code 127", "is it on the PATH"},
		{"for f in a; do echo ${f}; done", "", "Failed to evaluate a variable ${f} (ReferenceError: f is not defined)", "write $f, without braces"},
		{"echo ${x}", "", "Failed to evaluate a variable ${x} (ReferenceError: x is not defined)", "move x above the line"},
	} {
		f := Fault{Message: c.message, Config: param.New("sh>", c.script, "x", int64(5)), Lines: []string{c.line}}
		if got := strings.Join(f.Remedies(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
	}
	f := Fault{Message: "ModuleNotFoundError: No module named './tasks'", Config: param.New("py>", "./tasks.py")}
	if got := strings.Join(f.Remedies(), "\n"); !strings.Contains(got, "not as a path") {
		t.Error(got)
	}
}
