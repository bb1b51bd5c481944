package lint

import (
	"fmt"
	"strings"
	"testing"

	"zerodag/engine/dig"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "_retry: 2\n_parallel: true\n+a: {_retry: 3, sh>: x, _check: {echo>: x}}\n+g: {+b: {_background: true}}\n", nil},
		{"refused anyway", "_check: {}\n+a: 1\n", nil},
		{"check of the workflow", "+a: {}\n_check: {echo>: x}\n", []string{"main.dig:2:1: _check of a group never runs (task +main)"}},
		{"check of a group", "+g:\n  _check: {echo>: x}\n  +a: {}\n", []string{"main.dig:2:3: _check of a group never runs (task +main+g)"}},
		{"retry of a group by a template", "+g:\n  _retry: ${n}\n  +a: {sh>: x, _retry: \"${n}\"}\n", []string{"main.dig:2:3: _retry of a group is not evaluated: ${n} is ignored"}},
		{"retries in retries", "_retry: 1\n+g:\n  +h:\n    _retry: 2\n", []string{"main.dig:4:5: _retry inside a group with _retry multiplies the retries (task +main+g+h)"}},
		{"background after a task", "+a: {echo>: x}\n+b:\n  - _background: true\n  - echo>: y\n", []string{"main.dig:3:5: a _background task does not wait"}},
		{"unknown operator", "+a: {ehco>: x}\n", []string{"main.dig:1:6: unknown operator ehco> (task +main+a)"}},
		{"operator known later", "+a: {\"${x}>\": x}\n", nil},
		{"missing callee", "+a: {call>: sub/b}\n", []string{"main.dig:1:6: call> names sub/b.dig, which is not in the project"}},
		{"missing workflow, in a loop", "+a:\n  loop>: 2\n  _do: {require>: w}\n", []string{"main.dig:3:9: require> names the workflow w,"}},
		{"own workflow", "+a: {require>: main, session_time: 2024-01-01}\n+b: {if>: \"${x}\", _do: {call>: main}}\n", nil},
		{"calls in a circle by files that are not there", "+a: {call>: sub/x}\n", []string{"main.dig:1:6: call> names sub/x.dig"}},
		{"wait for itself", "+a: {require>: main}\n", []string{"main.dig:1:6: require> waits for its own workflow"}},
		{"call of itself", "+g: {+a: {call>: main}}\n", []string{"main.dig:1:11: call> never ends: main.dig -> main.dig"}},
		{"open expression", "+a:\n  echo>: a ${1 + 2\n", []string{"main.dig:2:3: ${ is never closed"}},
		{"brace in quotes", "+a:\n  echo>: ${'}'.length}\n", []string{"main.dig:2:3: ${'} ends inside quotes"}},
		{"made reference", "+a:\n  echo>: x ${'$' + '{secret:a.b}'}\n+b: {sh>: \"${secret:a.b} ${x ? 'secret' : y}\"}\n", []string{"main.dig:2:3: a secret reference built by an expression"}},
		{"handed on", "+a:\n  for_each>: {x: [\"$${y}\"]}\n  _do: {echo>: \"$${x}\"}\n+b:\n  sh>: echo $${HOME}\n", []string{"main.dig:2:3: $${ produces the text ${...}, which is not evaluated again"}},
		{"handed on as before", "_export: {eval: {stored: true}}\n+a:\n  for_each>: {x: [\"$${y}\"]}\n  _do: {echo>: \"${x}\"}\n", nil},
		{"disabled", "+g: {_disable: true, _check: {echo>: x}}\n", nil},
		{"long interval", "schedule: {minutes_interval>: 90}\n+a: {}\n", []string{"main.dig:1:12: minutes_interval restarts every hour: 90 means once an hour"}},
		{"negative time", "schedule: {daily>: \"-01:00:00\"}\n+a: {}\n", []string{"main.dig:1:12: a negative time starts the session before its day begins"}},
		{"time beyond the day", "schedule: {daily>: \"25:00:00\"}\n+a: {}\n", []string{"main.dig:1:12: this starts 25h0m0s after the session time"}},
		{"time beyond the hour", "schedule: {hourly>: \"90:00\"}\n+a: {}\n", []string{"main.dig:1:12: this starts 1h30m0s after the session time"}},
		{"last second of the day", "schedule: {weekly>: \"Mon,23:59:59\"}\n+a: {}\n", nil},
		{"sla that no start takes", "sla: {duration: 1h}\n+a: {}\n", []string{"main.dig:1:1: every start of this workflow will be rejected: SLA duration option"}},
		{"sla that is no mapping", "sla: 3600\n+a: {}\n", []string{"main.dig:1:1: every start of this workflow will be rejected: Parameter 'sla' must be an object\n  write `sla: {duration: "}},
		{"empty sla", "sla:\n+a: {}\n", nil},
		{"sla with an unknown word", "sla: {duration: 1:00, fail: perhaps}\n+a: {}\n", []string{"main.dig:1:23: fail of sla is ignored"}},
		{"endless request", "+a: {http>: \"http://x\"}\n+b: {http>: \"http://x\", method: post}\n+c: {http>: \"http://x\", retry: false}\n+d: {http_call>: \"http://x\", method: head}\n", []string{
			"main.dig:1:6: http> retries forever"}},
		{"endless requests, and a limit around", "_export: {http: {retry_for: 5m}}\n+a: {http>: \"http://x\"}\n", nil},
		{"requests with a limit", "zerodag: 1\n+a: {http>: \"http://x\"}\n", nil},
		{"schedule of a called file", "+a: {call>: sub/s}\n+b: {call>: sub/plain}\n+c: {call>: top}\n", []string{"main.dig:1:6: schedule of sub/s.dig has no effect"}},
		{"a file for values that is not there", "+a: {sh>: echo x=1 >> $DIGDAG_STORE}\n+b: {echo>: $DIGDAG_STORE}\n", []string{"main.dig:1:6: $DIGDAG_STORE is not set"}},
		{"our name of it", "+a: {sh>: echo x=1 >> $ZERODAG_STORE}\n", []string{"main.dig:1:6: $ZERODAG_STORE is not set"}},
		{"a file for values", "zerodag: 1\n+a: {sh>: echo x=1 >> $DIGDAG_STORE}\n", nil},
		{"a file for the next task", "+a: {sh>: ./extract > orders.csv}\n+b: {sh>: wc -l orders.csv}\n+c: {sh>: wc -l myorders.csv}\n", []string{"main.dig:2:6: orders.csv is written by +main+a"}},
		{"a download for the next task", "+a: {pg>: fine.sql, download_file: out/r.csv}\n+b: {sh>: \"cat 'out/r.csv'\"}\n", []string{"main.dig:2:6: out/r.csv is written by +main+a"}},
		{"a file for its own task, and one that is written again", "+a: {sh>: date > x.txt; cat x.txt}\n+b: {sh>: date > x.txt}\n+c: {sh>: echo a > $f.txt}\n", nil},
		{"level of a task", "+a: {zerodag: 1, echo>: x}\n", []string{"main.dig:1:6: zerodag has no effect in a task"}},
		{"passwords", "_export: {pg: {password: x}, api_key: y, token: z}\n+a: {echo>: x, password: \"${p}\"}\n+b: {pg>: fine.sql, password: x}\n", []string{
			"main.dig:1:16: the value of password is visible", "main.dig:1:30: the value of api_key is visible", "main.dig:3:21: the value of password is visible"}},
		{"sum of a date", "+a: {echo>: \"${session_date + 1} ${session_unixtime + 1}\"}\n", []string{"main.dig:1:6: session_date is text"}},
		{"effects that end", "+a: {sh>: cd sub}\n+b: {sh>: export X=1}\n+c: {sh>: cd sub && make}\n", []string{"main.dig:1:6: cd only affects its own task", "main.dig:2:6: a shell variable only exists in its own task"}},
		{"program in a comment", "+a: {sh>: \"#!/usr/bin/env bash\\ntrue\"}\n+b: {sh>: \"#!/bin/bash\\ntrue\", shell: [bash]}\n+c: {sh>: \"#!/bin/sh\\ntrue\"}\n", []string{"main.dig:1:6: the first line of the script is a comment"}},
		{"day that months do not have", "schedule: {monthly>: \"31,07:00:00\"}\n+a: {}\n", []string{"main.dig:1:12: months without a day 31 have no session"}},
		{"version", "_export: {v: 1.10, w: \"1.10\", rate: 0.50, n: 2.05}\n+a: {echo>: x}\n", []string{"main.dig:1:14: 1.10 is the number 1.1"}},
		{"two dollars", "+a: {sh>: \"echo $$ $5\"}\n+b: {sh>: \"echo $$$$ $${x}\"}\n+c: {pg>: {data: \"do $$ begin end $$\"}}\n+d: {pg>: fn.sql}\n+e: {echo>: \"$$\"}\n", []string{
			"main.dig:1:6: $$ becomes a single $", "main.dig:3:12: $$ becomes a single $", "main.dig:4:6: line 2 of fn.sql: $$ becomes a single $"}},
		{"many tasks", manyTasks(999), []string{"main.dig: Workflow 'main' has 1000 tasks"}},
		{"just not too many tasks", manyTasks(998), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list := Warnings(mapFiles(map[string]string{"main.dig": c.text, "sub/s.dig": "schedule: {daily>: 07:00:00}\n+x: {echo>: x}\n", "sub/plain.dig": "+x: {echo>: x}\n", "top.dig": "schedule: {daily>: 07:00:00}\n+x: {echo>: x}\n", "fine.sql": "select 1", "extract": "", "fn.sql": "create function f() returns int as\n$$ select 1 $$\nlanguage sql"}), []string{"main.dig"}, Known{Operators: []string{"call", "echo", "for_each", "loop", "require", "sh", "if", "http", "http_call", "pg"}})
			if len(list) != len(c.want) {
				t.Fatalf("%d warnings, want %d: %v", len(list), len(c.want), list)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(list[i].Error(), want) {
					t.Error(cmp.Diff(want, list[i].Error()))
				}
			}
		})
	}
}

