package lint

import (
	"strings"
	"testing"
)

// TestScripts checks the warnings about text in an sh> script that the shell misreads; scripts that it can run cause
// none.
func TestScripts(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	known.Variables = []string{"session_date"}
	known.Folder = func(folder string) ([]string, bool) { return []string{"main.dig", "x.sh", "scripts"}, folder == "." }
	files := map[string]string{"x.sh": "echo", "scripts/load.sh": "echo"}
	wantTold(t, known, files, map[string]string{
		"+a: {sh>: \"ls\u00a0-l\"}":                                            "has a no-break space (U+00A0)",
		"+a: {sh>: ls –l}":                                                     "has a typographic dash (–)",
		"+a: {sh>: grep “a b” x}":                                              "has a typographic quote (“)",
		"+a: {sh>: echo “hello world”}":                                        "has a typographic quote (“)",
		"+a: {sh>: $ ls -l}":                                                   "remove the $ before the command",
		"+a: {sh>: source venv/bin/activate}":                                  "write . instead of source",
		"+a:\n  sh>: |\n    if [[ $x == 2* ]]; then echo y; fi":                "write `shell: [bash]`",
		"+a: {sh>: \"read -p ok? x; echo $x\"}":                                "read gets no input",
		"+a:\n  sh>: |\n    cat <<EOF\n      hi\n      EOF\n":                  "the text after << has no end",
		"_export: {l: [a, b]}\n+a: {sh>: \"for x in ${l}; do echo $x; done\"}": "write ${l.join(' ')}",
		"+a: {sh>: \"echo N=1 >> $GITHUB_ENV\"}":                               "$GITHUB_ENV belongs to a different tool",
		"+a: {sh>: \"echo ::set-output name=n::5\"}":                           "::set-output belongs to a different tool",
		"+a:\n  sh>: |\n    echo a\n    shell: [bash]\n":                       "`shell:` is part of the script",
		"+a: {sh>: \"for f in a b; do echo ${f}; done\"}":                      "write $f, without braces",
		"+a: {sh>: \"N=1; echo ${N}\"}":                                        "write $N, without braces",
		"_export: {table-name: x}\n+a: {sh>: echo $table-name}":                "variable names cannot contain -",
		"+a: {sh>: \"echo %session_date%\"}":                                   "%session_date% is not expanded",
		"+a: {sh>: 'scripts\\load.sh'}":                                        "write ./scripts/load.sh",
		"+a: {sh>: load.bat}":                                                  "is a Windows script",
		"+a: {sh>: x.sh a}":                                                    "write ./x.sh",
		"_export: {PATH: /data}\n+a: {sh>: ls}":                                "the PATH of all commands",
		"_export: {HOME: here}\n+a: {sh>: ls}":                                 "the home folder of all commands",
		"_export: {db.host: x}\n+a: {echo>: \"${db.host}\"}":                   "`db: {host: ...}`",
		// valid
		"+a: {sh>: \"echo 'x –y “z”' # –l source\"}":                            "",
		"+a: {sh>: \"echo Das „Ding“ – ja\"}":                                   "",
		"+a: {sh>: \"[[ a == a ]]\", shell: [bash]}":                            "",
		"+a: {sh>: \"bash -c '[[ a == a ]]'\"}":                                 "",
		"+a: {sh>: \"while read line; do echo $line; done < x.sh\"}":            "",
		"+a:\n  sh>: |\n    cat <<EOF\n    shell: [[ source\n    EOF\n":         "",
		"+a:\n  sh>: |\n    cat > c.yml <<'EOF'\n    docker: x\n    EOF\n":      "",
		"_export: {n: 1}\n+a: {sh>: \"n=2; echo ${n} $((1 << 2))\"}":            "",
		"+a: {sh>: \"cp x.sh y.sh; date +%Y%m%d; ls -l > out.txt 2>&1\"}":       "",
		"+a: {sh>: \"# don't\\nls 'a' && . ./x.sh\"}":                           "",
		"_export: {PATH: \"/opt/bin:/usr/bin\", HOME: /data}\n+a: {sh>: ls}":    "",
		"_export: {db.host: x, db: {host: y}}\n+a: {echo>: \"${db.host}\"}":     "",
		"+a:\n  sh>: >-\n    echo a\n    b c\n":                                 "",
		"+a:\n  sh>: >-\n    python3 -c \"print(1)\"\n    data/in.csv\n    x\n": "",
		"+a:\n  sh>:\n    ./x.sh one\n    two\n":                                "",
	})
}

