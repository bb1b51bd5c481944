package rules

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"zerodag/integration/conformance"
)

var rewrite = flag.Bool("rewrite", false, "write what happens now into the files")

// TestRules checks that every rule in these files holds.
func TestRules(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no rule found: %v", err)
	}
	around := conformance.NewSurroundings(t)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".txt"), func(t *testing.T) {
			t.Parallel()
			check(t, name, around)
		})
	}
}

func check(t *testing.T, name string, around *conformance.Surroundings) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(a.Comment)) == 0 {
		t.Error("the comment must say which rule this is")
	}
	want, at, err := wanted(a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := unpack(a, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range c.Needs {
		program := map[string]string{"python": "python3", "ruby": "ruby"}[need] // everything else is always available
		if _, err := exec.LookPath(program); program != "" && err != nil {
			t.Skipf("NOT RUN: needs %s", need)
		}
	}
	got := describe(c.RunIn(t, around))
	if *rewrite {
		a.Files[at].Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
