package lint

import (
	"errors"
	"strings"
	"testing"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// TestKeysThatNobodyReads checks that a misspelled key is reported with the key that was meant, and that an author's
// own keys are not.
func TestKeysThatNobodyReads(t *testing.T) {
	t.Parallel()
	known := Known{
		Operators: []string{"sh", "http", "py", "if", "loop", "for_each", "for_range", "td_for_each", "echo", "own", "switch"},
		Missing: func(name string) string {
			return map[string]string{"td": "Digdag has it"}[name]
		},
		Parameters: func(operator string) []string {
			return map[string][]string{"sh": {"shell", "sandbox", "docker", "_env"}, "http": {"method", "timeout", "content"}, "if": {"_do", "_else_do"}, "loop": {"_do"}, "switch": keys.BranchKeys()}[operator]
		},
		BuiltIn:  []string{"sh", "http", "py", "if", "loop", "td_for_each", "switch"},
		Exported: []string{"docker", "http", "mail", "python"},
		Below:    map[string][]string{"docker": {"image"}, "sandbox": {"timeout", "memory"}},
		Syntax: func(text string) error {
			if strings.Contains(text, "BAD") || strings.Contains(text, ":-") {
				return errors.New("SyntaxError")
			}
			return nil
		},
	}
	for text, want := range map[string]string{
		"zerodag: 1\n+a: {sh>: x, depends: [b]}":                                 "main.dig:2:14: depends is a key of Dagu, which sh> ignores (task +main+a)\n  write `_after: [+NAME]`, in a group",
		"zerodag: 1\n+a: {sh>: x, timeoutSec: 3}":                                "timeoutSec is a key of Dagu, which sh> ignores",
		"+a: {sh>: x, _rety: 3}":                                                 "main.dig:1:14: unknown key _rety (task +main+a)\n  did you mean _retry?",
		"+a:\n  - sh>: echo first\n  - sh>: echo second":                         "main.dig:1:1: sh> appears more than once in this list, and only the last one counts (task +main+a)\n  write the steps as separate tasks: `+first:`",
		"+a:\n  - {_export: {x: 1}}\n  - {+b: {sh>: x}}\n  - {+b: {sh>: y}}":     "+b appears more than once in this list",
		"+a: {sh>: x, _timout: 3m}":                                              "main.dig:1:14: unknown key _timout (task +main+a)\n  did you mean _timeout? '_timeout' is a zerodag key: put `zerodag: 1` at the top of the file",
		"+a: {sh>: x, _fi: true}":                                                "did you mean _if? '_if' is a zerodag key",
		"+a: {sh>: x, _paralell: true}":                                          "unknown key _paralell (task +main+a)\n  did you mean _parallel?",
		"+a: {sh>: x, _retires: 3}":                                              "main.dig:1:14: unknown key _retires (task +main+a)\n  did you mean _retry",
		"+a: {sh>: x, _zzzzzzz: true}":                                           "unknown key _zzzzzzz (task +main+a)\n  the task keys that begin with _ are _export, ",
		"+a: {sh>: x, _retry: {limt: 3}}":                                        "main.dig:1:23: unknown key limt of _retry (task +main+a)\n  did you mean limit?",
		"+a: {sh>: x, _retry: {limit: 3, factor: 2}}":                            "main.dig:1:33: factor of _retry has no effect here (task +main+a)\n  'factor' is a zerodag key: put `zerodag: 1` at the top of the file",
		"+a: {sh>: x, _retry: three}":                                            "_retry is not a number: \"three\" (task +main+a)\n  write a number, or {limit: 3, interval: 10}",
		"+a: {sh>: x, _retry: true}":                                             "_retry is not a number: true (task +main+a)",
		"+a: {sh>: x, _retry: [3]}":                                              "_retry is not a number: [3] (task +main+a)",
		"+a: {_parallel: {limit: 2, limt: 3}, +b: {sh>: x}}":                     "unknown key limt of _parallel",
		"+a: {sh>: x, timeout: 10}":                                              "timeout is not a parameter of sh>: the command may run forever (task +main+a)\n  write `sandbox: {timeout: 10m}`",
		"+a: {http>: \"http://x\", metod: GET}\n_export: {http: {retry: false}}": "metod is not a parameter of http> (task +main+a)\n  did you mean method?",
		"+a: {sh>: x, retry: 3}":                                                 "retry is not a parameter of sh> (task +main+a)\n  did you mean _retry?",
		"+a: {sh>: x}\n_error: {+b: {http>: \"http://x\", timeot: 1}}\n_export: {http: {retry: false}}": "main.dig:2:34: timeot is not a parameter of http> (task +main^error+b)",
		"+a: {sh>: \"echo ${HOME:-x}\"}": "main.dig:1:6: this cannot be evaluated: ${HOME:-...} is shell syntax, but the shell never sees it (task +main+a)\n  put the script in a file, or write ${this.HOME || '...'}",
		"+a: {http>: \"http://x\", content: {b: [\"${BAD}\"]}}\n_export: {http: {retry: false}}": "main.dig:1:35: this cannot be evaluated: SyntaxError",
		"+a: {sh>: x, docker: image}":                                  "docker is text, so commands will fail with \"Parameter 'docker' must be an object\" (task +main+a)\n  write `docker: {image: image}`",
		"_export: {plugin: {dependencies: [\"a:b:1\"]}}\n+a: {sh>: x}": "main.dig:1:20: zerodag does not load Java plugins: a:b:1",
		"_export: {plugin: some}\n+a: {sh>: x}":                        "main.dig:1:11: plugin must be a mapping; this text has no effect: \"some\"\n  write your own operators as project files",
		"_export: {a: {{Name of it}}}\n+a: {sh>: x}":                   "main.dig:1:15: {{...}} is a mapping in a mapping in YAML: it is read as the key {Name of it=null}\n  quote it",
		"+a: {td>: x}\n+b: {td>: x}\n+c: {_error: {td>: x}, sh>: x}":   "unknown operator td> (3 tasks, first in main.dig:1); Digdag has it",
		"+a: {td>: x}":                     "main.dig:1:6: unknown operator td> (task +main+a)\n  Digdag has it",
		"+a: {sh>: x, dokcer: {image: y}}": "dokcer is not a parameter of sh> (task +main+a)\n  did you mean docker?",
		"+a: {http>: \"http://x\", contnet: y}\n_export: {http: {retry: false}}": "contnet is not a parameter of http> (task +main+a)\n  did you mean content?",
		"+a: {py>: m.f, dokcer: {image: y}}":                                     "main.dig:1:16: dokcer is not used by any operator (task +main+a)\n  did you mean docker?",
		"_export: {pyton: /x}\n+a: {py>: m.f}":                                   "main.dig:1:11: pyton is not used by any operator (task +main)\n  did you mean python?",
		"+g: {_export: {htpt: {timeout: 1}}, +a: {sh>: x}}":                      "htpt is not used by any operator (task +main+g)\n  did you mean http?",
		"+a: {if>: true, do: {sh>: x}}":                                          "main.dig:1:17: the tasks in do never run (task +main+a)\n  write `_do`",
		"+a: {if>: true, _do: {sh>: x}, _else: {sh>: y}}":                        "the tasks in _else never run (task +main+a)\n  write `_else_do` with tasks below it",
		"+a: {sh>: x, load: {sh>: y}}":                                           "the tasks in load never run (task +main+a)\n  task names begin with +: write `+load:` outside",
		"+a: {sh>: x, _do: {sh>: y}}":                                            "main.dig:1:14: _do is ignored by sh>: its tasks never run (task +main+a)",
		"+a: {py>: m.f, _do: {sh>: y}}":                                          "_do is ignored by py>: its tasks never run",
		"+a: {loop>: 2, _do: {sh>: x}, _else_do: {sh>: y}}":                      "_else_do is ignored by loop>: its tasks never run",
		"+a: {loop>: 2}": "main.dig:1:6: loop> has no _do, so it will fail: there is nothing to run (task +main+a)\n  write `_do:`",
		"+a: {td_for_each>: q.sql, do: {sh>: x}}":                             "main.dig:1:27: the tasks in do never run (task +main+a)\n  write `_do`",
		"+a: {switch>: x}":                                                    "main.dig:1:6: switch> needs '_cases' with the tasks of each case (task +main+a)\n  write the tasks of each case below it",
		"+a: {switch>: x, _cases: [1], _default: {+b: {sh>: x}}}":             "main.dig:1:18: switch> needs '_cases' with the tasks of each case (task +main+a)",
		"zerodag: 1\n+a: {loop>: 2, _do: {+b: {switch>: x, _cases: '${y}'}}}": "main.dig:2:39: switch> needs '_cases' with the tasks of each case (task +main+a^sub+b)",
		"+a: {td_for_each>: q.sql}":                                           "main.dig:1:6: td_for_each> has no _do, so it will fail: there is nothing to run (task +main+a)",
		"+a: {sh>: x, _retry: -1}":                                            "_retry is -1: nothing is retried (task +main+a)",
		"+a: {sh>: x, _retry: {limit: 1, interval: -3}}":                      "main.dig:1:33: interval of _retry is -3, less than 0 (task +main+a)",
		"+a: {sh>: x, _retry: {limit: 1, interval: 2s}}":                      "interval of _retry is not a whole number: \"2s\" (task +main+a)\n  write a number, or {limit: 3, interval: 10}",
		"+a: {sh>: x, _retry: {interval: 2}}":                                 "_retry has no limit, so the task will fail",
		"+a: {sh>: x, _retry: {limit: 2, interval_type: linear}}":             "interval_type of _retry is unknown, so the task will fail: linear",
		"+a: {_parallel: {limit: 0}, +b: {sh>: x}}":                           "limit of _parallel is 0, less than 1",
		"_export: {a: \"${b}\", b: \"x ${a}\"}\n+a: {sh>: x}":                 "main.dig:1:11: a refers to itself (a -> b -> a), so ${b} is not expanded (task +main)",
		"+a: {_export: {n: \"${n + 1}\"}, sh>: x}":                            "n refers to itself (n -> n)",
		"_export: {a: \"${b.c}\"}\n+a: {_export: {b: [\"${a}\"]}, sh>: x}":    "main.dig:2:16: b refers to itself (b -> a -> b), so ${a} is not expanded (task +main+a)",
		"+a: {http>: \"http://h:999999/\"}\n_export: {http: {retry: false}}":  "http> cannot send a request to \"http://h:999999/\": invalid port 999999 (task +main+a)",
		"+a: {http>: \"h:80/x\"}\n_export: {http: {retry: false}}":            "it must begin with http:// or https://",
		"+a: {sh>: \"echo ${#HOME}\"}":                                        "this cannot be evaluated: ${#HOME} is shell syntax, but the shell never sees it (task +main+a)",
		"_export: {comment: }\n+a: {sh>: x}":                                  "main.dig:1:11: comment of _export is null, so commands that see it will fail (task +main)\n  write '' for an empty text",
		"+a: {sh>: \"echo $${foo:-1}\"}":                                      "${foo:-...} is shell syntax, but the shell never sees it (task +main+a)\n  put the script in a file",
		"+a: {sh>: x, schedule: {daily>: \"07:00:00\"}}":                      "schedule has no effect in a task (task +main+a)\n  write it at the top of the file",
		"+g: {sla: {time: \"07:00:00\"}, +a: {sh>: x}}":                       "sla has no effect in a task (task +main+g)",
		"+a: {sh>: x, sandbox: {timout: 1m}}":                                 "main.dig:1:24: unknown key timout of sandbox (task +main+a)\n  did you mean timeout?",
		"_export: {docker: {imgae: x}}\n+a: {sh>: x}":                         "main.dig:1:20: unknown key imgae of docker (task +main)\n  did you mean image?",
		"sla: {time: \"08:00\", alrt: true}\n+a: {sh>: x}":                    "main.dig:1:22: unknown key alrt of sla\n  did you mean alert?",
		"+a: {loop>: 2, _do: {sh>: x}, _parallel: {limt: 2}}":                 "unknown key limt of _parallel (task +main+a)\n  did you mean limit?",
		"+a: {loop>: -3, _do: {sh>: x}}":                                      "main.dig:1:6: loop> runs nothing: -3 (task +main+a)",
		"+a: {for_each>: {x: []}, _do: {sh>: x}}":                             "for_each> runs nothing: {\"x\":[]} (task +main+a)",
		"+a: {for_range>: {from: 9, to: 9, step: 1}, _do: {sh>: x}}":          "for_range> runs nothing",
		"+a: {echo>: \"key ${secret:k}\"}":                                    "main.dig:1:6: echo> does not read secrets: ${secret:...} is not expanded (task +main+a)",
		"+: {sh>: x}":                                                         "main.dig:1:1: a task has no name (task +main+)",
		"+a: {sh>: x, _chek: {sh>: y}}":                                       "the tasks in _chek never run (task +main+a)\n  did you mean _check?",
		// valid
		"zerodag: 1\n+a: {sh>: \"echo $output ${script}\", output: x, script: y}\n+b: {py>: m.f, output: x}\n+c: {own>: x, depends: y}": "",
		"+a: {sh>: x, output: y, depends: z}":                                                                      "",
		"sla: {time: \"08:00\", +tell: {sh>: x}}\n+a: {sh>: x}":                                                    "",
		"_export: {a: \"${b.a}\", b: \"${'a' + c.a}\", c: 1}\n+a: {sh>: x}":                                        "",
		"+a: {_export: {a: 1}, sh>: x}\n+b: {_export: {a: \"${c}\", c: 2}, sh>: x}":                                "",
		"+a: {own>: x, _do: {sh>: x}}":                                                                             "",
		"+a: {if>: true, _else_do: {sh>: x}}":                                                                      "",
		"_export: {mali: 3, dokcer: 1}\n+a: {sh>: \"${dokcer}\"}":                                                  "",
		"+a: {http>: \"https://h:8443/x y\"}\n+b: {http>: \"${base}/x\"}\n_export: {http: {retry: false}}":         "",
		"+a: {sh>: x, _retry: {limit: \"${n}\", interval: \"${m}\"}}":                                              "",
		"+a: {sh>: x, _retry: {limit: 3, interval: 1, max_interval: 9, interval_type: exponential}, _env: {A: b}}": "",
		"+a: {sh>: \"x ${metod}\", metod: 1, note: y}":                                                             "",
		"+a: {sh>: \"sleep ${timeout}\", timeout: 10}":                                                             "",
		"+a: {py>: m.f, timeout: 10, metod: 1}":                                                                    "",
		"+a: {http>: \"http://x\", timeout: 10, _retry: 3}\n_export: {http: {retry: false}}":                       "",
		"_export: {_cases: {a: {sh>: x}}}\n+a: {switch>: x}":                                                       "",
		"+a: {sh>: x, _retry: \"${n}\"}":                                                                           "",
	} {
		list := Warnings(mapFiles(map[string]string{"main.dig": text}), []string{"main.dig"}, known)
		switch {
		case want == "" && len(list) > 0:
			t.Errorf("%s: %v", text, list)
		case want != "" && (len(list) != 1 || !strings.Contains(list[0].Error(), want)):
			t.Errorf("%s:\n%v\nwant %s", text, list, want)
		}
	}
}

// TestSchedulesOfOthers checks that an error under schedule: prevents only a push of the project, and that each key is
// reported with its position.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.dig": "schedule:\n  daily>: 07:00:00\n\n  +a:\n    echo>: x\n  skip_on_overtme: true\n",
		"b.dig": "+b: {echo>: x}\n",
		"c.dig": "schedule: {dayly>: 07:00:00}\n+c: {echo>: x}\n",
	}
	names := []string{"a.dig", "b.dig", "c.dig"}
	want := "a.dig:4:3: Parameter '+a' is not used at schedule.\n  tasks and _export do not belong below schedule: check the indentation\n" +
		"a.dig:6:3: Parameter 'skip_on_overtme' is not used at schedule.\n  did you mean [skip_on_overtime]?\n" +
		"c.dig:1:12: Unknown scheduler type: dayly\n  did you mean daily>?"
	if _, err := dig.Load(mapFiles(files), names); err == nil || err.Error() != want {
		t.Errorf("a push: %v", err)
	}
	workflows, faults, err := dig.LoadHere(mapFiles(files), names)
	if err != nil || len(workflows) != 3 {
		t.Fatalf("%d workflows, %v", len(workflows), err)
	}
	if got := faults.Unused.Error() + "\n" + faults.Wrong.Error(); got != want {
		t.Errorf("here: %s", got)
	}
}