// TestFurtherMistakes checks the warnings about mistakes of several kinds; text that only looks like them causes none.
func TestFurtherMistakes(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	known.Variables = []string{"session_date"}
	known.Operators = append(known.Operators, "rb", "slack", "for_each", "fail")
	known.BuiltIn = append(known.BuiltIn, "rb", "slack", "for_each", "fail")
	known.Folder = func(folder string) ([]string, bool) {
		return []string{"main.dig", "tasks.py"}, folder == "."
	}
	files := map[string]string{"tasks.py": "async def main():\n  pass\ndef sync():\n  pass\n", "jobs/load.py": "def main(): pass\n"}
	wantTold(t, known, files, map[string]string{
		"+a: {py>: ./tasks.py}":                                                      "write `py>: tasks.FUNCTION`, or `sh>: python3 tasks.py`",
		"+a: {py>: tasks.py}":                                                        "write `py>: tasks.FUNCTION`",
		"+a: {py>: jobs/load.main}":                                                  "write `py>: jobs.load.main`",
		"+a: {py>: tasks.main}":                                                      "is a coroutine",
		"+a: {rb>: tasks.rb}":                                                        "rb> runs a method",
		"+a: {slack>: \"https://hooks.slack.com/services/x\"}":                       "slack> takes a message",
		"+a: {sh>: x, _parallel: true}":                                              "'_parallel' runs the tasks below it at the same time, but sh> has none",
		"zerodag: 1\n+a: {sh>: x, _parallel: true}":                                  "'_parallel' runs the tasks below it",
		"+a: {for_each>: {x: [1, 2]}, _do: {_parallel: true, echo>: \"${x}\"}}":      "next to the `_do` of a loop",
		"+a: {_background: true, sh>: x}\n+b: {echo>: b}":                            "the next task waits for this one",
		"+a: {sh>: x, _command: y}":                                                  "_command is ignored because sh> has a value",
		"+a: {_type: sh, sh>: x}":                                                    "remove _type",
		"+a: {echo>: x, _env: {T: x}}":                                               "_env is for commands",
		"_export: {a: 1, b: 2}\n+a: {if>: \"${a} == ${b}\", _do: {echo>: x}}":        "write ${a == b}",
		"_export: {a: 1}\n+a: {if>: \"not ${a}\", _do: {echo>: x}}":                  "write ${!a}",
		"_export: {a: 1}\n+a: {if>: \"${a} == x\", _do: {echo>: x}}":                 "write the whole condition in one ${...}",
		"+a: {echo>: \"${{ session_date }}\"}":                                       "write ${session_date}, with one pair of braces",
		"+a: {echo>: \"today is `date +%F`\"}":                                       "`date +%F` is not expanded",
		"+a: {echo>: \"hi <%= session_date %> x\"}":                                  "<%= session_date %> is not expanded",
		"+a: {echo>: \"hi %(session_date)s\"}":                                       "%(session_date)s is not expanded",
		"+a: {SH>: x}":                                                               "write sh>",
		"+a: {spark>: x}":                                                            "unknown operator spark>",
		"+a: {\u200becho>: hi}":                                                      "write echo>",
		"+a:\n  \u200becho>: hi":                                                     "an invisible character (U+200B) in its key",
		"_export: {day: \"${session_date}-x\"}\n+a: {sh>: x, _env: {D: \"${day}\"}}": "write ${session_date}-x here, instead of ${day}",
		"zerodag: 1\n_export: {day: \"${session_date}\"}\n+g:\n  _export: {td: {t: \"t_${day}\"}}\n  +a: {sh>: x}": "main.dig:4:18: day contains an expression",
		"+a: {loop>: 3, var: n, _do: {echo>: \"${n}\"}}":                                                           "write ${i} in its tasks",
		"+a: {for_each>: {x: [“a”, “b”]}, _do: {echo>: \"${x}\"}}":                                                 "around a value",
		// valid
		"+a: {for_each>: {x: [1, 2]}, _parallel: true, _do: {echo>: \"${x}\"}}":                                            "",
		"+a: {_background: true, sh>: x}\n+b: {_background: true, sh>: y}\n+c: {sh>: z}":                                   "",
		"+a: {sh>: x, _parallel: false}":                                                                                   "",
		"+a: {py>: tasks.sync}":                                                                                            "",
		"+a: {echo>: \"write `name` and `a b`\"}":                                                                          "",
		"_export: {a: 1, b: 2}\n+a: {if>: \"${a == b}\", _do: {echo>: x}}":                                                 "",
		"_export: {day: \"${session_date}\"}\n+a: {sh>: \"${day}\", l: [\"${day}\"]}":                                      "",
		"_export: {day: \"${session_date}\", m: {day: x, y: \"${day}\"}}\n+a: {sh>: x}":                                    "",
		"_export: {td: {base: db}}\n+g:\n  _export: {td: {database: \"${td.base}_x\"}}\n  +a: {echo>: \"${td.database}\"}": "",
	})
	known.Operators = append(known.Operators, "slack")
	if got := told(known, nil, "+a: {spark>: x}"); got == "" || strings.Contains(got, "did you mean") {
		t.Errorf("spark> is reported as a misspelling of another operator: %s", got)
	}
}
