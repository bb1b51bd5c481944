package dig

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// TestGolden compiles each testdata/*.dig: its .golden file has the stored config and the tree of tasks, or the errors.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.dig")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := golden(t, name)
			goldenFile := strings.TrimSuffix(file, Suffix) + ".golden"
			if *update {
				if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(goldenFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run the test with -update and read the diff:\n%s", diff)
			}
		})
	}
}

func golden(t *testing.T, name string) string {
	t.Helper()
	list, err := Load(folderSource("testdata"), []string{name})
	if err != nil {
		return "errors\n\n" + err.Error() + "\n"
	}
	w := list[0]
	nodes, err := Tree(w.Name, w.Config)
	if err != nil {
		t.Fatal(err)
	}
	return "workflow " + w.Name + " in " + w.Zone + "\n\n" + string(FormatYAML(w.Config)) + "\n" + tree(nodes)
}