func manyTasks(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "+t%d: {}\n", i)
	}
	return text.String()
}

// TestStoredByScript checks that lines that store text with ${...} are found.
func TestStoredByScript(t *testing.T) {
	t.Parallel()
	script := "import digdag\n# ${a}\ndigdag.env.store({'a': '${b}'})\nprint('${c}')\nDigdag.env.export(a: '${d}')\nrestore = 1 # ${e}\n"
	var got []int
	for _, e := range StoredByScript("tasks.py", []byte(script)) {
		got = append(got, e.Line)
	}
	if diff := cmp.Diff([]int{3, 5}, got); diff != "" {
		t.Error(diff)
	}
}

// wantWarnings compares the first lines of all warnings about a project's workflow files.
func wantWarnings(t *testing.T, read dig.Source, names []string, known Known, want ...string) {
	t.Helper()
	var got []string
	for _, w := range Warnings(read, names, known) {
		said, _, _ := strings.Cut(w.Error(), "\n")
		got = append(got, said)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestKeysAboutCommands checks the warnings about keys for commands in tasks that run no command and that no push
// refuses: generated tasks, and tasks whose operator is a workflow file.
func TestKeysAboutCommands(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.dig": "zerodag: 1\n+a:\n  loop>: 2\n  _do:\n    echo>: x\n    _store: {x: stdout}\n+b:\n  own>: 1\n  _repeat: {exit_code: 0}\n" +
			"+c: {program>: 1, _store: {x: stdout}, _repeat: {exit_code: 0}, _retry: {limit: 1, exit_code: 3}}\n" +
			"+d: {if>: true, _do: {echo>: x, _retry: {limit: 1, exit_code: 3, facto: 2}}}\n" +
			"+e: {loop>: 2, _fail_fast: true, _do: {_ignore_error: {output: x}, +f: {echo>: x, _fail_fast: true}, +g: {program>: 1, _fail_fast: true}}}\n",
		"old.dig":           "+a: {loop>: 2, _do: {echo>: x, _store: {x: stdout}}}\n",
		"operators/own.dig": "zerodag: 1\nparams: {n: {type: integer}}\n+a: {sh>: x}\n",
	}
	wantWarnings(t, mapFiles(files), []string{"main.dig", "old.dig"}, Known{Operators: []string{"loop", "echo", "own", "program", "if"}},
		"main.dig:6:5: '_store' has no effect on echo>, which runs no command here (task +main+a^sub)",
		"main.dig:9:13: exit_code of _repeat has no effect on own>, which runs no command here (task +main+b)",
		"main.dig:11:52: exit_code of _retry has no effect on echo>, whose failures have no exit code (task +main+d^sub)",
		"main.dig:11:66: unknown key 'facto' of _retry (task +main+d^sub)",
		"main.dig:12:56: output of _ignore_error is for commands, but a group runs none (task +main+e^sub)",
		"main.dig:12:83: '_fail_fast' ends the tasks below a group or a loop, but echo> has none (task +main+e^sub+f)",
		"old.dig:1:32: _store is an unused parameter here (task +old+a^sub)")
}

// TestWaitsWithSlots checks the warnings about tasks that may wait a long time below a group that holds slots in a pool. There
// are none next to the group, for tasks that run after its iteration, or about a task's own slots.
func TestWaitsWithSlots(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.dig": "zerodag: 1\n+before: {wait>: 1h}\n+g:\n  _pool: {name: x, limit: 1}\n  +a: {wait>: 1h}\n  +b: {loop>: 2, _do: {+c: {s3_wait>: b/k}}}\n  +d: {echo>: x}\n" +
			"  _error: {wait>: 1h}\n+own: {_pool: {name: x, limit: 1}, wait>: 1h}\n+after: {require>: other, project_name: p}\n",
		"all.dig": "zerodag: 1\n_pool: {name: x, limit: 1}\n+a: {require>: main}\n",
	}
	wantWarnings(t, mapFiles(files), []string{"main.dig", "all.dig"}, Known{Operators: []string{"wait", "loop", "s3_wait", "echo", "require"}},
		"all.dig:3:6: require> waits while +all occupies slots of a pool, which no other task can use meanwhile (task +all+a)",
		"main.dig:5:8: wait> waits while +main+g occupies slots of a pool, which no other task can use meanwhile (task +main+g+a)",
		"main.dig:6:29: s3_wait> waits while +main+g occupies slots of a pool, which no other task can use meanwhile (task +main+g+b^sub+c)")
}

