package check_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/check"
	"zerodag/operators"
	"zerodag/operators/all"
)

// TestFiles proves that each kind of mistake is reported at its place and with its code.
func TestFiles(t *testing.T) {
	t.Parallel()
	syntax := func(text string) error {
		if strings.Contains(text, "${a +}") {
			return errors.New("a + is no expression")
		}
		return nil
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", nil, []string{"without-workflow :0:0"}},
		{"a workflow below a folder", map[string]string{"sub/a.dig": "+a: {echo>: x}"}, []string{"without-workflow :0:0"}},
		{"good", map[string]string{"a.dig": "+a: {echo>: x}\n+b: {mine>: 1}\n+c: {call>: sub/b}\n", "large.py": "", "sub/b.dig": "+a: {echo>: x}\n", "operators/mine.py": "#!/usr/bin/python3\n"}, nil},
		{"declared", map[string]string{"a.dig": "_export:\n  plugin:\n    operators:\n      mine: {command: [x]}\n+b: {mine>: 1}\n"}, nil},
		{"no operator", map[string]string{"a.dig": "+a:\n  for_eahc>: {n: [1]}\n  _do: {echo>: x}\n"}, []string{"doubtful a.dig:2:3"}},
		{"no YAML", map[string]string{"a.dig": "+a: {echo>: x\n", "b.dig": "+a:\n  ech>: x\n"}, []string{"refused a.dig:1:1", "doubtful b.dig:2:3"}},
		{"an unknown key", map[string]string{"a.dig": "+a: {echo>: x}\nfoo: 1\n"}, []string{"refused a.dig:2:1"}},
		{"a schedule", map[string]string{"a.dig": "schedule:\n  daily>: morning\n+a: {echo>: x}\n"}, []string{"refused a.dig:2:3"}},
		{"an expression", map[string]string{"a.dig": "+a:\n  echo>: ${a +}\n"}, []string{"doubtful a.dig:2:3"}},
		{"an include that there is not", map[string]string{"a.dig": "!include : x.dig\n"}, []string{"refused a.dig:1:1"}},
		{"operators of the project", map[string]string{"a.dig": "+a: {x>: 1}\n", "operators/sh": "", "operators/x.py": "", "operators/x.rb": ""}, []string{"shadowed operators/sh:0:0", "ambiguous operators/x.rb:0:0"}},
		{"a script that stores", map[string]string{"a.dig": "+a: {py>: t.f}\n", "t.py": "import x\ndef f(): pass\ndigdag.env.store({'a': '${b}'})\n"}, []string{"stored-as-data t.py:3:0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			findings, _ := check.Files(t.Context(), c.files, check.Code{Syntax: syntax})
			for _, f := range findings {
				got = append(got, fmt.Sprintf("%s %s:%d:%d", f.Code, f.File, f.Line, f.Column))
				if f.Message == "" {
					t.Errorf("a finding without a message: %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, findings)
			}
		})
	}
}

// TestDoubts proves that text that would make a task fail later, or that does not mean what it seems to, is reported
// with its place and the correct text, and that similar but correct text is not reported.
func TestDoubts(t *testing.T) {
	t.Parallel()
	files := map[string]string{"q.sql": "select 1", "tasks.py": "def fun(): pass\nclass C:\n  def m(self): pass\n", "x.sh": "#!/bin/sh\r\necho\r\n", "y.sh": "#!/bin/sh\necho\n",
		"sub/b.dig": "+a: {echo>: x}\n", "dynamic.py": "for n in ['ma']: globals()[n + 'de'] = print\n",
		"pack/__init__.py": "", "pack/load.py": "def f(): pass\n", "pack/native.cpython-311.so": "", "pack/deep/load.py": "class C:\n  def m(self): pass\n",
		"made/__init__.py": "from .other import *\n", "data/q.sql": ""}
	for _, c := range []struct{ text, want string }{
		{"+a:\n  loop>: three\n  _do: {echo>: x}", `w.dig:2:3: loop> cannot read "three", so the task will fail | it takes: whole number`},
		{"+a:\n  loop>: '3'\n  _do: {echo>: x}", ""},
		{"+a:\n  loop>: ${n}\n  _do: {echo>: x}", ""},
		{"+a:\n  for_each>: [1, 2]\n  _do: {echo>: x}", "w.dig:2:3: for_each> cannot read [1,2], so the task will fail | it takes: mapping of lists, or JSON text of one"},
		{"+a:\n  for_each>: '{\"a\": [1]}'\n  _do: {echo>: x}", ""},
		{"+a:\n  loop>: 3\n  _do:\n    - echo>: x", `w.dig:3:3: loop> cannot read [{"echo>":"x"}] as its _do, so the task will fail | it takes: tasks`},
		{"+a:\n  sh>: env\n  _env: [A=1]", `w.dig:3:3: sh> cannot read ["A=1"] as its _env, so the task will fail | it takes: mapping`},
		{"+a:\n  sh>: [echo, a]", `w.dig:2:3: sh> cannot read ["echo","a"], so the task will fail | it takes: text`},
		{"+a:\n  _type: sh\n  _command: [echo, a]", `w.dig:3:3: sh> cannot read ["echo","a"] as its _command, so the task will fail | it takes: text`},
		{"+a:\n  wait>: 5 minutes please", `w.dig:2:3: wait> cannot read "5 minutes please", so the task will fail | it takes: duration`},
		{"+a:\n  http>: http://x.example\n  insecure: perhaps\n  retry: false", `w.dig:3:3: http> cannot read "perhaps" as its insecure, so the task will fail | it takes: boolean`},
		{"+a:\n  pg>: none.sql\n  database: d", "w.dig:2:3: pg> names the file none.sql, which is not in the project | the path is relative"},
		{"+a:\n  pg>: q.sql\n  database: d", ""},
		{"+a:\n  pg>: {data: select 1}\n  database: d", ""},
		{"+a:\n  pg>: none.sql\n  _workdir: ${w}\n  database: d", ""},
		{"+a:\n  py>: tasks.nofun", "w.dig:2:3: tasks.py does not define nofun | write py> as"},
		{"+a:\n  py>: tasks.C.inherited", ""},
		{"+a:\n  py>: dynamic.made", ""},
		{"+a:\n  py>: large.f", ""},
		{"+a:\n  py>: tasks.fun()", `w.dig:2:3: py> cannot read "tasks.fun()" | write py> as`},
		{"+a:\n  _workdir: sub\n  call>: b.dig", ""},
		{"_export: {_workdir: sub}\n+a:\n  call>: b.dig", ""},
		{"+a:\n  call>: b.dig", "w.dig:2:3: call> names b.dig, which is not in the project | the path is relative to the folder of this workflow file, or to _workdir"},
		{"+a:\n  require>: other\n  project_name: p2", ""},
		{"+a:\n  require>: w.dig\n  session_time: x", "w.dig:2:3: require> names the workflow w.dig, which is not in the project | write `require>: w`"},
		{"+mk:\n  sh>: make all\n+a:\n  sh>: ./build/x\n+b:\n  call>: gen.dig\n+c:\n  pg>: q2.sql\n  database: d", ""},
		{"+a:\n  for_range>: {from: 0, to: 3}\n  _do: {echo>: x}", "w.dig:2:3: for_range> has no step of 1 or more, so it will fail"},
		{"+a:\n  for_range>: {from: 0, to: 3, slices: 2}\n  _do: {echo>: x}", ""},
		{"+a:\n  for_each>: {x: abc}\n  _do: {echo>: x}", `w.dig:2:3: for_each> cannot read "abc" as a list, so the task will fail`},
		{"+a:\n  for_each>: {x: '[1, 2]', y: '${z}'}\n  _do: {echo>: x}", ""},
		{"+a:\n  wait>: 1", "w.dig:2:3: wait> cannot read 1, so the task will fail"},
		{"+a:\n  sh>: x\n  _env: {a-b: c}", "w.dig:3:10: _env: a-b is not a valid variable name"},
		{"+a:\n  sh>: x\n  _workdir: ../..", "w.dig:3:3: _workdir leaves the project folder"},
		{"+a:\n  py>: tasks.C.m", ""},
		{"+a:\n  py>: json.dumps", ""},
		{"+a:\n  sh>: ./x.sh a", "w.dig:2:3: the first line of x.sh ends with CR LF"},
		{"+a:\n  sh>: ./y.sh a", ""},
		{"+a:\n  sh>: ./z.sh a", "w.dig:2:3: sh> begins with z.sh, which is not in the project"},
		{"+a:\n  sh>: ./${n}.sh", ""},
		{"+a:\n  sh>:\n    echo a\n    echo b", `w.dig:3:5: YAML joins the lines of this script into one: "echo a echo b" | write`},
		{"+a:\n  sh>: >\n    echo a\n    echo b", `w.dig:2:8: YAML joins the lines of this script into one: "echo a echo b\n" | write`},
		{"+a:\n  sh>: >\n    echo a\n    --b", ""},
		{"+a:\n  sh>: echo ä b # said", ""},
		{"_export:\n  n: 010\n+a: {echo>: x}", "w.dig:2:6: 010 begins with 0, so it is read in base 8 as the number 8 | quote it"},
		{"_export: {n: 0, m: '010', t: 12:30:00, d: 2020-01-01}\n+a: {echo>: x}", ""},
		{"+a:\n  echo>: '{{ ds }}'", "w.dig:2:3: {{ ds }} is not expanded | write variables as ${session_date}"},
		{"+a:\n  sh>: docker inspect -f '{{ .State.Status }}' x; echo '{{ body }}'", ""},
		{"+a:\n  for_each>: {d: [1]}\n  _do: {echo>: $d}", "w.dig:3:9: $d is not expanded: only a shell reads it without braces | write ${d}"},
		{"+a:\n  for_each>: {d: [1]}\n  _do: {sh>: echo $d}", ""},
		{"+a: {echo>: costs $5 or $x}", ""},
		{"_export: {session_date: x}\n+a: {echo>: x}", "w.dig:1:11: session_date is a built-in variable, which overrides _export | choose another name"},
		{"_export: {sh: {shel: [bash]}}\n+a: {sh>: x}", "w.dig:1:16: shel of sh is ignored by sh> | did you mean shell?"},
		{"_export: {mail: {subjects: 1}}\n+a: {echo>: '${mail.subjects}'}", ""},
		{"+a:\n  _export: {a: 1}\n+b: {echo>: x}", "w.dig:1:1: this task does nothing: it has neither an operator nor subtasks"},
		{"_export: {a: 1}", "w.dig:0:0: workflow w has no tasks: it runs nothing"},
		{"+a:\n  after: +b\n  echo>: x", "w.dig:2:3: after is not a parameter of echo> | did you mean _after?"},
		{"+a:\n  bash>: x", "w.dig:2:3: unknown operator bash> | it is called sh> here"},
		{"+a:\n  py>: pack.missing.f", "w.dig:2:3: py> finds no missing among the modules in pack/ | does pack/missing.py exist? The path is relative"},
		{"+a:\n  py>: pack.laod.f", "w.dig:2:3: py> finds no laod among the modules in pack/ | did you mean pack.load.f?"},
		{"+a:\n  py>: pack.deep.laod.C.m", "w.dig:2:3: py> finds no laod among the modules in pack/deep/ | did you mean pack.deep.load.C.m?"},
		{"+a:\n  py>: pack.load.f\n+b:\n  py>: pack.deep.load.C.m", ""},
		{"+a:\n  py>: pack.main", "w.dig:2:3: py> finds no main among the modules in pack/"},
		{"+a:\n  py>: made.any.f\n+b:\n  py>: data.any.f\n+c:\n  py>: pack.native.f\n+d:\n  py>: json.missing.f", ""},
		{"+a:\n  py>: taskz.fun", "w.dig:2:3: py> finds no taskz among the modules in the project's folder | did you mean tasks.fun?"},
		{"+a:\n  py>: taskz.other\n+b:\n  py>: pacc.other.f", ""},
		{"+a:\n  py>: pacq.load.f", "w.dig:2:3: py> finds no pacq among the modules in the project's folder | did you mean pack.load.f?"},
		{"+a:\n  py>: pack.missing.f\n  _env: {PYTHONPATH: lib}", ""},
		{"+mk:\n  sh>: make\n+a:\n  py>: pack.missing.f\n+b:\n  sh>: x\n  _workdir: made_by_a_task", ""},
		{"+a:\n  sh>: x\n  _workdir: nowhere", "w.dig:3:3: the folder nowhere of _workdir is not in the project, so the task will fail | _workdir must be a folder"},
		{"+a:\n  sh>: x\n  _workdir: q.sql", "w.dig:3:3: the folder q.sql of _workdir is not in the project, so the task will fail"},
		{"_export: {_workdir: nowhere}\n+a:\n  echo>: x\n+b:\n  sh>: x\n+c:\n  sh>: y", "w.dig:5:3: the folder nowhere of _workdir is not in the project"},
		{"_export: {_workdir: nowhere}\n+a:\n  sh>: x\n  _workdir: sub/\n+b:\n  sh>: y\n  _workdir: ${w}\n+c:\n  sh>: z\n  _workdir: /tmp", ""},
		{"+a:\n  sh>: x\n  shell: /bin/bash -e", `w.dig:3:3: sh> cannot read "/bin/bash -e" as its shell, so the task will fail | it takes: list of texts`},
		{"_export: {sh: {shell: bash}}\n+a: {sh>: x}", `w.dig:1:16: sh> cannot read "bash" as its shell, so its tasks will fail | it takes: list of texts`},
		{"_export: {sh: {shell: [/bin/bash, -e]}}\n+a: {sh>: x, shell: '${s}'}", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			project := maps.Clone(files)
			project["w.dig"] = c.text + "\n"
			got := ""
			found, _ := check.Files(t.Context(), project, check.Code{})
			for _, f := range found {
				got += fmt.Sprintf("%s:%d:%d: %s | %s\n", f.File, f.Line, f.Column, f.Message, f.Hint)
			}
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Count(got, "\n") > 1 {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestPluginPage proves that the advice on the page about plugin operators passes the check.
func TestPluginPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/plugin-operators.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```yaml\n")[1:]
	if len(blocks) < 6 {
		t.Fatalf("only %d workflows were found", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "\n```\n")
		found, _ := check.Files(t.Context(), map[string]string{"w.dig": text, "queries/total.sql": "select 1", "queries/daily.sql": "select 1", "tasks/load.py": "def users(): pass\n", "load.sh": "#!/bin/sh\n"}, check.Code{})
		for _, f := range found {
			t.Errorf("%v in\n%s", f, text)
		}
	}
}

// TestNamed proves that the pages name every built-in operator.
func TestNamed(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(all.Registry().Names(), operators.Named()); diff != "" {
		t.Error(diff)
	}
}

// FuzzFiles proves that any input gets a result, and that refusals have a reason.
func FuzzFiles(f *testing.F) {
	f.Add("a.dig", "+a: {echo>: x}\n", "b.dig", "!include : a.dig\n")
	f.Add("a.dig", "+a: {call>: a}\n", "operators/x", "")
	f.Fuzz(func(t *testing.T, a, textA, b, textB string) {
		findings, _ := check.Files(t.Context(), map[string]string{a: textA, b: textB}, check.Code{})
		for _, x := range findings {
			if x.Message == "" || x.Code == "" {
				t.Errorf("%+v", x)
			}
		}
	})
}
