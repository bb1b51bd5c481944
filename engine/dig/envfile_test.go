package dig

import (
	"strings"
	"testing"

	"zerodag/engine/dig/keys"

	"github.com/google/go-cmp/cmp"
)

// TestReadEnvFile checks how each form of a line is read, and that no error shows a value, which may be a secret.
func TestReadEnvFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]EnvVariable{
		"":                         nil,
		"# A=1\n\n \t\n":           nil,
		"A=1\nA=2":                 {{"A", "1"}, {"A", "2"}},
		"  A = two words  ":        {{"A", "two words"}},
		"A=":                       {{"A", ""}},
		"A=a=b":                    {{"A", "a=b"}},
		"A=x # comment":            {{"A", "x"}},
		"A=x#y":                    {{"A", "x#y"}},
		"A=#x":                     {{"A", ""}},
		"export A=1":               {{"A", "1"}},
		"export\tA=1\r\n":          {{"A", "1"}},
		"export=1":                 {{"export", "1"}},
		"A=\" x \" # c":            {{"A", " x "}},
		`A="a\nb\t\"c\"\\ \$x \q"`: {{"A", "a\nb\t\"c\"\\ $x \\q"}},
		`A='a\n"#'`:                {{"A", `a\n"#`}},
		"A=''":                     {{"A", ""}},
		"A=${secret:a.b}":          {{"A", "${secret:a.b}"}},
		"\ufeffA=1":                {{"A", "1"}},
		"A=it's":                   {{"A", "it's"}},
	} {
		got, err := ReadEnvFile("f", []byte(text))
		if err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
	for text, want := range map[string]string{
		"A=1\nhunter2":                         "f:2:1: the line has no =\n",
		"1A=hunter2":                           "f:1:1: '1A' is not a valid variable name\n",
		"=hunter2":                             "f:1:1: '' is not a valid variable name\n",
		"A=\"hunter2":                          "f:1:1: the quotes around the value of A do not match\n",
		"A='hunter2' hunter2":                  "f:1:1: the quotes around the value of A do not match\n",
		"A=hunter2\x00":                        "f:1:1: the value of A contains a NUL byte",
		"A=\n\nB":                              "f:3:1: the line has no =",
		strings.Repeat("#", keys.MaxEnvFile+1): "f: An environment file may have at most 65536 bytes",
	} {
		_, err := ReadEnvFile("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}