// TestCallsThatNeverEnd checks that a cycle of call> across several files is reported wherever it can be entered, and
// that a cycle that something may end is not.
func TestCallsThatNeverEnd(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.dig":    "+a: {call>: sub/one.dig}\n+b: {call>: fine}\n",
		"sub/one.dig": "+g:\n  +x:\n    call>: two\n",
		"sub/two.dig": "+x: {sh>: x}\n+y: {call>: one}\n",
		"own.dig":     "+x: {+y: {call>: own.dig}}\n",
		"fine.dig":    "+x: {if>: true, _do: {call>: fine}}\n+y: {_disable: true, call>: fine}\n",
	}
	wantWarnings(t, mapFiles(files), []string{"main.dig", "fine.dig", "own.dig"}, Known{Operators: []string{"call", "sh", "if"}},
		"main.dig:1:6: call> never ends: sub/one.dig -> sub/two.dig -> sub/one.dig (task +main+a)",
		"own.dig:1:11: call> never ends: own.dig -> own.dig (task +own+x+y)")
}

// TestRequiresThatNeverEnd checks the warnings about cycles of require> in files without `zerodag: 1`, at each of their
// workflows. Cycles that another session or a condition ends, or that lead through another project, cause none.
func TestRequiresThatNeverEnd(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.dig":     "+g: {+b: {require>: b}}\n",
		"b.dig":     "+x: {call>: sub/c}\n",
		"sub/c.dig": "+y: {require>: a}\n",
		"d.dig":     "+x: {require>: e}\n+y: {require>: f}\n+z: {require>: a}\n+own: {loop>: 1, _do: {require>: d}}\n",
		"e.dig":     "+x: {require>: d, session_time: 2020-01-01T00:00:00Z}\n+y: {_disable: true, require>: d}\n+z: {require>: d, project_name: p}\n",
		"f.dig":     "+x: {if>: \"${x}\", _do: {require>: d}}\n",
	}
	wantWarnings(t, mapFiles(files), []string{"a.dig", "b.dig", "d.dig", "e.dig", "f.dig"}, Known{Operators: []string{"require", "call", "if", "loop"}},
		"a.dig:1:11: require> never ends: a -> b -> a (task +a+g+b)",
		"d.dig:4:24: require> waits for its own workflow, so it never ends (task +d+own^sub)")
}

