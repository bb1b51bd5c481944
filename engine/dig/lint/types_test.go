package lint_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"

	"zerodag/engine/dig/lint"
	"zerodag/engine/expr/script"
)

// wantOf compares the first lines of the warnings about projects with each text as main.dig; "" means no warnings.
func wantOf(t *testing.T, files, texts map[string]string) {
	t.Helper()
	for text, want := range texts {
		project := maps.Clone(files)
		project["main.dig"] = text
		read := func(name string) ([]byte, error) {
			if content, there := project[name]; there {
				return []byte(content), nil
			}
			return nil, dig.ErrNotFound
		}
		builtIn := []string{"sh", "echo", "if", "http", "loop", "py", "for_each"}
		known := lint.Known{Operators: append(slices.Clone(builtIn), "own"), BuiltIn: builtIn, Exported: []string{"http"}, Uses: script.Uses,
			Variables: []string{"session_date", "session_time", "session_unixtime"},
			Folder: func(folder string) ([]string, bool) {
				return slices.Sorted(maps.Keys(project)), folder == "."
			}}
		var got []string
		for _, w := range lint.Warnings(read, []string{"main.dig"}, known) {
			said, _, _ := strings.Cut(strings.TrimPrefix(w.Error(), "main.dig:"), "\n")
			got = append(got, said)
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// TestExpressionsOfParameters checks the warnings about uses of parameters that are always wrong. Uses that may be
// right cause no warning.
func TestExpressionsOfParameters(t *testing.T) {
	t.Parallel()
	wantOf(t, map[string]string{"x.sh": "echo $timeout $env\n"}, map[string]string{
		"_export: {table-name: t}\n+a: {echo>: \"${table-name}\"}":                              "2:6: table-name is read as a subtraction, not as the parameter of that name (task +main+a)",
		"+a: {echo>: \"${session_date - 1}\"}":                                                  "1:6: session_date is text, and subtracting from text does not give a number (task +main+a)",
		"_export: {list: [a]}\n+a: {if>: \"${'a' in list}\", _do: {echo>: x}}":                  "2:6: `in` searches the indexes of list, not its values (task +main+a)",
		"+a: {if>: \"${flag = false}\", _do: {echo>: x}}":                                       "1:6: flag = ... assigns a value instead of comparing (task +main+a)",
		"_export: {days: [mon]}\n+a: {echo>: \"${days.size}\"}":                                 "2:6: a list has no size: ${days.size} is empty (task +main+a)",
		"+a: {if>: \"${session_date == '20260301'}\", _do: {echo>: x}}":                         "1:6: session_date has the form 2026-12-31, but '20260301' has a different one (task +main+a)",
		"zerodag: 1\n+a: {sh>: x, _finally: {+x: {_if: \"${outcome == 'failed'}\", echo>: x}}}": "2:30: outcome is never 'failed' (task +main+a^finally+x)",
		"+a: {echo>: \"${1 < 2 < 3}\"}":                                                         "1:6: a < b < c compares true or false with c (task +main+a)",
		"_export: {list: [a], c: a}\n+a: {if>: \"${c in list}\", _do: {echo>: x}}":              "2:6: `in` searches the indexes of list, not its values (task +main+a)",
		"+a: {http>: \"http://x\"}\n+b: {if>: \"${http.status == 200}\", _do: {echo>: x}}":      "1:6: http> retries forever while the server does not answer, even if its name is mistyped (task +main+a); 2:6: http has no status: ${http.status} is empty (task +main+b)",
		// valid
		"_export: {a: 3, b: 1, m: {x: 1}}\n+a: {echo>: \"${a-b} ${'x' in m} ${session_unixtime - 5} ${x = 3} ${m.size || 0}\"}":    "",
		"+a: {if>: \"${session_date >= '2026-03-01' && session_time < '2026-03' && session_date != ''}\", _do: {echo>: x}}":        "",
		"zerodag: 1\n+a: {sh>: x, _finally: {+x: {_if: \"${outcome != 'success'}\", echo>: x}}}":                                   "",
		"_export: {outcome: failed}\n+a: {echo>: \"${outcome == 'failed'}\"}":                                                      "",
		"+a: {if>: \"${(function() { var n = 0; n = n + 2; return n == 2 })()}\", _do: {echo>: x}}":                                "",
		"+a: {sh>: \"echo $when $env $timeout\", when: today, env: prod, timeout: 30}\n+b: {sh>: sh x.sh, timeout: 30, env: prod}": "",
	})
}

// TestTextsAsOtherTypes checks the warnings about text that an expression treats as a number or a boolean; values that
// may be one cause none.
func TestTextsAsOtherTypes(t *testing.T) {
	t.Parallel()
	stores := "zerodag: 1\n+a: {sh>: \"echo read=9 >> $DIGDAG_STORE; echo \\\"written=10\\\" >> $ZERODAG_STORE\"}\n"
	wantOf(t, map[string]string{"m.py": "digdag.env.store(counted=True)", "sub.dig": "_export: {shared: 3}\n+a: {echo>: x}\n"}, map[string]string{
		stores + "+b: {if>: \"${read > written}\", _do: {echo>: x}}":               "3:6: read and written are compared character by character if both are text: 9 is greater than 10; $ZERODAG_STORE stores text (task +main+b)",
		"+a: {if>: \"${!dry_run}\", _do: {echo>: x}}":                              "1:6: !dry_run is false even for the text 'false'; -p passes text (task +main+a)",
		"+a: {if>: \"${flag && session_date}\", _do: {echo>: x}}":                  "1:6: flag counts as true even if it is the text 'false'; -p passes text (task +main+a)",
		"+a: {echo>: \"${n + 1}\"}":                                                "1:6: n + 1 appends to text: 5 + 1 is 51; -p passes text (task +main+a)",
		"+a: {echo>: \"${n > m}\"}":                                                "1:6: n and m are compared character by character if both are text: 9 is greater than 10; -p passes text (task +main+a)",
		"_export: {n: '5'}\n+a: {echo>: \"${n + 1}\"}":                             "2:6: n + 1 appends to text: 5 + 1 is 51; it is text in the file (task +main+a)",
		"zerodag: 1\nparams: {n: {type: string}}\n+a: {echo>: \"${n + 1}\"}":       "3:6: n + 1 appends to text: 5 + 1 is 51; `params` declares it as a string (task +main+a)",
		"zerodag: 1\n+a: {sh>: x, _store: {n: stdout}}\n+b: {echo>: \"${1 + n}\"}": "3:6: n + 1 appends to text: 5 + 1 is 51; `_store` stores text unless it has `type` (task +main+b)",
		// valid
		stores + "+b: {if>: \"${Number(read) > Number(written) || read > 5}\", _do: {echo>: x}}":                                        "",
		"zerodag: 1\nparams: {n: {type: integer}, flag: {type: boolean}}\n+a: {if>: \"${!flag && n > 3}\", _do: {echo>: \"${n + 1}\"}}": "",
		"zerodag: 1\n+a: {sh>: x, _store: {n: {from: stdout, type: integer}}}\n+b: {echo>: \"${n + 1}\"}":                               "",
		"_export: {n: 5, name: x}\n+a: {loop>: 3, _do: {echo>: \"${i + 1} ${n + 1} ${name + 1}\"}}":                                     "",
		"+a: {for_each>: {n: [1, 2]}, _do: {echo>: \"${n + 1}\"}}":                                                                      "",
		"+a: {echo>: \"${counted + 1} ${shared + 1} ${start_date < end_date} ${flag && 'x'} ${session_unixtime + 1}\"}":                 "",
		"+a: {own>: x}\n+b: {echo>: \"${n + 1}\"}":                                                                                      "",
	})
}

// TestPartsThatAreNot checks the warnings about parts of a parameter that no file defines; parts that may exist or are
// handled cause none.
func TestPartsThatAreNot(t *testing.T) {
	t.Parallel()
	paths := "_export: {paths: {tmp: ./build}}\n"
	get := "_export: {http: {retry: false}}\n+a: {http>: \"http://x\"}\n"
	wantOf(t, map[string]string{"m.py": "digdag.env.store({'db': {'host': 1}})", "sub.dig": "_export: {shared: {b: 1}}\n+a: {echo>: x}\n"}, map[string]string{
		paths + "+a: {sh>: \"rm -rf ${paths.temp}/*\"}": "2:6: paths has no temp in any _export, so ${paths.temp} is empty (task +main+a)",
		"+a: {echo>: \"${session_time.year}\"}":         "1:6: session_time is text and has no year: ${session_time.year} is empty (task +main+a)",
		get + "+b: {echo>: \"${http.last_content}\"}":   "3:6: http.last_content is empty because no http> in this file has store_content (task +main+b)",
		"_export: {http: {store_content: true, retry: false}}\n+a: {http>: \"http://x\"}\n+b: {echo>: \"${http.last_content.a}\"}": "3:6: http.last_content is text and has no a (task +main+b)",
		// valid
		paths + "+a: {echo>: \"${paths.tmp} ${paths.temp || 'x'} ${paths.length} ${session_time.length} ${typeof paths.temp}\"}":                                   "",
		paths + "+a: {_export: {paths: {temp: x}}, echo>: \"${paths.temp}\"}":                                                                                      "",
		"_export: {shared: {a: 1}, db: {port: 1}}\n+a: {echo>: \"${shared.b} ${db.host} ${unknown.x} ${shared.a}\"}":                                               "",
		"_export: {http: {retry: false}}\n+a: {http>: \"http://x\", store_content: true}\n+b: {echo>: \"${JSON.parse(http.last_content).a} ${http.last_status}\"}": "",
		"+b: {echo>: \"${http.last_content}\"}": "",
	})
}

// TestFixedNames checks the warnings about values with the name of a built-in variable.
func TestFixedNames(t *testing.T) {
	t.Parallel()
	wantOf(t, map[string]string{}, map[string]string{
		"+a: {for_each>: {session_date: [x]}, _do: {echo>: x}}":                                  "1:6: session_date is a built-in variable, so expressions do not see this value (task +main+a)",
		"zerodag: 1\n+a: {sh>: x, _store: {session_time: stdout}}":                               "2:23: session_time is a built-in variable, so expressions do not see this value (task +main+a)",
		"zerodag: 1\n+a: {sh>: \"echo session_date=1 >> $DIGDAG_STORE\"}":                        "2:6: session_date is a built-in variable, so expressions do not see this value (task +main+a)",
		"zerodag: 1\n+a: {for_each>: {date: [x]}, _do: {sh>: x, _store: {session_day: stdout}}}": "",
	})
}

// TestPartsOfError checks the warnings about parts of `error` that no failure has, if `error` is the failure.
func TestPartsOfError(t *testing.T) {
	t.Parallel()
	wantOf(t, map[string]string{"m.py": "def f(): pass"}, map[string]string{
		"+a: {sh>: x, _error: {echo>: \"${error.output}\"}}":                    "1:23: error has no output, so ${error.output} is empty (task +main+a^error)",
		"_error: {+t: {sh>: \"echo ${error.mesage}\"}}\n+a: {sh>: x}":           "1:15: error has no mesage, so ${error.mesage} is empty (task +main^error+t)",
		"zerodag: 1\n+a: {sh>: x, _finally: {echo>: \"${error.code}\"}}":        "2:25: error has no code, so ${error.code} is empty (task +main+a^finally)",
		"+a: {sh>: x, _error: {if>: \"${x}\", _do: {echo>: \"${error.log}\"}}}": "1:42: error has no log, so ${error.log} is empty (task +main+a^error^sub)",
		// valid
		"+a: {sh>: x, _error: {echo>: \"${error.message} ${error.task} ${error.tasks[0].task} ${error.exit_code} ${error.attempt.id} ${error.stacktrace}\"}}": "",
		"+a: {sh>: x, _error: {echo>: \"${error.output || 'none'} ${error.toString()}\"}}":                                                                    "",
		"_export: {error: {output: 1}}\n+a: {sh>: x, _error: {echo>: \"${error.output}\"}}":                                                                   "",
		"+a: {own>: x, _error: {echo>: \"${error.output}\"}}":                                                                                                 "",
		"+a: {for_each>: {error: [{output: 1}]}, _do: {echo>: \"${error.output}\"}}":                                                                          "",
		"+a: {sh>: x, _error: {for_each>: {error: [{output: 1}]}, _do: {echo>: \"${error.output}\"}}}":                                                        "",
		"+error_log: {echo>: \"${error.output}\"}":                                                                                                            "",
	})
	wantOf(t, map[string]string{"m.py": "digdag.env.store({'error': {'output': 1}})"}, map[string]string{"+a: {sh>: x, _error: {echo>: \"${error.output}\"}}": ""})
}
