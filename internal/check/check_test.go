package check_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/check"
	"zerodag/operators"
	"zerodag/operators/all"
)

// TestFiles proves that each kind of fault is found at its place, by its code.
func TestFiles(t *testing.T) {
	t.Parallel()
	syntax := func(text string) error {
		if strings.Contains(text, "${a +}") {
			return errors.New("a + is no expression")
		}
		return nil
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", nil, []string{"without-workflow :0:0"}},
		{"a workflow below a folder", map[string]string{"sub/a.dig": "+a: {echo>: x}"}, []string{"without-workflow :0:0"}},
		{"good", map[string]string{"a.dig": "+a: {echo>: x}\n+b: {mine>: 1}\n+c: {call>: sub/b}\n", "sub/b.dig": "+a: {echo>: x}\n", "operators/mine.py": "#!/usr/bin/python3\n"}, nil},
		{"declared", map[string]string{"a.dig": "_export:\n  plugin:\n    operators:\n      mine: {command: [x]}\n+b: {mine>: 1}\n"}, nil},
		{"no operator", map[string]string{"a.dig": "+a:\n  for_eahc>: {n: [1]}\n  _do: {echo>: x}\n"}, []string{"doubtful a.dig:2:3"}},
		{"no YAML", map[string]string{"a.dig": "+a: {echo>: x\n", "b.dig": "+a:\n  ech>: x\n"}, []string{"refused a.dig:1:1", "doubtful b.dig:2:3"}},
		{"an unknown key", map[string]string{"a.dig": "+a: {echo>: x}\nfoo: 1\n"}, []string{"refused a.dig:2:1"}},
		{"a schedule", map[string]string{"a.dig": "schedule:\n  daily>: morning\n+a: {echo>: x}\n"}, []string{"refused a.dig:2:3"}},
		{"an expression", map[string]string{"a.dig": "+a:\n  echo>: ${a +}\n"}, []string{"doubtful a.dig:2:3"}},
		{"an include that there is not", map[string]string{"a.dig": "!include : x.dig\n"}, []string{"refused a.dig:1:1"}},
		{"operators of the project", map[string]string{"a.dig": "+a: {x>: 1}\n", "operators/sh": "", "operators/x.py": "", "operators/x.rb": ""}, []string{"shadowed operators/sh:0:0", "ambiguous operators/x.rb:0:0"}},
		{"a script that stores", map[string]string{"a.dig": "+a: {py>: t.f}\n", "t.py": "import x\ndigdag.env.store({'a': '${b}'})\n"}, []string{"stored-as-data t.py:2:0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			findings, _ := check.Files(c.files, syntax)
			for _, f := range findings {
				got = append(got, fmt.Sprintf("%s %s:%d:%d", f.Code, f.File, f.Line, f.Column))
				if f.Message == "" {
					t.Errorf("a finding without a message: %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, findings)
			}
		})
	}
}

// TestNamed proves that the pages name every built-in operator.
func TestNamed(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(all.Registry().Names(), operators.Named()); diff != "" {
		t.Error(diff)
	}
}

// FuzzFiles proves that whatever is sent is answered, and that what is refused says why.
func FuzzFiles(f *testing.F) {
	f.Add("a.dig", "+a: {echo>: x}\n", "b.dig", "!include : a.dig\n")
	f.Add("a.dig", "+a: {call>: a}\n", "operators/x", "")
	f.Fuzz(func(t *testing.T, a, textA, b, textB string) {
		findings, _ := check.Files(map[string]string{a: textA, b: textB}, nil)
		for _, x := range findings {
			if x.Message == "" || x.Code == "" {
				t.Errorf("%+v", x)
			}
		}
	})
}
