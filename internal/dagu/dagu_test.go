package dagu_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"zerodag/internal/dagu"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into the files; read the diff before you keep it")

// fewest is less than there are: a glob that finds nothing must not pass.
const fewest = 15

// TestTranslate proves what workflows of Dagu become, and what is said of them. Each file has one, "in.yaml", then what came out.
func TestTranslate(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < fewest {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) == 0 {
				t.Fatal(err)
			}
			got := txtar.Format(&txtar.Archive{Comment: a.Comment, Files: append(a.Files[:1:1], translated(a.Files[0].Data)...)})
			if want := txtar.Format(a); string(want) == string(got) {
				return
			} else if !*rewrite {
				t.Fatal(cmp.Diff(string(want), string(got)))
			}
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func translated(text []byte) (out []txtar.File) {
	files, notes, err := dagu.Translate("in.yaml", text)
	for _, f := range files {
		out = append(out, txtar.File{Name: f.Name, Data: f.Text})
	}
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "lost=%v %s\n", n.Lost, n)
	}
	if err != nil {
		fmt.Fprintln(&b, "error:", err)
	}
	if b.Len() > 0 {
		out = append(out, txtar.File{Name: "notes", Data: []byte(b.String())})
	}
	return out
}

// FuzzTranslate proves that whatever a file has is translated to workflows that a push takes, or refused with an error.
func FuzzTranslate(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < fewest {
		f.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		files, _, err := dagu.Translate("in.yaml", text)
		if err == nil && len(files) == 0 {
			t.Error("neither a workflow nor an error")
		}
	})
}
