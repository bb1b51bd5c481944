package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/enginetest"
)

var rewrite = flag.Bool("rewrite", false, "write what scenarios print into their files; read the diff before you keep it")

// TestScenarios runs every file of testdata: each covers one Digdag rule.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, name := range scenarioFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := enginetest.Run(string(want))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got == string(want) {
				return
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s prints something else; `go test ./engine -run TestScenarios -rewrite` writes it\n%s", name, cmp.Diff(string(want), got))
		})
	}
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenario in testdata: %v", err)
	}
	return names
}