// TestKeysThatAreMappings checks that a mapping or a list as a key becomes the text that Digdag makes of it, and that
// the depth and size of such keys are limited.
func TestKeysThatAreMappings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: {{Name of database}}":           "{Name of database=null}",
		"a: {{x: 1, y: [a, true, 1.5]}: z}": "{x=1, y=[a, true, 1.5]}",
		"a: {? [b, {c: d}] : z}":            "[b, {c=d}]",
		"b: &k {c: d}\na: {? *k : z}":       "{c=d}",
	} {
		v, err := dig.ParseYAML("f", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if keys := v.(*param.Map).Map("a").Keys(); len(keys) != 1 || keys[0] != want {
			t.Errorf("%s: %q, want %q", text, keys, want)
		}
	}
	if _, err := dig.ParseYAML("f", []byte(strings.Repeat("{", 600)+strings.Repeat("}", 600))); err == nil || !strings.Contains(err.Error(), "nested deeper than 500") {
		t.Errorf("deep: %.200v", err)
	}
	bomb := "a: &a {b: " + strings.Repeat("x", 1000) + "}\n"
	for i := range 40 {
		next, last := string(rune('A'+i)), "a"
		if i > 0 {
			last = string(rune('A' + i - 1))
		}
		bomb += next + ": &" + next + " {? *" + last + " : 1, ? [*" + last + "] : 2}\n"
	}
	if _, err := dig.ParseYAML("f", []byte(bomb)); err == nil {
		t.Error("a text that doubles with every line was read")
	}
}

// TestWarnsOfGivenParameters checks the warning about a parameter of a run that an _export overrides, with its place.
func TestWarnsOfGivenParameters(t *testing.T) {
	t.Parallel()
	text := "_export: {day: 1, db: {host: a, port: 1}, same: x, port: 1}\n+a:\n  _export: {other: 3}\n  sh>: x\n"
	given := param.New("day", "2", "db", param.New("host", "b"), "other", "4", "same", "x", "port", "1", "free", "y")
	wantWarnings(t, mapFiles(map[string]string{"main.dig": text}), []string{"main.dig"}, Known{Operators: []string{"sh"}, Given: given},
		"main.dig:1:11: the given parameter day has no effect here: _export overrides it (task +main)",
		"main.dig:1:24: the given parameter db.host has no effect here: _export overrides it (task +main)",
		"main.dig:3:13: the given parameter other has no effect here: _export overrides it (task +main+a)")
}
