package lint

import (
	"errors"
	"strings"
	"testing"

	"zerodag/engine/dig"
)

// told returns a workflow's errors and warnings.
func told(known Known, files map[string]string, text string) string {
	all := map[string]string{"main.dig": text}
	for name, content := range files {
		all[name] = content
	}
	read := mapFiles(all)
	var found dig.Errors
	if _, err := dig.Load(read, []string{"main.dig"}); errors.As(err, &found) {
		return found.Error()
	}
	return Warnings(read, []string{"main.dig"}, known).Error()
}

// wantTold checks that the warnings about each text contain the given part; "" means no warnings.
func wantTold(t *testing.T, known Known, files, cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		got := told(known, files, text)
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s\n  is told: %s\n  want:    %s", text, got, want)
		}
	}
}

// TestHintsOfKeys checks that the hint for a key of another tool names the equivalent here, with and without a leading
// _.
func TestHintsOfKeys(t *testing.T) {
	t.Parallel()
	known := foreignKnown()
	known.Operators = append(known.Operators, "require", "param_set")
	known.BuiltIn = append(known.BuiltIn, "require", "param_set")
	wantTold(t, known, nil, map[string]string{
		"zerodag: 1\n+a: {sh>: x, _when: false}":                                "\n  write `_if: ${...}`",
		"zerodag: 1\n+a: {sh>: x, _catch: {echo>: y}}":                          "\n  write `_error` with tasks below it",
		"zerodag: 1\n+a: {if>: true, _then: {echo>: y}}":                        "\n  write `_do` with tasks below it",
		"zerodag: 1\n+a: {sh>: x, _needs: [+b]}":                                "\n  write `_after: [+NAME]`",
		"zerodag: 1\n+a: {sh>: x, _before: [+b]}":                               "at the other task",
		"zerodag: 1\n+a: {sh>: x, _while: true}":                                "\n  write `_repeat`",
		"zerodag: 1\n+a: {sh>: x, _output: n}":                                  "\n  write `_store: {NAME: stdout}`",
		"zerodag: 1\n+a: {sh>: x, _rety: 3}":                                    "did you mean [_retry]?",
		"+a: {sh>: x, _on_error: {echo>: y}}":                                   "\n  write `_error` with tasks below it",
		"+a: {sh>: x, _depends: [+b]}":                                          "\n  write `_after: [+NAME]`",
		"+a: {sh>: x, _when: 1}":                                                "write `_if: ${...}`, which needs `zerodag: 1`",
		"+a: {sh>: x, env: {T: x}}":                                             "write `_env`; name your own variables",
		"+a: {sh>: x, container: python}":                                       "write `docker: {image: IMAGE}`",
		"+a: {sh>: x, resources: {cpu: 1}}":                                     "write `sandbox: {cpu: 1",
		"+a: {sh>: x, with: {x: 5}}":                                            "write each of its keys",
		"+a: {sh>: x, args: [a]}":                                               "write them after the command",
		"+a: {sh>: x, output: N}\n+b: {echo>: \"${N}\"}":                        "write `_store: {NAME: stdout}`",
		"+a:\n  run: make":                                                      "write `sh>:`",
		"+a:\n  sh<: make":                                                      "write `sh>:`",
		"+a:\n  pg&gt;: x.sql":                                                  "write `pg>:`",
		"+a:\n  sh:> make":                                                      "write `sh>: make`",
		"+a:\n  uses: actions/checkout@v4":                                      "there are no actions",
		"+a: {sh>: x}\n+b: {sh>: x}\n+a >> +b:":                                 "tasks run in file order",
		"trigger:\n  attempt>:\n  dependent_workflow_name: x\n+a: {sh>: x}":     "`require>` in the later workflow",
		"zerodag: 1\ninputs: {x: {type: integer}}\n+a: {sh>: x}":                "write `params:`",
		"version: 2\n+a: {sh>: x}":                                              "the language level is `zerodag: 1`",
		"schedule_interval: \"@daily\"\n+a: {sh>: x}":                           "write `schedule:`",
		"tz: Asia/Tokyo\n+a: {sh>: x}":                                          "write `timezone: Asia/Tokyo`",
		"default_args: {retries: 3}\n+a: {sh>: x}":                              "write `_defaults:` for keys of all tasks; this needs `zerodag: 1`",
		"secrets: {api: x}\n+a: {sh>: x}":                                       "zerodag secrets --project NAME --set KEY",
		"1 +a:\n2   echo>: a":                                                   "remove the numbers",
		"schedul: {daily>: \"07:00:00\"}\n+a: {sh>: x}":                         "did you mean [schedule]?",
		"hello: {sh>: x}":                                                       "write `+hello:`",
		"+a: {sh>: x, output: N, with: a, args: 1, resources: y, result: true}": "",
		"+a: {require>: main, ignore_failure: true, session_time: 2026-01-01}":  "",
		"+a: {param_set>: null, when: 1, retries: 2}":                           "",
	})
}
