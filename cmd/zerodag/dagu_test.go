package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"zerodag/cmd/zerodag/internal/cli"
)

// TestDaguOutcomes runs Dagu workflows after `import dagu` and compares the outcome with that of Dagu 2.15.1 (532c5129)
// for the same file: the exit code, and the lines that its steps wrote into the file RESULT, in order. Dagu was given
// old keys in their current form.
func TestDaguOutcomes(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/dagu/*.txtar")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) != 2 {
				t.Fatal(err)
			}
			dir := t.TempDir()
			project, result := filepath.Join(dir, "p"), filepath.Join(dir, "result")
			if err := os.WriteFile(filepath.Join(dir, "in.yaml"), a.Files[0].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			s := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, ProgramVersion: version()}
			if code := run(t.Context(), []string{"import", "dagu", filepath.Join(dir, "in.yaml"), "-o", project}, s); code != 0 {
				t.Fatalf("import ends with %d\n%s", code, out.Bytes())
			}
			code := run(t.Context(), []string{"run", filepath.Join(project, "in.dig"), "--project", project, "--no-save", "-p", "RESULT=" + result}, s)
			lines, err := os.ReadFile(result)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.Bytes())
			}
			if diff := cmp.Diff(string(a.Files[1].Data), fmt.Sprintf("exit %d\n%s", code, lines)); diff != "" {
				t.Errorf("%s\n%s", diff, out.Bytes())
			}
		})
	}
}
