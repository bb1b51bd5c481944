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
		"+a:\n    sh>: x\n  foo: y\n":                         "3:3: this is not YAML: did not find expected key\n  this line is indented by 2 blanks, those above to which it could belong by 4 (line 2) or 0 (line 1): line it up",
		"+a:\n  +b:\n    sh>: x\n   +c:\n    sh>: y\n":        "4:4: this is not YAML: did not find expected key\n  this line is indented by 3 blanks, those above to which it could belong by 4 (line 3) or 2 (line 2) or 0 (line 1)",
		"+a:\n  sh>: x\n   foo: y\n":                          "3:4: this is not YAML: mapping values are not allowed in this context\n  this line is indented by 3 blanks, more than line 2, which has a value already",
		"+a:\n  echo>: a: b\n":                                "2:3: this is not YAML: mapping values are not allowed in this context\n  quote text that contains a colon",
		"+a\n  sh>: x\n":                                      "2:3: this is not YAML: mapping values are not allowed in this context\n  a colon is missing in line 1: write `+a:`",
		"+a\n\n# then\n+b:\n  sh>: x\n":                       "4:1: this is not YAML: did not find expected <document start>\n  a colon is missing in line 1: write `+a:`",
		"+a:\n  sh>: x\n  day:5\n":                            "3:3: this is not YAML: could not find expected ':'\n  a blank is missing behind the colon: write `day: 5`",
		"+a:\n  sh>: | echo hi\n+b: {sh>: x}\n":               "2:3: this is not YAML: did not find expected comment or line break\n  no text may follow | or > in its line",
		"+a:\n  sh>: x\n+b\n":                                 "3:1: this is not YAML: could not find expected ':'\n  a colon is missing: write `+b:`",
		"+g:\n  +a:\n    sh> echo x\n":                        "2:3: Parameter '+a' must be an object or array of objects (task +main+g+a)\n  a colon is missing: write `sh>: echo x`",
		"+a:\n  _retry:3\n  echo>: x\n":                       "3:3: this is not YAML: mapping values are not allowed in this context\n  a blank is missing behind the colon in line 2: write `_retry: 3`",
		"+a:\n  sh>: |\n  echo x\n":                           "3:3: this is not YAML: could not find expected ':'\n  the text that begins in line 2 is indented more than its key",
		"+a: {echo>: x}}\n+b: {echo>: x}\n":                   "1:1: this is not YAML: did not find expected key\n  there is a } or ] too many",
		"_export:\n  l:\n    - a\n    b: c\n+a: {sh>: x}\n":   "4:5: this is not YAML: did not find expected '-' indicator\n  the list that begins in line 3 is followed by this line",
		"+a:\n  sh>: \"x\" y\n  b: 1\n":                       "2:3: this is not YAML: did not find expected key\n  text goes on behind its closing quote",
		"+a:\n  sh>: \"x\n  b: 1\n+b:\n  sh>: y\n":            "2:3: this is not YAML: found unexpected end of stream\n  a quote that was opened here is not closed",
		"+a:\n  _export:\n    a: 1\n\tb: 2\n  sh>: x\n":       "4:2: this is not YAML: found a tab character that violates indentation\n  indent with blanks, never with tabs",
		"+a:\n  +b:\n    sh>: x\n    \ty: 1\n":                "4:6: this is not YAML: found a tab character that violates indentation\n  indent with blanks, never with tabs",
		"+a:\n  sh>: |\n    x\n\ty\n":                         "4:2: this is not YAML: found a tab character where an indentation space is expected\n  indent with blanks, never with tabs",
		"+a:\n  echo>: & run\n":                               "quote text that starts with &",
		"+a:\n  echo>: *run*\n":                               "quote text that starts with *",
		"+a:\n  echo>: \"C:\\data\"\n":                        "write the text in single quotes, or each \\ as \\\\",
		"+a:\n  if>: !${a}\n  _do: {echo>: x}\n":              "a condition has the ! within its expression",
		"+a:\n  if>: !a\n  _do: {echo>: x}\n":                 "a condition has the ! within its expression",
		"// my flow\n+a:\n  echo>: a\n":                       "2:1: this is not YAML: mapping values are not allowed in this context\n  a comment begins with #",
		"+a:\n  echo>: a\n  // note\n":                        "a comment begins with #",
		"$ cat w.dig\n+a:\n  echo>: a\n":                      "remove the `$`",
		"> +a:\n>   echo>: a\n":                               "remove the `>`",
		"```yaml\n+a:\n  echo>: a\n```\n":                     "remove the lines with ```",
		"+a:\n  echo>: a\n  …\n":                              "remove the line …",
		"from airflow import DAG\nwith DAG(\"x\") as dag:\n":  "this is Python",
		"some words here\n+a:\n  echo>: x\n":                  "line 1 is no key with a value: remove it",
		"1: +a:\n2:   echo>: a\n":                             "remove the numbers",
		"+a:\n  echo>: [INFO] hello\n":                        "text goes on behind a ] or }",
		strings.Repeat("#\n", mostSearched/2) + "+a\n+b: c\n": "this is not YAML: mapping values are not allowed in this context\n  a colon is missing in line",
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
		"+g:\n  load: {sh>: x}\n":         "the name of a task begins with +: write `+load:`",
		"+g:\n  load: {+a: {sh>: x}}\n":   "the name of a task begins with +: write `+load:`",
		"+g:\n  load:\n":                  "write `+load:` or `load>:`",
		"+g:\n  load: {a: 1}\n":           "write `+load:` or `load>:`",
		"+g:\n  echo: hello\n":            "an operator ends with >: write `echo>:`",
		"load: {sh>: x}\n":                "'load' holds a task, and the name of a task begins with +: write `+load:`",
		"schedule: daily\n+a: {sh>: x}\n": "name its type, such as `daily>: 07:00:00`",
		"+g: {_do: {sh>: x}}\n":           "_do holds the tasks of an operator: write if>, loop>",
		"scheduel: {daily>: 01:00:00}\n":  "'scheduel': did you mean [schedule]?",
	} {
		if _, err := Load(mapSource(map[string]string{"main.dig": text}), []string{"main.dig"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
