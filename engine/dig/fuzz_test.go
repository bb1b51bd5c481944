package dig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// fuzzBound is far more than an input of the fuzzer's size can need.
const fuzzBound = 5 * time.Second

func seed(f *testing.F) {
	f.Helper()
	for _, pattern := range []string{"testdata/*.dig", "testdata/include/*.yml", filepath.Join(casesFolder, "k*", "*.dig")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	for _, text := range []string{"", "a: &x [*x]", "? [", "!!omap [1]", "!!set [a]", "<<: [*a]", "a: 0b_", "\ufeff", "- - -\t", "%YAML 9.9\n---", "!include : main.dig", "!include : x.dig\n_export: !!omap [a: {b: 1}]", "+a: {+b: &t [{!include : x.dig}], +c: *t}", "a: !<x> y"} {
		f.Add(text)
	}
}

// FuzzParseYAML checks that any text quickly becomes a value or an error with a place, and that a value survives being
// written and read again.
func FuzzParseYAML(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		v, err := ParseYAML("f", []byte(text))
		if spent := time.Since(start); spent > fuzzBound {
			t.Fatalf("took %v", spent)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f") {
				t.Errorf("an error without its file: %v", err)
			}
			return
		}
		if back, err := param.ParseJSON(param.Text(v)); err != nil || !param.Equal(v, back) {
			t.Errorf("%s is no JSON: %v", param.Text(v), err)
		}
		FormatYAML(v)
	})
}

// FuzzLoad checks that any workflow file, which may include itself and others, is accepted or refused with at least one
// error, and that accepted files compile.
func FuzzLoad(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		read := mapSource(map[string]string{"main.dig": text, "x.dig": "+x: {echo>: x}\n!include : y.dig\n", "y.dig": text})
		list, err := Load(read, []string{"main.dig"})
		Inspect(read, "main.dig")
		if spent := time.Since(start); spent > fuzzBound {
			t.Fatalf("took %v", spent)
		}
		var errs Errors
		if err != nil && (!errors.As(err, &errs) || len(errs) == 0 || errs[0].Message == "") {
			t.Errorf("an empty error: %#v", err)
		}
		for _, w := range list {
			if _, err := Tree(w.Name, w.Config); err != nil {
				t.Errorf("accepted but does not compile: %v", err)
			}
		}
	})
}

// FuzzEnvFile checks that any text becomes a list of valid variables, or errors with their lines; in quotes, each value
// is read unchanged.
func FuzzEnvFile(f *testing.F) {
	for _, text := range []string{"A=1", "export B = \"x\\n\" # c\r\n", "C='$a'", "\ufeffD=#", "E", "F=\"", "=", "G='a' b", "export=1", "#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadEnvFile("f", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("an error without its place: %v", err)
			}
			return
		}
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
		for _, v := range list {
			if !keys.EnvName().MatchString(v.Name) || strings.Contains(v.Value, "\x00") {
				t.Errorf("no command can have %q", v)
			}
			if strings.Contains(v.Value, "\n") || len(text) > 1000 { // these have a different form, and may then be too long
				continue
			}
			again, err := ReadEnvFile("f", []byte(v.Name+`="`+quote.Replace(v.Value)+`"`))
			if err != nil || len(again) != 1 || again[0] != v {
				t.Errorf("%q in quotes is read as %q: %v", v, again, err)
			}
		}
	})
}
