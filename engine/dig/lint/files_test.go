package lint

import (
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig"

	"github.com/google/go-cmp/cmp"
)

// mapFiles serves a project's files from a map.
func mapFiles(files map[string]string) dig.Source {
	return func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, dig.ErrNotFound
	}
}

// TestEnvFilesAreThere checks the warnings about missing or invalid variable files, and that there are no others.
func TestEnvFilesAreThere(t *testing.T) {
	t.Parallel()
	files := map[string]string{"main.dig": `zerodag: 1
_env_files: [env/all, env/none]
+a:
  _env_files: ['env/none?', 'env/${x}', env/wrong]
  sh>: x
`, "env/all": "A=1", "env/wrong": "A=1\nB\n"}
	var got []string
	for _, e := range Warnings(mapFiles(files), []string{"main.dig"}, Known{Operators: []string{"sh"}}) {
		got = append(got, e.Error())
	}
	want := []string{
		"main.dig:2:1: the environment file env/none is not in the project (task +main)\n  the path is relative to the project folder; write 'env/none?' if it may be missing",
		"main.dig:4:3: env/wrong:2:1: the line has no = (task +main+a)\n  write KEY=value on each line; # begins a comment",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzWarnings checks that no workflow crashes or slows down the search for warnings.
func FuzzWarnings(f *testing.F) {
	for _, text := range []string{
		"+a: {echo>: \"${x}\"}", "_export: {a: \"${b}\", b: \"${a}\"}\n+a: {sh>: x}", "schedule: {cron>: \"* 7 * * *\"}\n+a: {py>: m.f}",
		"zerodag: 1\n_env_files: x.dig\n+a:\n  sh>: |\n    cat <<E\n  _retry: {limit: 3}", "+a: {call>: x}\n+b: {require>: main}", "+a: {x>: 1, params: [1]}",
	} {
		f.Add(text)
	}
	known := Known{Operators: []string{"echo", "sh", "py", "call", "require"}, BuiltIn: []string{"echo", "sh", "py", "call", "require"}}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		for _, e := range Warnings(mapFiles(map[string]string{"main.dig": text, "x.dig": "+x: {echo>: x}\n!include : y.dig\n", "y.dig": text}), []string{"main.dig"}, known) {
			if e.Message == "" || strings.Contains(e.Message, "%!") {
				t.Errorf("%q: %+v", text, e)
			}
		}
		if spent := time.Since(start); spent > 5*time.Second {
			t.Fatalf("took %v", spent)
		}
	})
}