// TestSLAThatNoStartTakes checks that a push refuses an `sla:` that no start accepts in a file with `zerodag: 1`.
func TestSLAThatNoStartTakes(t *testing.T) {
	t.Parallel()
	for sla, want := range map[string]string{
		"3600": "main.dig:2:1: Parameter 'sla' must be an object\n  write `sla: {duration: ", "{duration: 1h}": "main.dig:2:1: SLA duration option needs to be HH:MM",
		"{fail: true}": "main.dig:2:1: SLA must be specified using either", "": "", "{time: \"09:00\"}": "",
	} {
		files := map[string]string{"main.dig": "zerodag: 1\nsla: " + sla + "\n+a: {echo>: x}\n"}
		_, err := dig.Load(mapFiles(files), []string{"main.dig"})
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.HasPrefix(got, want) && want != "" {
			t.Errorf("sla: %s: %v, want %q", sla, err, want)
		}
	}
}

// TestObjects checks the warnings about names that match no object in S3 or Cloud Storage.
func TestObjects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+a: {s3_wait>: b/*.csv}":                                 "main.dig:1:6: s3_wait> does not support patterns: * is part of the object name (task +main+a)\n  name one object",
		"+a: {s3_wait>: \"s3://b/${session_date}/*.csv\"}":        "main.dig:1:6: s3_wait> does not support patterns",
		"+a:\n  s3_wait>:\n  bucket: b\n  key: x/*":               "main.dig:4:3: s3_wait> does not support patterns",
		"+a: {gcs_wait>: \"b/*\"}":                                "main.dig:1:6: gcs_wait> does not support patterns",
		"+a: {s3_delete>: b/x/*}":                                 "main.dig:1:6: s3_delete> does not support patterns: * is part of the object name (task +main+a)\n  a name that ends with /",
		"+a: {s3_wait>: s3://bucket}":                             "main.dig:1:6: s3_wait> names a bucket without an object: s3://bucket (task +main+a)\n  write BUCKET/KEY",
		"+a: {s3_wait>: \"b/${['x', 'y'].map(n => 2 * n)}.csv\"}": "",
		"+a: {s3_wait>: \"${path}\"}":                             "",
		"+a: {s3_wait>: b/x.csv}\n+b: {s3_copy>: b/x/, to: c/y/}": "",
		"+a: {own>: b/*.csv, key: \"*\"}":                         "",
	} {
		builtIn := []string{"s3_wait", "gcs_wait", "s3_copy", "s3_delete"}
		list := Warnings(mapFiles(map[string]string{"main.dig": text}), []string{"main.dig"}, Known{Operators: append(builtIn, "own"), BuiltIn: builtIn})
		if got := list.Error(); len(list) > 1 || (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s\n%s, want %q", text, got, want)
		}
	}
}
