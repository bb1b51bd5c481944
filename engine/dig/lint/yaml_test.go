package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantEach compares the first lines of the warnings about each text, in a project with some additional files; "" means
// no warnings.
func wantEach(t *testing.T, known Known, files map[string]string, texts map[string]string) {
	t.Helper()
	for text, want := range texts {
		project := map[string]string{"main.dig": text}
		for name, content := range files {
			project[name] = content
		}
		var got []string
		for _, w := range Warnings(mapFiles(project), []string{"main.dig"}, known) {
			said, _, _ := strings.Cut(strings.TrimPrefix(w.Error(), "main.dig:"), "\n")
			got = append(got, said)
		}
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// TestScalarsThatAreChanged checks the warnings about values that YAML or an expression changes; values that their
// author intends cause none.
func TestScalarsThatAreChanged(t *testing.T) {
	t.Parallel()
	const joined = "YAML joins the lines of this script into one: "
	wantEach(t, Known{Operators: []string{"sh", "echo"}}, nil, map[string]string{
		"+a:\n  sh>: >\n    echo start   # first\n    ./load.sh\n":                                                         "2:8: " + joined + `"echo start   # first ./load.sh\n"`,
		"+a:\n  sh>: >-\n    set -e\n    test -f x\n":                                                                      "2:8: " + joined + `"set -e test -f x"`,
		"+a:\n  sh>: >\n    ./a.sh\n      --in\n    ./b.sh\n":                                                              "", // line breaks next to deeper lines are kept
		"+a:\n  sh>: >\n    ./a.sh\n\n    ./b.sh\n":                                                                        "",
		"+a:\n  sh>: >-\n    ./load.sh --from x\n    --to y |\n    sort\n    && echo done \\\n    well\n    > out.txt\n":   "",
		"+a:\n  sh>: |\n    ./a.sh\n    ./b.sh\n":                                                                          "",
		"+a:\n  echo>: >\n    some words\n    and more\n":                                                                  "",
		"+a: {echo>: 9007199254740992, x: -90071992547409931}":                                                             "1:13: 9007199254740992 is larger than 9007199254740991, so ${...} changes its last digits; 1:34: -90071992547409931 is larger than 9007199254740991, so ${...} changes its last digits",
		"+a: {echo>: \"${x} ${y}\", x: 9007199254740991, y: '90071992547409931'}":                                          "",
		"+a:\n  sh>: git checkout ${c} ${d}\n  c: 1234e56\n  d: 123e4567\n":                                                "3:6: 1234e56 is the number 1.234e+59; 4:6: 123e4567 is the number Infinity",
		"+a: {sh>: \"x ${c} ${d} ${e}\", c: 1e6, d: 1.5e300, e: 1e-9}":                                                     "",
		"+a:\n  echo>: order #5 of 7\n":                                                                                    "2:10: the value ends before the #, which begins a comment in YAML: \"order\"",
		"+a:\n  sh>: ./load.sh --color #ff0000\n  subject: Report #5\n":                                                    "2:8: the value ends before the #, which begins a comment in YAML: \"./load.sh --color\"; 3:12: the value ends before the #, which begins a comment in YAML: \"Report\"",
		"+a:\n  echo>: order # of words\n+b:\n  echo>: order  #5\n+c:\n  echo>: \"order #5\"\n+d:\n  echo>: order#5 #--\n": "",
	})
}
