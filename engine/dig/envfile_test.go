package dig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadEnvFile proves how each form of a line is read, and that no error tells a value, which may be a secret.
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
		"A=1\nhunter2":                    "f:2:1: the line has no =\n",
		"1A=hunter2":                      "f:1:1: '1A' is no name of a variable\n",
		"=hunter2":                        "f:1:1: '' is no name of a variable\n",
		"A=\"hunter2":                     "f:1:1: the quotes around the value of A do not match\n",
		"A='hunter2' hunter2":             "f:1:1: the quotes around the value of A do not match\n",
		"A=hunter2\x00":                   "f:1:1: the value of A has a NUL",
		"A=\n\nB":                         "f:3:1: the line has no =",
		strings.Repeat("#", MaxEnvFile+1): "f: A file of variables has at most 65536 bytes",
	} {
		_, err := ReadEnvFile("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}

// TestEnvFilesAreThere proves that a check tells of files of variables that are missing or wrong, and of no others.
func TestEnvFilesAreThere(t *testing.T) {
	t.Parallel()
	files := map[string]string{"main.dig": `zerodag: 1
_env_files: [env/all, env/none]
+a:
  _env_files: ['env/none?', 'env/${x}', env/wrong]
  sh>: x
`, "env/all": "A=1", "env/wrong": "A=1\nB\n"}
	var got []string
	for _, e := range Warnings(mapSource(files), []string{"main.dig"}, Known{Operators: []string{"sh"}}) {
		got = append(got, e.Error())
	}
	want := []string{
		"main.dig:2:1: the file env/none of variables is not in the project (task +main)\n  the path is relative to the folder of the project; write 'env/none?' if it may be missing",
		"main.dig:4:3: env/wrong:2:1: the line has no = (task +main+a)\n  write KEY=value in each line; # begins a comment",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
