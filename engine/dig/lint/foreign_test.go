package lint

import "testing"

// foreignKnown returns a Known with some operators, like the program's.
func foreignKnown() Known {
	return Known{
		Operators: []string{"sh", "echo", "http", "py", "own", "pg", "if", "loop", "switch"}, BuiltIn: []string{"sh", "echo", "http", "py", "pg", "if", "loop", "switch"},
		Parameters: func(operator string) []string {
			return map[string][]string{"sh": {"shell", "_env"}, "http": {"method", "content", "query", "retry"}, "pg": {"host", "query"}, "if": {"_do"}, "loop": {"_do"}, "switch": {"_cases", "_default"}}[operator]
		},
		Folder: func(folder string) ([]string, bool) {
			return []string{"main.dig", "m.py", "helper.py", "uses.sh", "q.sql"}, folder == "."
		},
	}
}

// TestForeignKeys checks the warnings about keys of other tools at operators that do not read them; keys that may be
// read cause none.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	files := map[string]string{"uses.sh": "echo $when ${cwd}", "q.sql": "select '${tbl}'", "called.dig": "+x: {echo>: x}\n"}
	wantEach(t, foreignKnown(), files, map[string]string{
		"zerodag: 1\n+a: {sh>: x, if: \"${y}\", disable: true, ignore_error: true}": "2:14: if is ignored by sh> (task +main+a); 2:26: disable is ignored by sh> (task +main+a); 2:41: ignore_error is ignored by sh> (task +main+a)",
		"+a: {sh>: x, when: false}\n+b: {sh>: x, dependsOn: [+a], retry-delay: 5}":  "1:14: when is ignored by sh> (task +main+a); 2:14: dependsOn is ignored by sh> (task +main+b); 2:31: retry-delay is ignored by sh> (task +main+b)",
		"+a: {sh>: x, options: {retry: 3}, enabled: false}":                         "1:14: options is ignored by sh> (task +main+a); 1:35: enabled is ignored by sh> (task +main+a)",
		"zerodag: 1\n+a: {http>: \"http://x\", body: y, params: {z: 1}, note: n}":   "2:25: body is ignored by http> (task +main+a); 2:34: params is ignored by http> (task +main+a); 2:50: note is ignored by http> (task +main+a)",
		"+a: {echo>: x, needs: y, colour: red}":                                     "1:16: needs is ignored by echo> (task +main+a); 1:26: colour is ignored by echo> (task +main+a)",
		"+a: {sh>: x, on_failure: {echo>: x}}":                                      "1:14: the tasks in on_failure never run (task +main+a)",
		"+_error: {echo>: x}\n+g:\n  +_finally: {echo>: x}\n  +_other: {echo>: x}":  "1:1: +_error is an ordinary task, which runs in file order (task +main+_error); 3:3: +_finally is an ordinary task, which runs in file order (task +main+g+_finally)",
		// valid
		"+a: {sh>: ./uses.sh, when: 1, cwd: y}":                                "",
		"+a: {sh>: sh uses.sh, when: 1, cwd: y}":                               "",
		"+a: {sh>: \"echo $needs ${enabled}\", needs: 1, enabled: true}":       "",
		"+a: {pg>: q.sql, tbl: users}":                                         "",
		"+a: {own>: x, when: 1}\n+b: {sh>: x, table: orders}":                  "",
		"+a: {echo>: \"${colour}\", colour: red}\n+b: {echo>: x, \"${x}\": 1}": "",
		"+a: {if>: true, note: x, _do: {echo>: \"${note}\"}}":                  "",
	})
}

// TestArgumentsOfFunctions checks the warnings about parameters of py> that its function does not take and that nothing
// else can read.
func TestArgumentsOfFunctions(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"m.py": "import digdag\n\ndef load(table=\"customers\", limit: int = f(1, 2), *, days):  # x\n    pass\n\ndef every(**kw):\n    pass\n\n@wrapped\ndef made(x):\n    pass\n\ndef none():\n    print(noted)\n",
		"p.py": "import digdag\ndef f(table): return digdag.env.params['x']\n", "h.py": "import helper\ndef f(table): pass\n", "helper.py": "", "json.py": "def f(): pass\n", "zerodag.py": "def f(): pass\n",
		"c.py": "class C:\n    def run(self, a): pass\n",
	}
	wantEach(t, foreignKnown(), files, map[string]string{
		"+a: {py>: json.f}":    "1:6: json.py is never read: the Python module json hides it (task +main+a)",
		"+a: {py>: zerodag.f}": "1:6: zerodag.py is never read: the Python module zerodag hides it (task +main+a)",
		"+a: {py>: m.load, tabel: orders, limit: 1, days: 2}": "1:19: load in m.py has no argument tabel (task +main+a)",
		"+a: {py>: m.load, days: 2, if: false}":               "1:28: load in m.py has no argument if (task +main+a)",
		"+a: {py>: m.none, region: de}":                       "1:19: none in m.py has no argument region (task +main+a)",
		"+a: {py>: h.f, tabel: x}":                            "1:16: f in h.py has no argument tabel (task +main+a)",
		// valid
		"+a: {py>: m.every, x: 1}\n+b: {py>: m.made, y: 1}\n+c: {py>: m.none, noted: 1}\n+d: {py>: p.f, table: 1, other: 2}\n+e: {py>: h.f, table: 1, other: 2}\n+f: {py>: c.C, b: 1}": "",
		"+a: {py>: m.load, days: \"${region}\", region: 1, _retry: 3, docker: {image: x}}\n+b: {py>: elsewhere.f, if: 1}":                                                              "",
	})
}
