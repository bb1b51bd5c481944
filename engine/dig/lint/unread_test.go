package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"zerodag/engine/dig/lint/parameters"
)

// TestBeatenParameters checks the warning about a parameter that has no effect because the only task that reads it also
// sets it, and that there are no other warnings.
func TestBeatenParameters(t *testing.T) {
	t.Parallel()
	const beaten = "main.dig: the given parameter n has no effect here: the task overrides it (task +main+a"
	for text, want := range map[string]string{
		"+a: {sh>: echo $n, n: 1}":                                                         beaten + ")",
		"+a: {loop>: 2, _do: {sh>: echo $n, n: 1}}\n+b: {echo>: x}":                        beaten + "^sub)",
		"+a: {sh>: x, _error: {py>: m.f, n: 1}}":                                           beaten + "^error)",
		"+a: {py>: m.f, n: 1}\n# n is a number":                                            beaten + ")",
		"+a: {sh>: echo $n, n: 1}\n+b: {sh>: echo $n}":                                     "",
		"+a: {sh>: echo $n, n: \"${n}\"}":                                                  "",
		"+a: {sh>: \"echo ${n}\", n: 1}":                                                   "",
		"+a: {sh>: echo $n, n: 1}\n+b: {for_each>: {x: [1]}, _do: {echo>: \"${this.n}\"}}": "",
		"_export: {n: 2}\n+a: {sh>: echo $n, n: 1}":                                        "",
		"zerodag: 1\nparams: {n: {type: integer}}\n+a: {sh>: x, n: 1}":                     "",
		"+a: {sh>: echo $n}":                                                               "",
	} {
		files := map[string]string{"main.dig": text + "\n", "m.py": "def f(): pass"}
		folder := func(name string) ([]string, bool) { return slices.Sorted(maps.Keys(files)), name == "." }
		got := ""
		for _, e := range parameters.UnreadIn(mapFiles(files), folder, []string{"n"}) {
			got, _, _ = strings.Cut(e.Error(), "\n")
		}
		if got != want {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
		files["lib.sh"] = "echo $n"
		if list := parameters.UnreadIn(mapFiles(files), folder, []string{"n"}); len(list) > 0 {
			t.Errorf("%s\nwith a script that reads it: %v", text, list)
		}
	}
}
