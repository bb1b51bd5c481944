package dig

import (
	"strings"
	"testing"
)

// TestFaultsOfYAML checks that a fault is reported at its line, with a fix: the library names the line at which the
// enclosing block begins.
func TestFaultsOfYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+a:\n    sh>: x\n  foo: y\n":                         "3:3: this is not YAML: did not find expected key\n  this line is indented by 2 spaces, the possible parents above it by 4 (line 2) or 0 (line 1): align it",
		"+a:\n  +b:\n    sh>: x\n   +c:\n    sh>: y\n":        "4:4: this is not YAML: did not find expected key\n  this line is indented by 3 spaces, the possible parents above it by 4 (line 3) or 2 (line 2) or 0 (line 1)",
		"+a:\n  sh>: x\n   foo: y\n":                          "3:4: this is not YAML: mapping values are not allowed in this context\n  this line is indented by 3 spaces, more than line 2, which already has a value",
		"+a:\n  echo>: a: b\n":                                "2:3: this is not YAML: mapping values are not allowed in this context\n  quote text that contains a colon",
		"+a\n  sh>: x\n":                                      "2:3: this is not YAML: mapping values are not allowed in this context\n  the colon on line 1 is missing: write `+a:`",
		"+a\n\n# then\n+b:\n  sh>: x\n":                       "4:1: this is not YAML: did not find expected <document start>\n  the colon on line 1 is missing: write `+a:`",
		"+a:\n  sh>: x\n  day:5\n":                            "3:3: this is not YAML: could not find expected ':'\n  the space after the colon is missing: write `day: 5`",
		"+a:\n  sh>: | echo hi\n+b: {sh>: x}\n":               "2:3: this is not YAML: did not find expected comment or line break\n  no text may follow | or > on its line",
		"+a:\n  sh>: x\n+b\n":                                 "3:1: this is not YAML: could not find expected ':'\n  the colon is missing: write `+b:`",
		"+g:\n  +a:\n    sh> echo x\n":                        "2:3: Parameter '+a' must be an object or array of objects (task +main+g+a)\n  the colon is missing: write `sh>: echo x`",
		"+a:\n  _retry:3\n  echo>: x\n":                       "3:3: this is not YAML: mapping values are not allowed in this context\n  the space after the colon on line 2 is missing: write `_retry: 3`",
		"+a:\n  sh>: |\n  echo x\n":                           "3:3: this is not YAML: could not find expected ':'\n  the text that begins on line 2 must be indented more than its key",
		"+a: {echo>: x}}\n+b: {echo>: x}\n":                   "1:1: this is not YAML: did not find expected key\n  there is a } or ] too many",
		"_export:\n  l:\n    - a\n    b: c\n+a: {sh>: x}\n":   "4:5: this is not YAML: did not find expected '-' indicator\n  this line follows the list that begins on line 3",
		"+a:\n  sh>: \"x\" y\n  b: 1\n":                       "2:3: this is not YAML: did not find expected key\n  text continues after its closing quote",
		"+a:\n  sh>: \"x\n  b: 1\n+b:\n  sh>: y\n":            "2:3: this is not YAML: found unexpected end of stream\n  a quote opened here is not closed",
		"+a:\n  _export:\n    a: 1\n\tb: 2\n  sh>: x\n":       "4:2: this is not YAML: found a tab character that violates indentation\n  indent with spaces, never with tabs",
		"+a:\n  +b:\n    sh>: x\n    \ty: 1\n":                "4:6: this is not YAML: found a tab character that violates indentation\n  indent with spaces, never with tabs",
		"+a:\n  sh>: |\n    x\n\ty\n":                         "4:2: this is not YAML: found a tab character where an indentation space is expected\n  indent with spaces, never with tabs",
		"+a:\n  echo>: & run\n":                               "quote text that starts with &",
		"+a:\n  echo>: *run*\n":                               "quote text that starts with *",
		"+a:\n  echo>: \"C:\\data\"\n":                        "use single quotes, or write each \\ as \\\\",
		"+a:\n  if>: !${a}\n  _do: {echo>: x}\n":              "in a condition, write the ! inside the expression",
		"+a:\n  if>: !a\n  _do: {echo>: x}\n":                 "in a condition, write the ! inside the expression",
		"// my flow\n+a:\n  echo>: a\n":                       "2:1: this is not YAML: mapping values are not allowed in this context\n  a comment begins with #",
		"+a:\n  echo>: a\n  // note\n":                        "a comment begins with #",
		"$ cat w.dig\n+a:\n  echo>: a\n":                      "remove the `$`",
		"> +a:\n>   echo>: a\n":                               "remove the `>`",
		"```yaml\n+a:\n  echo>: a\n```\n":                     "remove the lines with ```",
		"+a:\n  echo>: a\n  …\n":                              "remove the line …",
		"from airflow import DAG\nwith DAG(\"x\") as dag:\n":  "this is Python",
		"some words here\n+a:\n  echo>: x\n":                  "line 1 is not a key with a value: remove it",
		"1: +a:\n2:   echo>: a\n":                             "remove the numbers",
		"+a:\n  echo>: [INFO] hello\n":                        "text continues after a ] or }",
		strings.Repeat("#\n", mostSearched/2) + "+a\n+b: c\n": "this is not YAML: mapping values are not allowed in this context\n  the colon on line",
	} {
		_, err := Load(mapSource(map[string]string{"main.dig": text}), []string{"main.dig"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(want, "\n") > strings.Count(err.Error(), "\n") {
			t.Errorf("%.100q:\n%v\nwant %s", text, err, want)
		}
	}
}

// TestUnmarkedNames checks that the correct form is shown for a key that is marked neither as a task nor as an
// operator.
func TestUnmarkedNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+g:\n  load: {sh>: x}\n":         "task names begin with +: write `+load:`",
		"+g:\n  load: {+a: {sh>: x}}\n":   "task names begin with +: write `+load:`",
		"+g:\n  load:\n":                  "write `+load:` or `load>:`",
		"+g:\n  load: {a: 1}\n":           "write `+load:` or `load>:`",
		"+g:\n  echo: hello\n":            "operators end with >: write `echo>:`",
		"load: {sh>: x}\n":                "'load' holds a task, and task names begin with +: write `+load:`",
		"schedule: daily\n+a: {sh>: x}\n": "name its type, such as `daily>: 07:00:00`",
		"+g: {_do: {sh>: x}}\n":           "_do belongs to an operator: write if>, loop>",
		"scheduel: {daily>: 01:00:00}\n":  "'scheduel': did you mean [schedule]?",
	} {
		if _, err := Load(mapSource(map[string]string{"main.dig": text}), []string{"main.dig"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
